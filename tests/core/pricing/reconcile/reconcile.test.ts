import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type CloudDay,
  type DeliveredTotals,
  type LocalModelDay,
  reconcile,
} from "../../../../core/pricing/reconcile/reconcile.ts";
import {
  judgeVariance,
  VARIANCE_TOLERANCE_PER_MILLE,
  type VarianceVerdict,
  variancePercent,
} from "../../../../core/pricing/reconcile/variance.ts";

const totals: DeliveredTotals = {
  requests: 10,
  promptTokens: 1_000,
  cacheReadTokens: 500,
  cacheWriteTokens: 100,
  completionTokens: 300,
  thinkingTokens: 50,
  reportedCostPicoUsd: 1_000_000n,
};

function local(change: Partial<LocalModelDay> = {}, delivered: Partial<DeliveredTotals> = {}): LocalModelDay {
  return {
    date: "2026-11-20",
    provider: "openai",
    model: "gpt-5",
    unpricedRequests: 0,
    changedRequests: 0,
    pendingRequests: 0,
    quarantinedRequests: 0,
    skippedRequests: 0,
    ...change,
    delivered: { ...totals, ...delivered },
  };
}

function cloud(change: Partial<CloudDay> = {}): CloudDay {
  return { date: "2026-11-20", ...totals, costPicoUsd: totals.reportedCostPicoUsd, models: null, ...change };
}

describe("judgeVariance()", () => {
  it("tolerates half a percent, as specified", () => assert.equal(VARIANCE_TOLERANCE_PER_MILLE, 5n));

  const cases: [localPicoUsd: bigint, cloudPicoUsd: bigint, verdict: VarianceVerdict][] = [
    [0n, 0n, "good"],
    [1_000n, 1_000n, "good"],
    [1_000n, 1_004n, "tolerance"],
    [1_000n, 996n, "tolerance"],
    [1_000n, 1_005n, "investigate"],
    [1_000n, 995n, "investigate"],
    [1_000_000n, 1_004_999n, "tolerance"],
    [0n, 1n, "investigate"],
    [1n, 0n, "investigate"],
  ];
  for (const [localPicoUsd, cloudPicoUsd, verdict] of cases) {
    it(`returns ${verdict} for ${localPicoUsd} local and ${cloudPicoUsd} cloud`, () => {
      assert.equal(judgeVariance(localPicoUsd, cloudPicoUsd), verdict);
    });
  }
});

describe("variancePercent()", () => {
  const cases: [localPicoUsd: bigint, cloudPicoUsd: bigint, percent: string | null][] = [
    [0n, 0n, "0"],
    [7n, 7n, "0"],
    [1_000n, 1_005n, "+0.5000"],
    [1_000n, 995n, "-0.5000"],
    [1_000_000n, 1_004_999n, "+0.4999"],
    [10n ** 18n, 10n ** 18n + 5n * 10n ** 15n - 1n, "+0.4999"],
    [3n, 4n, "+33.3333"],
    [10n ** 18n, 10n ** 18n + 1n, "+<0.0001"],
    [10n ** 18n, 10n ** 18n - 1n, "-<0.0001"],
    [1n, 0n, "-100.0000"],
    [0n, 1n, null],
  ];
  for (const [localPicoUsd, cloudPicoUsd, percent] of cases) {
    it(`returns ${percent} for ${localPicoUsd} local and ${cloudPicoUsd} cloud`, () => {
      assert.equal(variancePercent(localPicoUsd, cloudPicoUsd), percent);
    });
  }
});

