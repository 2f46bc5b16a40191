import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answerTexts } from "../../../../core/metering/estimate/answer-texts.ts";
import { promptTexts } from "../../../../core/metering/estimate/prompt-texts.ts";

const encoder = new TextEncoder();
const json = (value: unknown) => encoder.encode(JSON.stringify(value));
const events = (...data: unknown[]) =>
  encoder.encode(data.map((each) => `data: ${JSON.stringify(each)}\n\n`).join(""));

describe("promptTexts()", () => {
  const cases: readonly [api: string, request: unknown, texts: readonly string[], messages: number][] = [
    [
      "Chat, without the image",
      {
        model: "gpt-5",
        messages: [
          { role: "system", content: "Be brief." },
          {
            role: "user",
            content: [
              { type: "text", text: "What is this?" },
              { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
            ],
          },
        ],
        tools: [{ type: "function", function: { name: "look", description: "Looks." } }],
      },
      ["Be brief.", "What is this?", "look", "Looks."],
      2,
    ],
    [
      "Anthropic",
      {
        system: [{ type: "text", text: "S", cache_control: { type: "ephemeral" } }],
        messages: [
          { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "22 degrees" }] },
        ],
      },
      ["S", "22 degrees"],
      1,
    ],
    ["Responses", { instructions: "I", input: "hello" }, ["I", "hello"], 0],
    [
      "Gemini",
      {
        systemInstruction: { parts: [{ text: "S" }] },
        contents: [
          { role: "user", parts: [{ text: "hi" }, { inlineData: { mimeType: "image/png", data: "AA" } }] },
        ],
      },
      ["S", "hi"],
      1,
    ],
    [
      "Code Assist",
      { model: "g", request: { contents: [{ role: "user", parts: [{ text: "hi" }] }] } },
      ["hi"],
      1,
    ],
    ["Ollama's generate", { prompt: "once", system: "S", images: ["AAAA"] }, ["S", "once"], 0],
    ["text completions", { prompt: ["a", "b"], suffix: "z" }, ["a", "b", "z"], 0],
  ];
  for (const [api, request, texts, messages] of cases) {
    it(`reads the prompt of ${api}`, () => {
      const found = promptTexts(json(request));
      assert.deepEqual([...(found?.texts ?? [])].sort(), [...texts].sort());
      assert.equal(found?.messages, messages);
    });
  }

  it("returns null for a body that is not a JSON object, and survives endless nesting", () => {
    assert.equal(promptTexts(encoder.encode("{")), null);
    assert.equal(promptTexts(encoder.encode("[1]")), null);
    const deep = `{"input":${"[".repeat(5000)}"x"${"]".repeat(5000)}}`;
    assert.deepEqual(promptTexts(encoder.encode(deep)), { texts: [], messages: 0 });
  });
});

describe("answerTexts()", () => {
  const cases: readonly [what: string, body: Uint8Array, output: string, thinking: string][] = [
    [
      "a Chat stream",
      events(
        { choices: [{ delta: { role: "assistant", content: "" } }] },
        { choices: [{ delta: { reasoning_content: "hm", reasoning: "hm" } }] },
        { choices: [{ delta: { content: "Hi" } }] },
        { choices: [{ delta: { tool_calls: [{ function: { name: "look", arguments: '{"at":' } }] } }] },
        { choices: [{ delta: { tool_calls: [{ function: { arguments: "1}" } }] } }] },
      ),
      'Hilook{"at":1}',
      "hm",
    ],
    ["a Chat answer", json({ choices: [{ message: { content: "Hi", refusal: null } }] }), "Hi", ""],
    [
      "what is no choice, candidate or part among those that are",
      events(
        { choices: [null, "x", { delta: "x" }, { text: "a" }] },
        { candidates: ["x", { content: "x" }, { content: { parts: [null, "x", { text: "b" }] } }] },
      ),
      "ab",
      "",
    ],
    ["a text completion", events({ choices: [{ text: "a" }] }, { choices: [{ text: "b" }] }), "ab", ""],
    [
      "an Anthropic stream",
      events(
        { type: "message_start", message: { type: "message", content: [] } },
        { type: "content_block_start", content_block: { type: "thinking", thinking: "" } },
        { type: "content_block_delta", delta: { type: "thinking_delta", thinking: "hm" } },
        { type: "content_block_start", content_block: { type: "text", text: "" } },
        { type: "content_block_delta", delta: { type: "text_delta", text: "Hi" } },
        { type: "content_block_start", content_block: { type: "tool_use", name: "look", input: {} } },
        { type: "content_block_delta", delta: { type: "input_json_delta", partial_json: '{"a":1}' } },
        { type: "message_delta", delta: { stop_reason: "end_turn" } },
      ),
      'Hilook{"a":1}',
      "hm",
    ],
    [
      "an Anthropic message",
      json({
        type: "message",
        content: [
          { type: "text", text: "Hi" },
          { type: "tool_use", name: "f", input: { a: 1 } },
        ],
      }),
      'Hif{"a":1}',
      "",
    ],
    [
      "a Responses stream, which repeats itself when it is done",
      events(
        { type: "response.reasoning_summary_text.delta", delta: "hm" },
        { type: "response.output_text.delta", delta: "H" },
        { type: "response.output_text.delta", delta: "i" },
        { type: "response.output_text.done", text: "Hi" },
        { type: "response.function_call_arguments.delta", delta: "{}" },
      ),
      "Hi{}",
      "hm",
    ],
    [
      "a Gemini stream",
      events(
        { candidates: [{ content: { parts: [{ text: "hm", thought: true }] } }] },
        { candidates: [{ content: { parts: [{ text: "Hi" }, { functionCall: { name: "f" } }] } }] },
      ),
      'Hi{"name":"f"}',
      "hm",
    ],
    [
      "a Gemini array that was cut",
      encoder.encode('[{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]},\n{"candidates":[{"con'),
      "Hi",
      "",
    ],
    [
      "Code Assist",
      events({ response: { candidates: [{ content: { parts: [{ text: "Hi" }] } }] } }),
      "Hi",
      "",
    ],
    [
      "Ollama's lines, the last one cut",
      encoder.encode('{"message":{"content":"H","thinking":"hm"}}\n{"message":{"content":"i"}}\n{"mess'),
      "Hi",
      "hm",
    ],
    ["Ollama's generate", encoder.encode('{"response":"H","thinking":"hm"}\n{"response":"i"}\n'), "Hi", "hm"],
    ["nothing", new Uint8Array(0), "", ""],
    ["no format that is known", Uint8Array.of(0, 0, 0, 99, 1, 2, 3), "", ""],
  ];
  for (const [what, body, output, thinking] of cases) {
    it(`reads ${what}`, () => assert.deepEqual(answerTexts(body), { output, thinking }));
  }
});
