import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { missingCounts, withEstimates } from "../../../../core/metering/estimate/estimate-usage.ts";
import { NO_TOKENS } from "../../../../core/metering/usage/token-counts.ts";
import type { UsageReport } from "../../../../core/metering/usage/usage-report.ts";

const nothing: UsageReport = {
  tokens: NO_TOKENS,
  tokensComplete: false,
  model: "m",
  responseId: null,
  serviceTier: null,
  extras: {},
  providerCostPicoUsd: null,
  unknownUsage: null,
  error: null,
};
const tokens = (stated: Partial<UsageReport["tokens"]>) => ({
  ...nothing,
  tokens: { ...nothing.tokens, ...stated },
});
const error = { type: null, code: null, message: "no", status: null };
const chat = { cut: false, requestKind: "chat" } as const;
const cut = { cut: true, requestKind: "chat" } as const;

describe("missingCounts()", () => {
  const cases: readonly [what: string, UsageReport, Parameters<typeof missingCounts>[1], unknown][] = [
    ["all", nothing, chat, { prompt: true, output: true }],
    ["nothing of a complete usage", { ...nothing, tokensComplete: true }, chat, null],
    ["nothing of a failure", { ...nothing, error }, chat, null],
    ["nothing of what makes no record", { ...nothing, noRecord: "unfinished" }, chat, null],
    [
      "the prompt alone of an embedding",
      nothing,
      { ...chat, requestKind: "embedding" },
      { prompt: true, output: false },
    ],
    [
      "the output of a stream that was cut",
      tokens({ promptTokens: 9, completionTokens: 1 }),
      cut,
      { prompt: false, output: true },
    ],
    [
      "nothing where the counts only contradict each other",
      tokens({ promptTokens: 9, completionTokens: 1 }),
      chat,
      null,
    ],
  ];
  for (const [what, report, how, missing] of cases) {
    it(`is ${what}`, () => assert.deepEqual(missingCounts(report, how), missing));
  }
});

describe("withEstimates()", () => {
  const all = { prompt: 20, output: 7, thinking: 0 };

  it("fills in null counts and marks them as estimated", () => {
    const report = withEstimates(nothing, all);
    assert.deepEqual(report.tokens, { ...nothing.tokens, promptTokens: 20, completionTokens: 7 });
    assert.deepEqual(report.extras, { estimated_input: 1, estimated_output: 1 });
    assert.equal(report.tokensComplete, false);
  });

  it("keeps a stated count", () => {
    const report = withEstimates(tokens({ promptTokens: 5, completionTokens: 9 }), all);
    assert.deepEqual([report.tokens.promptTokens, report.tokens.completionTokens], [5, 9]);
    assert.deepEqual(report.extras, {});
  });

  it("raises an output count to the received output", () => {
    const report = withEstimates(tokens({ promptTokens: 5, completionTokens: 1 }), { ...all, thinking: 3 });
    assert.deepEqual([report.tokens.completionTokens, report.tokens.thinkingTokens], [7, 3]);
    assert.deepEqual(report.extras, { estimated_output: 1 });
  });

  it("treats uncounted thinking as 0 when it compares an estimate with a stated output", () => {
    const seen = { prompt: null, output: 7, thinking: null };
    assert.equal(withEstimates(tokens({ completionTokens: 7 }), seen).tokens.completionTokens, 7);
    assert.equal(withEstimates(tokens({ completionTokens: 6 }), seen).tokens.completionTokens, 7);
  });

  it("leaves a count null if there is no estimate", () => {
    assert.deepEqual(withEstimates(nothing, { prompt: null, output: null, thinking: null }), nothing);
  });
});