describe("reconcile()", () => {
  it("lists no days if the totals agree", () => {
    const result = reconcile([local()], [cloud()]);
    assert.equal(result.verdict, "good");
    assert.equal(result.variancePercent, "0");
    assert.equal(result.isDeliveryExact, true);
    assert.deepEqual(result.days, []);
    assert.deepEqual(result.local, totals);
    assert.deepEqual(result.cloud, { ...totals, costPicoUsd: totals.reportedCostPicoUsd });
  });

  it("sums the local and cloud totals, and returns the difference in cost", () => {
    const here = [local(), local({ date: "2026-11-21" })];
    const there = [cloud(), cloud({ date: "2026-11-21", costPicoUsd: 900_000n })];
    const { verdict, isDeliveryExact, differencePicoUsd, cloud: held } = reconcile(here, there);
    assert.deepEqual(
      [verdict, isDeliveryExact, differencePicoUsd, held.costPicoUsd],
      ["investigate", true, -100_000n, 1_900_000n],
    );
  });

  it("lists a day with pending rows even if the delivered totals agree", () => {
    const [day] = reconcile([local({ pendingRequests: 1 })], [cloud()]).days;
    assert.deepEqual([day?.date, day?.verdict, day?.differingFields], ["2026-11-20", "good", []]);
  });

  it("lists no days for empty totals", () => assert.equal(reconcile([], []).verdict, "good"));

  const causes: [what: string, here: LocalModelDay[], there: CloudDay[], kinds: string[]][] = [
    ["rows that the cloud lacks", [local()], [cloud({ requests: 8 })], ["missing_in_cloud 2"]],
    ["a day that the cloud lacks", [local()], [], ["missing_in_cloud 10", "priced_differently 0"]],
    ["a day that is not known here", [], [cloud()], ["missing_here 10"]],
    ["tokens that differ", [local()], [cloud({ completionTokens: 299 })], ["contents_differ 10"]],
    ["a reported cost that differs", [local()], [cloud({ reportedCostPicoUsd: 1n })], ["contents_differ 10"]],
    ["rows that wait", [local({ pendingRequests: 3 })], [cloud()], ["pending 3"]],
    ["rows that were refused", [local({ quarantinedRequests: 2 })], [cloud()], ["quarantined 2"]],
    ["rows of local-only projects", [local({ skippedRequests: 4 })], [cloud()], ["local_only 4"]],
    ["rows that changed here", [local({ changedRequests: 1 })], [cloud()], ["changed_since_sent 1"]],
    [
      "rows that nothing could price here",
      [local({ unpricedRequests: 5 })],
      [cloud({ costPicoUsd: 2_000_000n })],
      ["unpriced_here 5"],
    ],
    ["other rates there", [local()], [cloud({ costPicoUsd: 1_000_001n })], ["priced_differently 10"]],
  ];
  for (const [what, here, there, kinds] of causes) {
    it(`lists ${what}`, () => {
      const [day] = reconcile(here, there).days;
      assert.deepEqual(
        day?.causes.map(({ kind, requests }) => `${kind} ${requests}`),
        kinds.filter((kind) => !kind.endsWith(" 0")),
      );
    });
  }

  it("counts undelivered requests", () => {
    const rows = [
      local({ pendingRequests: 1, quarantinedRequests: 2, skippedRequests: 3 }),
      local({ model: "o3", pendingRequests: 4 }),
    ];
    const { pendingRequests, quarantinedRequests, skippedRequests } = reconcile(rows, []);
    assert.deepEqual([pendingRequests, quarantinedRequests, skippedRequests], [5, 2, 3]);
  });

  it("lists the days in order, and the models that account for the difference, largest first", () => {
    const here = [
      local({ date: "2026-11-21" }),
      local(),
      local({ model: "o3" }),
      local({ model: "gpt-4o" }),
      local({ model: "o1" }),
    ];
    const models = [
      { provider: "openai", model: "gpt-5", ...totals, costPicoUsd: 1_000_000n },
      { provider: "openai", model: "o3", ...totals, costPicoUsd: 1_000_300n },
      { provider: "openai", model: "gpt-4o", ...totals, costPicoUsd: 999_000n },
      { provider: "openai", model: "o1", ...totals, costPicoUsd: 1_000_300n },
      { provider: "openai", model: "gpt-9", ...totals, costPicoUsd: 5n },
    ];
    const result = reconcile(here, [cloud({ costPicoUsd: 3_999_605n, models })]);
    assert.deepEqual(
      result.days.map(({ date }) => date),
      ["2026-11-20", "2026-11-21"],
    );
    assert.deepEqual(
      result.days[0]?.models.map(({ model, differencePicoUsd }) => `${model} ${differencePicoUsd}`),
      ["gpt-4o -1000", "o3 300", "o1 300", "gpt-9 5"],
    );
    assert.equal(result.days[0]?.models[3]?.differingFields.length, 7);
  });

  it("lists the possible models if the cloud states none", () => {
    const rows = [
      local(),
      local({ model: "o3", unpricedRequests: 1 }),
      local({ model: "o1", changedRequests: 1 }),
    ];
    const [day] = reconcile(rows, [cloud({ costPicoUsd: 1n })]).days;
    assert.deepEqual(
      day?.models.map(({ model }) => model),
      ["o3", "o1"],
    );
  });

  it("is exact and good for equal rows, and never both if a row is lost", () => {
    // Seen to fail with `promptTokens` left out of the compared fields, with requests equal.
    const size = fc.integer({ min: 1, max: 5 });
    const anyRow = fc.record({ day: fc.constantFrom("2026-11-19", "2026-11-20"), size });
    fc.assert(
      fc.property(fc.array(anyRow, { minLength: 1, maxLength: 6 }), fc.nat({ max: 5 }), (rows, lost) => {
        const delivered = ({ size: n }: { size: number }): DeliveredTotals => ({
          requests: 1,
          promptTokens: n,
          cacheReadTokens: 0,
          cacheWriteTokens: 0,
          completionTokens: 0,
          thinkingTokens: 0,
          reportedCostPicoUsd: 0n,
        });
        const here = rows.map((item) => local({ date: item.day }, delivered(item)));
        const there = (items: typeof rows) =>
          [...new Set(items.map((item) => item.day))].map((date) => {
            const ofDay = items.filter((item) => item.day === date);
            return cloud({
              ...delivered({ size: ofDay.reduce((sum, item) => sum + item.size, 0) }),
              requests: ofDay.length,
              costPicoUsd: 0n,
              date,
            });
          });
        const same = reconcile(here, there(rows));
        assert.deepEqual([same.isDeliveryExact, same.verdict, same.days], [true, "good", []]);
        const at = lost % rows.length;
        assert.equal(reconcile(here, there(rows.toSpliced(at, 1))).isDeliveryExact, false);
        const altered = rows.with(at, { ...rows[at]!, size: rows[at]!.size + 1 });
        assert.equal(reconcile(here, there(altered)).isDeliveryExact, false);
      }),
    );
  });
});
