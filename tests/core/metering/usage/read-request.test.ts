import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRequestFactsReader, readRequest } from "../../../../core/metering/usage/read-request.ts";
import { ADDRESSES, bytesOf, routeOf } from "./answers.rig.ts";

const read = (url: string, body: object | string | null) =>
  readRequest(
    routeOf(url),
    body === null ? null : bytesOf(typeof body === "string" ? body : JSON.stringify(body)),
  );

describe("readRequest()", () => {
  it("reads the members that can identify the session, also of a truncated or streamed body", () => {
    const body = { model: "m", metadata: { user_id: "u" }, prompt_cache_key: "k", messages: [] };
    const text = JSON.stringify(body);
    const streamed = createRequestFactsReader(routeOf(ADDRESSES.chat));
    streamed.push(bytesOf(text));
    const expected = { "metadata.user_id": "u", prompt_cache_key: "k" };
    for (const facts of [read(ADDRESSES.chat, body), read(ADDRESSES.chat, text.slice(0, -4)), streamed.end()])
      assert.deepEqual(Object.fromEntries(facts.stated ?? []), expected);
    assert.ok(!("stated" in read(ADDRESSES.chat, { model: "m" })));
  });

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
    it(`reads the prompt of ${name}`, () => {
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
    it(`returns streaming ${expected} for ${JSON.stringify(body)} to ${new URL(url).pathname}`, () => {
      assert.equal(read(url, body).streaming, expected);
    });

  it("reads Gemini's model from the path", () => {
    assert.equal(read(ADDRESSES.gemini, { contents: [] }).requestedModel, "gemini-x");
    assert.equal(read(ADDRESSES.gemini, null).requestedModel, "gemini-x");
  });

  it("reads the facts of a truncated or invalid body, but not the prompt", () => {
    assert.deepEqual(read(ADDRESSES.chat, '{"model":"m","stream":true,"messages":["a'), {
      requestedModel: "m",
      streaming: true,
      canonicalPrompt: null,
      requestedServiceTier: null,
    });
    for (const body of ["", "[]", "null", "{", "nonsense", '{"messages":[1]} trailing'])
      assert.equal(read(ADDRESSES.chat, body).canonicalPrompt, null);
  });

  it("reads nothing from bytes that are not UTF-8", () => {
    const body = new Uint8Array([...bytesOf('{"model":"m","messages":["'), 0xff, ...bytesOf('"]}')]);
    const facts = readRequest(routeOf(ADDRESSES.chat), body);
    assert.deepEqual([facts.requestedModel, facts.canonicalPrompt], ["m", null]);
  });
});

describe("createRequestFactsReader()", () => {
  const readPassing = (url: string, body: string, pieceBytes: number) => {
    const reader = createRequestFactsReader(routeOf(url));
    const bytes = bytesOf(body);
    for (let at = 0; at < bytes.length; at += pieceBytes) reader.push(bytes.subarray(at, at + pieceBytes));
    return reader.end();
  };
  const bodies: [what: string, url: string, body: string][] = [
    [
      "all facts",
      ADDRESSES.chat,
      '{"messages":[{"content":"\\"}"}],"model":"m","stream":true,"service_tier":"flex"}',
    ],
    ["what is left unsaid", ADDRESSES.responses, '{"input":"q"}'],
    ["a body that is cut", ADDRESSES.anthropic, '{"model":"m","messages":[{"role":"us'],
    ["no JSON", ADDRESSES.chat, "model=m"],
    ["a model in the path", ADDRESSES.gemini, '{"contents":[]}'],
  ];
  for (const [what, url, body] of bodies) {
    it(`agrees with readRequest() except for the prompt, however the bytes are split: ${what}`, () => {
      for (const pieceBytes of [1, 7, 1_000]) {
        assert.deepEqual(readPassing(url, body, pieceBytes), { ...read(url, body), canonicalPrompt: null });
      }
    });
  }
});
