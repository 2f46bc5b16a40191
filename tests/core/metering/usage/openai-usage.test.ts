import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ADDRESSES, countsOf, NO_COUNTS, readAnswer, sse, sumOf } from "./answers.rig.ts";

type Counts = (number | null)[];

const completion = (usage: object | null, rest: object = {}) =>
  JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    model: "gpt-test",
    choices: [
      { index: 0, message: { role: "assistant", content: 'say "usage": {}' }, finish_reason: "stop" },
    ],
    ...(usage === null ? {} : { usage }),
    ...rest,
  });

const chunk = (content: string, rest: object = {}) => ({
  id: "chatcmpl-2",
  object: "chat.completion.chunk",
  model: "gpt-test",
  service_tier: "default",
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...rest,
});

describe("openaiChat", () => {
  const table: [name: string, url: string, usage: object, counts: Counts, complete?: boolean][] = [
    [
      "OpenAI, no details",
      ADDRESSES.chat,
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      [10, null, null, null, 5, null],
    ],
    [
      "OpenAI, cached, written and reasoning tokens inside the totals",
      ADDRESSES.chat,
      {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 20 },
      },
      [10, 60, 30, null, 30, 20],
    ],
    [
      "OpenAI, more cached than prompt",
      ADDRESSES.chat,
      {
        prompt_tokens: 5,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 9, cache_write_tokens: 2 },
      },
      [0, 5, 0, null, 5, null],
      false,
    ],
    [
      "a cached part of an unknown prompt",
      ADDRESSES.chat,
      { completion_tokens: 5, prompt_tokens_details: { cached_tokens: 9 } },
      [null, 9, null, null, 5, null],
      false,
    ],
    [
      "xAI, whose completion leaves reasoning out",
      ADDRESSES.xai,
      {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 135,
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      [32, null, null, null, 9, 94],
    ],
    [
      "xAI, whatever its total says",
      ADDRESSES.xai,
      {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 41,
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      [32, null, null, null, 9, 94],
    ],
    [
      "a host whose total proves that reasoning stands apart",
      ADDRESSES.openrouter,
      {
        prompt_tokens: 32,
        completion_tokens: 100,
        total_tokens: 226,
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      [32, null, null, null, 100, 94],
    ],
    [
      "DeepSeek's cache hits",
      ADDRESSES.deepseek,
      { prompt_tokens: 30, completion_tokens: 9, prompt_cache_hit_tokens: 20, prompt_cache_miss_tokens: 10 },
      [10, 20, null, null, 9, null],
    ],
    [
      "Perplexity's reasoning apart",
      ADDRESSES.perplexity,
      { prompt_tokens: 30, completion_tokens: 9, total_tokens: 39, reasoning_tokens: 7 },
      [30, null, null, null, 9, 7],
    ],
    [
      "more reasoning than output, which then leaves it out",
      ADDRESSES.chat,
      {
        prompt_tokens: 20,
        completion_tokens: 50,
        total_tokens: 70,
        completion_tokens_details: { reasoning_tokens: 180 },
      },
      [20, null, null, null, 50, 180],
    ],
    [
      "audio beside the prompt, as the total shows",
      ADDRESSES.mistral,
      {
        prompt_tokens: 9,
        completion_tokens: 248,
        total_tokens: 632,
        prompt_tokens_details: { cached_tokens: 0, audio_tokens: 375 },
      },
      [384, 0, null, null, 248, null],
    ],
    [
      "audio and reasoning beside the totals",
      ADDRESSES.openrouter,
      {
        prompt_tokens: 9,
        completion_tokens: 248,
        total_tokens: 732,
        prompt_tokens_details: { audio_tokens: 375 },
        completion_tokens_details: { reasoning_tokens: 100 },
      },
      [384, null, null, null, 248, 100],
    ],
    [
      "Gemini's thoughts, which only the total includes",
      ADDRESSES.geminiChat,
      { prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 },
      [35, null, null, null, 12, 62],
    ],
    [
      "Gemini's thoughts without visible output",
      ADDRESSES.geminiChat,
      { prompt_tokens: 35, total_tokens: 109 },
      [35, null, null, null, 74, null],
    ],
    [
      "a total of another host that nothing explains",
      ADDRESSES.chat,
      { prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 },
      [35, null, null, null, 12, null],
      false,
    ],
    [
      "an output that only the total shows",
      ADDRESSES.completions,
      { prompt_tokens: 31, total_tokens: 99 },
      [31, null, null, null, 68, null],
    ],
    [
      "a total below the prompt, without an output",
      ADDRESSES.completions,
      { prompt_tokens: 31, total_tokens: 9 },
      [31, null, null, null, null, null],
      false,
    ],
    [
      "cached tokens beside the prompt, as the total shows",
      ADDRESSES.chat,
      {
        prompt_tokens: 5,
        completion_tokens: 7,
        total_tokens: 112,
        prompt_tokens_details: { cached_tokens: 100 },
      },
      [5, 100, null, null, 7, null],
    ],
    [
      "a sum beyond what a count may be",
      ADDRESSES.xai,
      {
        prompt_tokens: 1,
        completion_tokens: 2 ** 40,
        completion_tokens_details: { reasoning_tokens: 1 },
      },
      [1, null, null, null, null, 1],
      false,
    ],
  ];
  for (const [name, url, usage, counts, complete = true] of table)
    it(`reads ${name}`, () => {
      const report = readAnswer(url, completion(usage));
      assert.deepEqual(countsOf(report), counts);
      assert.equal(report.tokensComplete, complete);
    });

  it("reads model, id and tier", () => {
    const report = readAnswer(
      ADDRESSES.chat,
      completion({ prompt_tokens: 1, completion_tokens: 1 }, { service_tier: "flex" }),
    );
    assert.deepEqual(
      [report.model, report.responseId, report.serviceTier],
      ["gpt-test", "chatcmpl-1", "flex"],
    );
  });

  it("returns null counts if usage is absent, null or not an object", () => {
    for (const body of [
      completion(null),
      completion(null, { usage: null }),
      completion(null, { usage: [1] }),
    ]) {
      const report = readAnswer(ADDRESSES.chat, body);
      assert.deepEqual(countsOf(report), NO_COUNTS);
      assert.equal(report.tokensComplete, false);
    }
  });

  it("limits each extra to the count that it is part of", () => {
    const report = readAnswer(
      ADDRESSES.chat,
      completion({
        prompt_tokens: 100,
        completion_tokens: 50,
        prompt_tokens_details: {
          cached_tokens: 80,
          audio_tokens: 30,
          image_tokens: 5,
          video_tokens: 1,
          text_tokens: 4,
        },
        completion_tokens_details: {
          audio_tokens: 40,
          image_tokens: 2,
          video_tokens: 3,
          accepted_prediction_tokens: 9,
        },
        server_tool_use: { web_search_requests: 3, web_fetch_requests: 2 },
        num_sources_used: 4,
        citation_tokens: 6,
        brand_new: { tokens: 3 },
      }),
    );
    assert.deepEqual(report.extras, {
      audio_input_tokens: 20,
      image_input_tokens: 5,
      video_input_tokens: 1,
      audio_output_tokens: 40,
      image_output_tokens: 2,
      video_output_tokens: 3,
      web_search_requests: 3,
      web_fetch_requests: 2,
      num_sources_used: 4,
      citation_tokens: 6,
    });
    assert.equal(report.unknownUsage, '{"brand_new":{"tokens":3}}');
  });

  it("reads the usage chunk without choices among chunks with usage null", () => {
    const report = readAnswer(
      ADDRESSES.chat,
      sse(
        chunk("a", { usage: null }),
        chunk('"usage":{"prompt_tokens":77}', { usage: null }),
        chunk("", { usage: { prompt_tokens: 9, completion_tokens: 2 }, choices: [] }),
        "[DONE]",
      ),
      { complete: false },
    );
    assert.deepEqual(countsOf(report), [9, null, null, null, 2, null]);
    assert.equal(report.tokensComplete, true);
    assert.equal(report.serviceTier, "default");
  });

  it("reads the model of a stream without usage", () => {
    for (const complete of [true, false]) {
      const report = readAnswer(ADDRESSES.chat, sse(chunk("a"), chunk("b"), "[DONE]"), { complete });
      assert.deepEqual(countsOf(report), NO_COUNTS);
      assert.deepEqual(
        [report.model, report.responseId, report.tokensComplete],
        ["gpt-test", "chatcmpl-2", false],
      );
    }
  });

  it("looks for the model in the first few chunks only", () => {
    const nameless = { ...chunk("a"), model: "" };
    const late = [nameless, nameless, nameless, nameless, nameless, chunk("b")];
    assert.equal(readAnswer(ADDRESSES.chat, sse(nameless, chunk("b"))).model, "gpt-test");
    assert.equal(readAnswer(ADDRESSES.chat, sse(...late)).model, null);
  });

  const finished = (usage: object) =>
    chunk("", { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage });
  const streams: [
    name: string,
    url: string,
    events: (object | string)[],
    complete: boolean,
    counts: Counts,
    tokensComplete: boolean,
  ][] = [
    [
      "usage in the chunk that finishes",
      ADDRESSES.mistral,
      [chunk("a"), finished({ prompt_tokens: 4, completion_tokens: 2 })],
      false,
      [4, null, null, null, 2, null],
      true,
    ],
    [
      "usage under x_groq",
      ADDRESSES.groq,
      [
        chunk("a", { x_groq: { id: "req_1" } }),
        chunk("", {
          choices: [{ finish_reason: "stop" }],
          x_groq: { id: "req_1", usage: { prompt_tokens: 4, completion_tokens: 3, queue_time: 0.1 } },
        }),
      ],
      true,
      [4, null, null, null, 3, null],
      true,
    ],
    [
      "usage in every chunk, the last wins",
      ADDRESSES.perplexity,
      [1, 2, 3].map((n) => chunk("a", { usage: { prompt_tokens: 4, completion_tokens: n } })),
      true,
      [4, null, null, null, 3, null],
      true,
    ],
    [
      "usage in every chunk, cut",
      ADDRESSES.perplexity,
      [1, 2].map((n) => chunk("a", { usage: { prompt_tokens: 4, completion_tokens: n } })),
      false,
      [4, null, null, null, 2, null],
      false,
    ],
    [
      "usage in every chunk, cut after [DONE]",
      ADDRESSES.perplexity,
      [chunk("a", { usage: { prompt_tokens: 4, completion_tokens: 2 } }), "[DONE]"],
      false,
      [4, null, null, null, 2, null],
      true,
    ],
  ];
  for (const [name, url, events, complete, counts, tokensComplete] of streams)
    it(`reads a stream with ${name}`, () => {
      const report = readAnswer(url, sse(...events), { complete });
      assert.deepEqual(countsOf(report), counts);
      assert.equal(report.tokensComplete, tokensComplete);
    });

  it("reads an error chunk after a 200, with its usage", () => {
    const report = readAnswer(
      ADDRESSES.openrouter,
      sse(
        chunk("a", { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
        chunk("b", { usage: { prompt_tokens: 1, completion_tokens: 2 } }),
        chunk("", {
          error: { code: 502, message: "upstream went away" },
          usage: { prompt_tokens: 1, completion_tokens: 3 },
          choices: [{ finish_reason: "error" }],
        }),
      ),
    );
    assert.deepEqual(report.error, { type: null, code: null, message: "upstream went away", status: 502 });
    assert.deepEqual(countsOf(report), [1, null, null, null, 3, null]);
  });

  it("splits into parts that sum to the provider's totals", () => {
    // Planted: `cache_write_tokens` not subtracted from the prompt.
    const count = fc.integer({ min: 0, max: 5000 });
    fc.assert(
      fc.property(
        count,
        count,
        count,
        count,
        count,
        fc.constantFrom(ADDRESSES.chat, ADDRESSES.xai),
        (fresh, read, written, visible, reasoning, url) => {
          const apart = url === ADDRESSES.xai;
          const report = readAnswer(
            url,
            completion({
              prompt_tokens: fresh + read + written,
              completion_tokens: apart ? visible : visible + reasoning,
              total_tokens: fresh + read + written + visible + reasoning,
              prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
              completion_tokens_details: { reasoning_tokens: reasoning },
            }),
          );
          assert.deepEqual(countsOf(report), [fresh, read, written, null, visible, reasoning]);
          assert.equal(sumOf(report), fresh + read + written + visible + reasoning);
        },
      ),
    );
  });
});

describe("openaiResponses", () => {
  const usage = {
    input_tokens: 100,
    input_tokens_details: {
      cached_tokens: 40,
      cache_write_tokens: 10,
      cache_write_tokens_details: { ttl_30m_tokens: 4, ttl_12h_tokens: 6 },
    },
    output_tokens: 30,
    output_tokens_details: { reasoning_tokens: 12 },
    total_tokens: 130,
  };
  const response = (rest: object) => ({
    id: "resp_1",
    object: "response",
    model: "gpt-test",
    error: null,
    usage: null,
    service_tier: "auto",
    output: [],
    ...rest,
  });

  it("reads a whole response", () => {
    const report = readAnswer(
      ADDRESSES.responses,
      JSON.stringify(response({ usage, service_tier: "priority", status: "completed" })),
    );
    assert.deepEqual(countsOf(report), [50, 40, 10, null, 18, 12]);
    assert.deepEqual(
      [report.model, report.responseId, report.serviceTier, report.tokensComplete, report.error],
      ["gpt-test", "resp_1", "priority", true, null],
    );
    assert.deepEqual(report.extras, { cache_write_30m_tokens: 4, cache_write_12h_tokens: 6 });
  });

  for (const type of ["response.completed", "response.incomplete", "response.failed"])
    it(`reads the usage of ${type}, and its service tier`, () => {
      const report = readAnswer(
        ADDRESSES.responses,
        sse(
          { type: "response.created", response: response({}) },
          { type: "response.output_text.delta", delta: 'the "usage":{"input_tokens":1}' },
          { type, response: response({ usage, service_tier: "flex" }) },
        ),
        { complete: false },
      );
      assert.deepEqual(countsOf(report), [50, 40, 10, null, 18, 12]);
      assert.deepEqual([report.serviceTier, report.tokensComplete], ["flex", true]);
    });

  it("includes reasoning in the output, xAI's too", () => {
    assert.deepEqual(countsOf(readAnswer(ADDRESSES.xaiResponses, JSON.stringify(response({ usage })))), [
      50,
      40,
      10,
      null,
      18,
      12,
    ]);
  });

  it("keeps the model of a truncated stream", () => {
    const report = readAnswer(
      ADDRESSES.responses,
      sse({ type: "response.created", response: response({}) }),
      { complete: false },
    );
    assert.deepEqual([report.model, report.responseId, report.tokensComplete], ["gpt-test", "resp_1", false]);
  });

  it("reads the error of a failed response and of an error event", () => {
    const failed = readAnswer(
      ADDRESSES.responses,
      sse({
        type: "response.failed",
        response: response({ error: { code: "server_error", message: "no" } }),
      }),
    );
    assert.deepEqual(failed.error, { type: null, code: "server_error", message: "no", status: null });
    assert.deepEqual(countsOf(failed), NO_COUNTS);
    const event = readAnswer(
      ADDRESSES.responses,
      sse({ type: "error", code: "rate_limit_exceeded", message: "slow", param: null, sequence_number: 3 }),
    );
    assert.deepEqual(event.error, { type: null, code: "rate_limit_exceeded", message: "slow", status: null });
  });
});

describe("openaiEmbeddings", () => {
  const media: [name: string, usage: object, extras: object][] = [
    [
      "pixels, whose tokens are the total without the text",
      { text_tokens: 12, image_pixels: 2_000_000, total_tokens: 3583 },
      { image_input_tokens: 3571 },
    ],
    [
      "frames",
      { text_tokens: 0, image_pixels: 0, video_pixels: 560_000, total_tokens: 1000 },
      { video_input_tokens: 1000 },
    ],
    [
      "frames without pictures",
      { text_tokens: 4, video_pixels: 560_000, total_tokens: 504 },
      { video_input_tokens: 500 },
    ],
    ["no pixels", { text_tokens: 12, image_pixels: 0, total_tokens: 12 }, {}],
    [
      "details",
      {
        prompt_tokens: 300,
        total_tokens: 300,
        prompt_tokens_details: { image_tokens: 258, text_tokens: 42 },
      },
      { image_input_tokens: 258 },
    ],
  ];
  for (const [name, usage, extras] of media)
    it(`reads the media of an embedding: ${name}`, () => {
      const report = readAnswer(ADDRESSES.embeddings, JSON.stringify({ object: "list", data: [], usage }));
      assert.deepEqual([report.extras, report.tokensComplete, report.unknownUsage], [extras, true, null]);
    });

  it("reads only input", () => {
    const body = (usage: object | null) =>
      JSON.stringify({ object: "list", data: [{ embedding: [0.1, -2e-3] }], model: "embed-test", usage });
    const known = readAnswer(ADDRESSES.embeddings, body({ prompt_tokens: 8, total_tokens: 8 }));
    assert.deepEqual(countsOf(known), [8, null, null, null, 0, null]);
    assert.deepEqual([known.model, known.tokensComplete, known.unknownUsage], ["embed-test", true, null]);
    assert.deepEqual(countsOf(readAnswer(ADDRESSES.embeddings, body({ total_tokens: 8 }))), [
      8,
      null,
      null,
      null,
      0,
      null,
    ]);
    const unknown = readAnswer(ADDRESSES.embeddings, body(null));
    assert.deepEqual([countsOf(unknown), unknown.tokensComplete], [NO_COUNTS, false]);
  });
});
