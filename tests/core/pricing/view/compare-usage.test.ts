import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compareUsage } from "../../../../core/pricing/view/compare-usage.ts";
import { answerUsage, type UsageGroup } from "../../../../core/pricing/view/usage-answer.ts";
import { planUsage } from "../../../../core/pricing/view/usage-plan.ts";
import { DEFAULT_USAGE_QUERY } from "../../../../core/pricing/view/usage-query.ts";
import { emptySums } from "../../../../core/pricing/view/usage-sums.ts";
import { findZone } from "../../../../core/values/zone.ts";

/** A project with a model and what it cost; null is an unknown project. */
type Spent = readonly [project: string | null, model: string, spentPicoUsd: bigint];

/** Returns the answer for a month, with a bucket for each day. */
function answerOf(first: string, next: string, spent: readonly Spent[], top = 10) {
  const zone = findZone("UTC");
  assert.ok(zone !== null);
  const period = { from: first, to: next };
  const query = { ...DEFAULT_USAGE_QUERY, period, compare: "none", bucket: "day" } as const;
  const planned = planUsage({ ...query, by: "project", thenBy: "model", top }, { now: 0, zone });
  assert.ok(planned.ok);
  const groups = spent.map(
    ([by, thenBy, spentPicoUsd]): UsageGroup => ({
      by,
      thenBy,
      sums: { ...emptySums(), requests: 1, spentPicoUsd },
    }),
  );
  const buckets = groups.map(({ by, sums }) => ({ by, bucket: 0, sums }));
  return answerUsage(planned.plan, {
    ...{ groups, buckets, compared: [], comparedBuckets: [], coverage: null },
  });
}

describe("compareUsage()", () => {
  const before = answerOf("2026-10-01", "2026-11-01", [
    ["a", "x", 10n],
    ["a", "y", 1n],
    ["gone", "z", 4n],
  ]);

  it("gives rows and cells the sums of the other period, and lists those that only it has", () => {
    const spent: Spent[] = [
      ["a", "x", 5n],
      [null, "x", 2n],
    ];
    const answer = answerOf("2026-11-01", "2026-12-01", spent);
    const compared = compareUsage(answer, before);
    assert.deepEqual(compared.compared_period, before.period);
    assert.deepEqual([compared.totals, compared.compared], [answer.totals, before.totals]);
    const pair = ({ key, totals, compared: earlier }: (typeof compared.rows)[number]["cells"][number]) => [
      ...[key, totals.spent_pico_usd, earlier?.spent_pico_usd],
    ];
    assert.deepEqual(
      compared.rows.map((row) => [pair(row), row.cells.map(pair), row.series.length]),
      [
        [
          ["a", "5", "11"],
          [
            ["x", "5", "10"],
            ["y", "0", "1"],
          ],
          30,
        ],
        [[null, "2", "0"], [["x", "2", "0"]], 30],
        [["gone", "0", "4"], [["z", "0", "4"]], 30],
      ],
    );
    assert.deepEqual(new Set(compared.rows[2]?.series), new Set(["0"]));
  });

  it("does not take the unknown value for the other ones", () => {
    const spent: Spent[] = [
      ["a", "x", 5n],
      ["b", "x", 2n],
      [null, "x", 1n],
    ];
    const answer = answerOf("2026-11-01", "2026-12-01", spent, 1);
    const unknown = answerOf("2026-10-01", "2026-11-01", [[null, "x", 7n]]);
    assert.deepEqual(
      compareUsage(answer, unknown).rows.map(({ label, compared }) => [label, compared?.spent_pico_usd]),
      [
        ["a", "0"],
        ["Other", "0"],
        ["no project", "7"],
      ],
    );
  });
});
