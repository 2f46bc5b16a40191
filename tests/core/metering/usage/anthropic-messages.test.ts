import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ADDRESSES, countsOf, NO_COUNTS, readAnswer, sse, sumOf } from "./answers.rig.ts";

const message = (usage: object | null, rest: object = {}) =>
  JSON.stringify({
    id: "msg_01",
    type: "message",
    role: "assistant",
    model: "claude-test-1",
    content: [{ type: "text", text: 'the "usage":{"input_tokens":999} of words' }],
    stop_reason: "end_turn",
    ...(usage === null ? {} : { usage }),
    ...rest,
  });

const started = (usage: object) => ({
  type: "message_start",
  message: { id: "msg_02", type: "message", role: "assistant", model: "claude-test-1", content: [], usage },
});
const text = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: 'a "usage": b' } };
const delta = (usage: object, stop: string | null = "end_turn") => ({
  type: "message_delta",
  delta: { stop_reason: stop, stop_sequence: null },
  usage,
});
const stop = { type: "message_stop" };
const ping = { type: "ping" };

const read = (body: string, options = {}) => readAnswer(ADDRESSES.anthropic, body, options);

describe("anthropicMessages", () => {
  const whole: [name: string, usage: object, counts: (number | null)[], complete: boolean][] = [
    ["plain", { input_tokens: 10, output_tokens: 5 }, [10, 0, 0, 0, 5, null], true],
    [
      "cache counts that are null",
      {
        input_tokens: 10,
        output_tokens: 5,
        cache_creation_input_tokens: null,
        cache_read_input_tokens: null,
      },
      [10, 0, 0, 0, 5, null],
      true,
    ],
    [
      "cache counts beside an exclusive input",
      { input_tokens: 3, cache_read_input_tokens: 400, cache_creation_input_tokens: 50, output_tokens: 7 },
      [3, 400, 50, null, 7, null],
      true,
    ],
    [
      "the time to live of writes",
      {
        input_tokens: 3,
        cache_creation_input_tokens: 50,
        cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
        output_tokens: 7,
      },
      [3, 0, 50, 30, 7, null],
      true,
    ],
    [
      "a split without its total",
      {
        input_tokens: 3,
        cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
        output_tokens: 7,
      },
      [3, 0, 50, 30, 7, null],
      true,
    ],
    [
      "thinking inside the output",
      { input_tokens: 3, output_tokens: 100, output_tokens_details: { thinking_tokens: 64 } },
      [3, 0, 0, 0, 36, 64],
      true,
    ],
    [
      "more thinking than output, which contradicts itself",
      { input_tokens: 3, output_tokens: 10, output_tokens_details: { thinking_tokens: 64 } },
      [3, 0, 0, 0, 0, 10],
      false,
    ],
    [
      "more one-hour writes than writes",
      {
        input_tokens: 3,
        cache_creation_input_tokens: 5,
        cache_creation: { ephemeral_1h_input_tokens: 30 },
        output_tokens: 1,
      },
      [3, 0, 5, 5, 1, null],
      false,
    ],
    ["numbers that are no counts", { input_tokens: -1, output_tokens: 1.5 }, NO_COUNTS, false],
    ["no input", { output_tokens: 4 }, [null, null, null, null, 4, null], false],
  ];
  for (const [name, usage, counts, complete] of whole)
    it(`reads a message with ${name}`, () => {
      const report = read(message(usage));
      assert.deepEqual(countsOf(report), counts);
      assert.equal(report.tokensComplete, complete);
      assert.equal(report.model, "claude-test-1");
      assert.equal(report.responseId, "msg_01");
      assert.equal(report.error, null);
    });

  it("reports null counts and incomplete usage if no usage was sent", () => {
    const report = read(message(null));
    assert.deepEqual(countsOf(report), NO_COUNTS);
    assert.equal(report.tokensComplete, false);
  });

  it("reads tier, server tools, fast mode, region and unknown members", () => {
    const report = read(
      message({
        input_tokens: 1,
        output_tokens: 1,
        service_tier: "priority",
        server_tool_use: { web_search_requests: 2, web_fetch_requests: 0 },
        speed: "fast",
        inference_geo: "us",
        lunar_tokens: 5,
      }),
    );
    assert.equal(report.serviceTier, "priority");
    assert.deepEqual(report.extras, { web_search_requests: 2, fast_mode: 1, us_inference: 1 });
    assert.deepEqual(JSON.parse(report.unknownUsage ?? ""), {
      speed: "fast",
      inference_geo: "us",
      lunar_tokens: 5,
    });
  });

  it("replaces counts with those of cumulative deltas, including input", () => {
    const report = read(
      sse(
        started({ input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1, service_tier: "standard" }),
        ping,
        text,
        delta({ output_tokens: 20 }, null),
        delta({ input_tokens: 900, cache_read_input_tokens: 50, output_tokens: 40 }),
        stop,
      ),
    );
    assert.deepEqual(countsOf(report), [900, 50, 0, 0, 40, null]);
    assert.equal(report.tokensComplete, true);
    assert.equal(report.serviceTier, "standard");
    assert.equal(report.responseId, "msg_02");
  });

  it("keeps the time-to-live split of message_start when a delta raises the total", () => {
    const report = read(
      sse(
        started({
          input_tokens: 10,
          cache_creation_input_tokens: 100,
          cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 60 },
          output_tokens: 1,
        }),
        delta({ input_tokens: 10, cache_creation_input_tokens: 130, output_tokens: 40 }),
        stop,
      ),
    );
    assert.deepEqual(countsOf(report), [10, 0, 130, 60, 40, null]);
  });

  it("ignores a null in a delta", () => {
    const report = read(
      sse(
        started({ input_tokens: 10, output_tokens: 1 }),
        delta({ input_tokens: null, cache_read_input_tokens: null, output_tokens: 4 }),
      ),
    );
    assert.deepEqual(countsOf(report), [10, 0, 0, 0, 4, null]);
  });

  it("keeps few of the members of usage that deltas add, and still reads the known ones", () => {
    const report = read(
      sse(
        started({ input_tokens: 10, output_tokens: 1 }),
        ...Array.from({ length: 120 }, (_, n) => delta({ [`m${n}`]: 1, output_tokens: n })),
      ),
    );
    assert.deepEqual(countsOf(report), [10, 0, 0, 0, 119, null]);
    assert.equal(Object.keys(JSON.parse(report.unknownUsage ?? "")).length, 98);
  });

  const cut: [
    name: string,
    body: string,
    complete: boolean,
    counts: (number | null)[],
    tokensComplete: boolean,
  ][] = [
    [
      "after message_start",
      sse(started({ input_tokens: 10, output_tokens: 1 }), text),
      false,
      [10, 0, 0, 0, 1, null],
      false,
    ],
    [
      "after a delta that is not the last",
      sse(started({ input_tokens: 10, output_tokens: 1 }), delta({ output_tokens: 9 }, null)),
      false,
      [10, 0, 0, 0, 9, null],
      false,
    ],
    [
      "after the final delta, by a client that has what it wants",
      sse(started({ input_tokens: 10, output_tokens: 1 }), delta({ output_tokens: 9 })),
      false,
      [10, 0, 0, 0, 9, null],
      true,
    ],
    [
      "nowhere, but without a final delta",
      sse(started({ input_tokens: 10, output_tokens: 1 })),
      true,
      [10, 0, 0, 0, 1, null],
      false,
    ],
    [
      "nowhere, with a delta that names no stop reason",
      sse(started({ input_tokens: 10, output_tokens: 1 }), delta({ output_tokens: 9 }, null)),
      true,
      [10, 0, 0, 0, 9, null],
      true,
    ],
  ];
  for (const [name, body, complete, counts, tokensComplete] of cut)
    it(`keeps the usage of a stream truncated ${name}`, () => {
      const report = read(body, { complete });
      assert.deepEqual(countsOf(report), counts);
      assert.equal(report.tokensComplete, tokensComplete);
    });

  it("reports an error event after a 200 and keeps the counts before it", () => {
    const report = read(
      sse(started({ input_tokens: 10, output_tokens: 1 }), text, {
        type: "error",
        error: { type: "overloaded_error", message: "Overloaded" },
      }),
    );
    assert.deepEqual(report.error, {
      type: "overloaded_error",
      code: null,
      message: "Overloaded",
      status: null,
    });
    assert.deepEqual(countsOf(report), [10, 0, 0, 0, 1, null]);
    assert.equal(report.tokensComplete, false);
  });

  it("splits input and output into parts that sum to the provider's totals", () => {
    // Planted: `input_tokens` read as inclusive (the cache counts subtracted).
    const count = fc.integer({ min: 0, max: 2_000_000 });
    fc.assert(
      fc.property(
        count,
        count,
        count,
        count,
        count,
        fc.boolean(),
        (input, reads, five, hour, visible, streamed) => {
          const thinking = visible % 7;
          const usage = {
            input_tokens: input,
            cache_read_input_tokens: reads,
            cache_creation_input_tokens: five + hour,
            cache_creation: { ephemeral_5m_input_tokens: five, ephemeral_1h_input_tokens: hour },
            output_tokens: visible + thinking,
            output_tokens_details: { thinking_tokens: thinking },
          };
          const body = streamed
            ? sse(
                started({ ...usage, output_tokens: 1 }),
                delta({
                  output_tokens: usage.output_tokens,
                  output_tokens_details: usage.output_tokens_details,
                }),
                stop,
              )
            : message(usage);
          const report = read(body);
          assert.deepEqual(countsOf(report), [input, reads, five + hour, hour, visible, thinking]);
          assert.equal(sumOf(report), input + reads + five + hour + visible + thinking);
          assert.equal(report.tokensComplete, true);
        },
      ),
    );
  });
});
