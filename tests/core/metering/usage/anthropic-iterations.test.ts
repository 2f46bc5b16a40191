import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { UsageReport } from "../../../../core/metering/usage/usage-report.ts";
import { loadBundledRates } from "../../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import { priceUsage } from "../../../../core/pricing/price-usage.ts";
import { ADDRESSES, countsOf, readAnswer, sse } from "./answers.rig.ts";

const message = (usage: object, model = "claude-sonnet-4-5-20250929") =>
  JSON.stringify({ id: "msg_1", type: "message", model, content: [], usage });

/** An entry of `usage.iterations[]`: input, cache read, cache write, output. */
const call = (
  type: string,
  [input, read, write, output]: readonly [number, number, number, number],
  rest: object = {},
) => ({
  type,
  input_tokens: input,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: write,
  output_tokens: output,
  ...rest,
});

const read = (usage: object, model?: string): UsageReport =>
  readAnswer(ADDRESSES.anthropic, message(usage, model));

const others = ({ results = [] }: UsageReport) =>
  results.map((report) => [report.model, report.responseId, ...countsOf(report)]);

describe("readIterations()", () => {
  it("adds the usage of compaction, which the totals omit", () => {
    const report = read({
      input_tokens: 23_000,
      output_tokens: 1_000,
      iterations: [call("compaction", [180_000, 0, 0, 3_500]), call("message", [23_000, 0, 0, 1_000])],
    });
    assert.deepEqual(countsOf(report), [203_000, 0, 0, 0, 4_500, null]);
    assert.equal(report.tokensComplete, true);
    assert.equal(report.results, undefined);
    assert.equal(report.unknownUsage, null);
  });

  it("adds compaction's one-hour writes and keeps the thinking of the totals", () => {
    const report = read({
      input_tokens: 10,
      cache_creation_input_tokens: 4,
      cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 0 },
      output_tokens: 9,
      output_tokens_details: { thinking_tokens: 5 },
      iterations: [
        call("message", [10, 0, 4, 9]),
        call("compaction", [3, 2, 7, 1], { cache_creation: { ephemeral_1h_input_tokens: 7 } }),
      ],
    });
    assert.deepEqual(countsOf(report), [13, 2, 11, 7, 5, 5]);
  });

  const advised = {
    input_tokens: 412,
    output_tokens: 531,
    iterations: [
      call("message", [412, 0, 0, 89]),
      call("advisor_message", [823, 0, 0, 1_612], { model: "claude-opus-5" }),
      call("message", [1_348, 412, 0, 442]),
      call("advisor_message", [1_000, 0, 0, 100], { model: "claude-opus-5" }),
    ],
  };

  it("uses the sum of the calls if the totals include only the first call's input", () => {
    assert.deepEqual(countsOf(read(advised)), [1_760, 412, 0, 0, 531, null]);
  });

  it("uses the totals if they are the sum or the list is incomplete", () => {
    const summed = { ...advised, input_tokens: 1_760, cache_read_input_tokens: 412 };
    assert.deepEqual(countsOf(read(summed)), [1_760, 412, 0, 0, 531, null]);
    const more = { input_tokens: 50, output_tokens: 70, iterations: [call("message", [20, 0, 0, 30])] };
    assert.deepEqual(countsOf(read(more)), [50, 0, 0, 0, 70, null]);
    const fewer = { input_tokens: 1, output_tokens: 2, iterations: [call("message", [1, 0, 0, 30])] };
    assert.deepEqual(countsOf(read(fewer)), [1, 0, 0, 0, 30, null]);
  });

  it("reports an advisor's model by itself, once", () => {
    const report = read(advised);
    assert.deepEqual(others(report), [["claude-opus-5", "msg_1/claude-opus-5", 1_823, 0, 0, 0, 1_712, null]]);
    assert.equal(report.results?.[0]?.tokensComplete, true);
    assert.equal(report.noRecord, undefined);
  });

  it("reports an advisor that is the same model by itself too, and one without a name", () => {
    const same = {
      ...advised,
      iterations: [call("message", [1, 0, 0, 1]), call("advisor_message", [2, 0, 0, 2])],
    };
    assert.deepEqual(others(read(same)).length, 1);
    const nameless = readAnswer(
      ADDRESSES.anthropic,
      JSON.stringify({
        usage: { input_tokens: 1, output_tokens: 1, iterations: [call("advisor_message", [2, 0, 0, 2])] },
      }),
    );
    assert.deepEqual(others(nameless), [["unknown", null, 2, 0, 0, 0, 2, null]]);
  });

  it("bills an attempt before a fallback at the model that made it", () => {
    const report = read(
      {
        input_tokens: 300,
        output_tokens: 60,
        service_tier: "standard",
        speed: "fast",
        iterations: [
          call("message", [100, 0, 0, 10], { model: "claude-fable-5" }),
          call("message", [100, 0, 0, 20], { model: "claude-opus-5" }),
          call("fallback_message", [100, 0, 0, 30], { model: "claude-opus-5" }),
        ],
      },
      "claude-opus-5",
    );
    assert.deepEqual(countsOf(report), [200, 0, 0, 0, 50, null]);
    assert.deepEqual(others(report), [["claude-fable-5", "msg_1/claude-fable-5", 100, 0, 0, 0, 10, null]]);
    assert.deepEqual(report.results?.[0]?.extras, { fast_mode: 1 });
    assert.equal(report.results?.[0]?.serviceTier, "standard");
  });

  it("treats an alias and its snapshot as one model", () => {
    const iterations = [call("message", [5, 0, 0, 5], { model: "claude-sonnet-4-5" })];
    assert.deepEqual(others(read({ input_tokens: 5, output_tokens: 5, iterations })), []);
    assert.deepEqual(
      others(
        read(
          {
            input_tokens: 5,
            output_tokens: 5,
            iterations: [call("message", [5, 0, 0, 5], { model: "claude-sonnet-4-5-20250929" })],
          },
          "claude-sonnet-4-5",
        ),
      ),
      [],
    );
  });

  it("takes the last list of a stream", () => {
    const start = { input_tokens: 3, output_tokens: 1, iterations: [call("message", [3, 0, 0, 1])] };
    const end = {
      input_tokens: 3,
      output_tokens: 8,
      iterations: [call("compaction", [50, 0, 0, 5]), call("message", [3, 0, 0, 8])],
    };
    const body = sse(
      { type: "message_start", message: { id: "msg_1", model: "claude-opus-5", usage: start } },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: end },
      { type: "message_stop" },
    );
    assert.deepEqual(countsOf(readAnswer(ADDRESSES.anthropic, body)), [53, 0, 0, 0, 13, null]);
  });

  it("ignores an invalid or empty list, and invalid entries", () => {
    for (const iterations of [null, {}, [], "x"])
      assert.deepEqual(countsOf(read({ input_tokens: 5, output_tokens: 6, iterations })), [
        5,
        0,
        0,
        0,
        6,
        null,
      ]);
    const nonsense = read({ input_tokens: 5, output_tokens: 6, iterations: [null, 7, { type: 3 }] });
    assert.deepEqual(countsOf(nonsense), [5, 0, 0, 0, 6, null]);
    const unstated = read({ iterations: [{ type: "message" }, { type: "message" }] });
    assert.deepEqual(
      [...countsOf(unstated), unstated.tokensComplete],
      [null, null, null, null, null, null, false],
    );
  });
});

