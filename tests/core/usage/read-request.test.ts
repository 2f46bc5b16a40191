import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readRequest } from "../../../core/usage/mod.ts";
import { ADDRESSES, bytesOf, routeOf } from "./answers.ts";

const read = (url: string, body: object | string | null) =>
  readRequest(
    routeOf(url),
    body === null ? null : bytesOf(typeof body === "string" ? body : JSON.stringify(body)),
  );

describe("readRequest()", () => {
  const prompts: [name: string, url: string, body: object, prompt: string | null][] = [
    [
      "Anthropic",
      ADDRESSES.anthropic,
      { model: "m", system: "s", messages: [{ role: "user", content: "q" }], max_tokens: 1 },
      '{"messages":[{"content":"q","role":"user"}],"system":"s"}',
    ],
    ["Chat", ADDRESSES.chat, { model: "m", messages: [], temperature: 1 }, '{"messages":[]}'],
    [
      "Responses",
      ADDRESSES.responses,
      { model: "m", instructions: "i", input: "q", tools: [] },
      '{"input":"q","instructions":"i"}',
    ],
    ["Responses without instructions", ADDRESSES.responses, { model: "m", input: "q" }, '{"input":"q"}'],
    [
      "Gemini",
      ADDRESSES.gemini,
      { systemInstruction: { parts: [] }, contents: [], tools: [] },
      '{"contents":[],"systemInstruction":{"parts":[]}}',
    ],
    [
      "Gemini in proto's spelling",
      ADDRESSES.gemini,
      { system_instruction: { parts: [] }, contents: [] },
      '{"contents":[],"systemInstruction":{"parts":[]}}',
    ],
    ["Gemini embeddings", ADDRESSES.geminiEmbed, { content: { parts: [] } }, '{"content":{"parts":[]}}'],
    ["Ollama chat", ADDRESSES.ollamaChat, { model: "m", messages: [1] }, '{"messages":[1]}'],
    [
      "Ollama generate",
      ADDRESSES.ollamaChat.replace("chat", "generate"),
      { model: "m", system: "s", prompt: "p" },
      '{"prompt":"p","system":"s"}',
    ],
    ["embeddings", ADDRESSES.embeddings, { model: "m", input: ["a", "b"] }, '{"input":["a","b"]}'],
    [
      "text completions",
      "https://api.openai.com/v1/completions",
      { prompt: "p", suffix: "s" },
      '{"prompt":"p","suffix":"s"}',
    ],
    ["no prompt at all", ADDRESSES.chat, { model: "m" }, null],
    ["a lone surrogate", ADDRESSES.chat, { messages: ["\ud800"] }, null],
  ];
  for (const [name, url, body, prompt] of prompts)
    it(`takes the prompt of ${name}`, () => {
      assert.equal(read(url, body).canonicalPrompt, prompt);
    });

  it("reads model, stream and tier", () => {
    const { canonicalPrompt, ...facts } = read(ADDRESSES.chat, {
      model: "gpt-test",
      stream: true,
      service_tier: "flex",
      messages: [],
    });
    assert.deepEqual(facts, { requestedModel: "gpt-test", streaming: true, requestedServiceTier: "flex" });
    assert.equal(
      read(ADDRESSES.gemini, { serviceTier: "priority", contents: [] }).requestedServiceTier,
      "priority",
    );
  });

  const streaming: [url: string, body: object | string | null, expected: boolean | null][] = [
    [ADDRESSES.chat, { stream: false }, false],
    [ADDRESSES.chat, {}, false],
    [ADDRESSES.chat, { stream: "yes" }, false],
    [ADDRESSES.chat, null, null],
    [ADDRESSES.chat, '{"messages":["cut off', null],
    [ADDRESSES.ollamaChat, {}, true],
    [ADDRESSES.ollamaChat, { stream: false }, false],
    [ADDRESSES.ollamaEmbed, {}, false],
    [ADDRESSES.embeddings, {}, null],
    [ADDRESSES.gemini, {}, false],
    [ADDRESSES.geminiStream, null, true],
  ];
  for (const [url, body, expected] of streaming)
    it(`says that ${JSON.stringify(body)} to ${new URL(url).pathname} streams: ${expected}`, () => {
      assert.equal(read(url, body).streaming, expected);
    });

  it("takes Gemini's model from the path", () => {
    assert.equal(read(ADDRESSES.gemini, { contents: [] }).requestedModel, "gemini-x");
    assert.equal(read(ADDRESSES.gemini, null).requestedModel, "gemini-x");
  });

  it("reads what it can of a body that is cut or no JSON, and no prompt", () => {
    assert.deepEqual(read(ADDRESSES.chat, '{"model":"m","stream":true,"messages":["a'), {
      requestedModel: "m",
      streaming: true,
      canonicalPrompt: null,
      requestedServiceTier: null,
    });
    for (const body of ["", "[]", "null", "{", "nonsense", '{"messages":[1]} trailing'])
      assert.equal(read(ADDRESSES.chat, body).canonicalPrompt, null);
  });

  it("takes bytes that are not UTF-8 for not readable", () => {
    const body = new Uint8Array([...bytesOf('{"model":"m","messages":["'), 0xff, ...bytesOf('"]}')]);
    const facts = readRequest(routeOf(ADDRESSES.chat), body);
    assert.deepEqual([facts.requestedModel, facts.canonicalPrompt], ["m", null]);
  });
});