describe("the context tier of a response made by several calls", () => {
  const book = createPriceBook(loadBundledRates());
  const price = (usage: object, model?: string) => {
    const { tokens, extras, serviceTier, providerCostPicoUsd, model: answered } = read(usage, model);
    return priceUsage(
      {
        provider: "anthropic",
        model: answered ?? "",
        requestedModel: null,
        at: Date.UTC(2026, 1, 1),
        tokens,
        extras,
        serviceTier,
        providerCostPicoUsd,
        requestKind: "chat",
      },
      book,
    );
  };
  const usage = (...calls: (readonly [number, number, number, number])[]) => ({
    input_tokens: calls.reduce((sum, [input]) => sum + input, 0),
    cache_read_input_tokens: calls.reduce((sum, [, cached]) => sum + cached, 0),
    cache_creation_input_tokens: calls.reduce((sum, [, , written]) => sum + written, 0),
    output_tokens: calls.reduce((sum, [, , , output]) => sum + output, 0),
    iterations: calls.map((counts) => call("message", counts)),
  });

  it("is the base tier if only the sum of the calls exceeds it", () => {
    // $3 and $15 per million tokens; $6 and $22.50 above 200,000.
    const priced = price(usage([150_000, 0, 0, 100], [150_000, 0, 0, 100]));
    assert.equal(priced.costPicoUsd, 300_000n * 3_000_000n + 200n * 15_000_000n);
    assert.equal(priced.tier, null);
  });

  it("applies to each call separately if some exceed it", () => {
    const priced = price(usage([150_000, 0, 0, 100], [100_000, 100_000, 1_000, 50]));
    assert.deepEqual(
      priced.lines.map(({ label, quantity, rate }) => [label, quantity, rate]),
      [
        ["input", 150_000, 3_000_000],
        ["output", 100, 15_000_000],
        ["input above 200000", 100_000, 6_000_000],
        ["cache read above 200000", 100_000, 600_000],
        ["cache write above 200000", 1_000, 7_500_000],
        ["output above 200000", 50, 22_500_000],
      ],
    );
    assert.equal(priced.tier?.aboveTokens, 200_000);
  });

  it("applies to all calls if all exceed it, as to a single call", () => {
    const two = price(usage([250_000, 0, 0, 10], [250_000, 0, 0, 10]));
    assert.equal(two.costPicoUsd, 500_000n * 6_000_000n + 20n * 22_500_000n);
    const one = price(usage([250_000, 0, 0, 10]));
    assert.equal(one.costPicoUsd, 250_000n * 6_000_000n + 10n * 22_500_000n);
  });

  it("treats a count that a call does not state as 0", () => {
    const long = { type: "message", cache_read_input_tokens: 250_000 };
    const priced = price({
      input_tokens: 1,
      output_tokens: 1,
      iterations: [long, call("message", [1, 0, 0, 1])],
    });
    assert.deepEqual(
      priced.lines.map(({ label, quantity }) => [label, quantity]),
      [
        ["input", 1],
        ["output", 1],
        ["cache read above 200000", 250_000],
      ],
    );
  });

  it("does not affect a model without a tier", () => {
    assert.equal(
      price(usage([250_000, 0, 0, 10], [1, 0, 0, 10]), "claude-opus-5").costPicoUsd,
      250_001n * 5_000_000n + 20n * 25_000_000n,
    );
  });
});
