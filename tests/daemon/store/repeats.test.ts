import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { planUsage } from "../../../core/pricing/view/usage-plan.ts";
import { parseUsageQuery } from "../../../core/pricing/view/usage-query.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { findZone } from "../../../core/values/zone.ts";
import { propertyRuns } from "../../core/property-runs.rig.ts";
import { withStore } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

const zone = findZone("UTC");
assert.ok(zone !== null);

function planOf(text: string) {
  const { query } = parseUsageQuery(new URLSearchParams(text));
  const planned = planUsage(query, { now: noon + 1, zone: zone ?? assert.fail() });
  return planned.ok ? planned.plan : assert.fail(planned.detail);
}

/** Sums the repetitions of the newest requests, the newest first, each looked for among the older ones. */
function expected(records: readonly RequestRecord[], limit: number): string[] {
  const newest = records
    .toSorted(
      (one, other) => other.requestedAt - one.requestedAt || (one.requestId < other.requestId ? 1 : -1),
    )
    .slice(0, limit)
    .filter(
      ({ promptHash, httpStatus, billingMode }) =>
        promptHash !== null && httpStatus === 200 && billingMode !== "plan",
    );
  const repeated = newest.filter((each, at) =>
    newest
      .slice(at + 1)
      .some(
        ({ promptHash, model, project }) =>
          promptHash === each.promptHash && model === each.model && project === each.project,
      ),
  );
  const groups = Map.groupBy(repeated, ({ model, project }) => `${model} ${project}`);
  return [...groups]
    .map(
      ([key, own]) =>
        `${key} ${own.length} ${own.reduce((sum, { costPicoUsd }) => sum + (costPicoUsd ?? 0n), 0n)}`,
    )
    .sort();
}

describe("findRepeats()", () => {
  // Found: the newest of equal prompts left out in place of the oldest.
  it("sums the requests whose prompt was sent before, by model and project, among the newest ones", async () => {
    const one = fc.record({
      hash: fc.constantFrom("a".repeat(64), "b".repeat(64), "c".repeat(64), null),
      model: fc.constantFrom("m", "n"),
      project: fc.constantFrom("p", "q"),
      ago: fc.nat(40),
      cost: fc.bigInt({ min: 1n, max: 1_000n }),
      kind: fc.constantFrom("ok", "ok", "ok", "failed", "plan"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 40 }), fc.constantFrom(5, 1_000), async (given, limit) => {
        const records = given.map(({ hash, ago, cost, kind, ...rest }, at) =>
          sampleRecord({
            ...rest,
            provider: "anthropic",
            promptHash: hash,
            // No two at the same time: among the last of a limit, either could be the one.
            requestedAt: noon - ago * 60_000 - at,
            costPicoUsd: cost,
            billingMode: kind === "plan" ? "plan" : "metered",
            httpStatus: kind === "failed" ? 500 : 200,
            errorClass: kind === "failed" ? "server_error" : null,
          }),
        );
        await withStore(async (store) => {
          store.records.insert(records);
          const found = await store.reports.findRepeats(planOf("period=today"), limit, async () => {});
          assert.deepEqual(
            found.repeated
              .map((each) => `${each.model} ${each.project} ${each.requests} ${each.costPicoUsd}`)
              .sort(),
            expected(records, limit),
          );
          assert.equal(found.searched, Math.min(limit, records.length));
        });
      }),
      { numRuns: propertyRuns(20) },
    );
  });

  it("reads more than one slice, and no request twice", async () =>
    withStore(async (store) => {
      const records = Array.from({ length: 2_300 }, (_, at) =>
        sampleRecord({
          ...{ requestedAt: noon - Math.floor(at / 3), promptHash: `${at % 1_150}`.padStart(64, "0") },
          ...{
            provider: "anthropic",
            model: "m",
            project: "p",
            billingMode: "metered" as const,
            httpStatus: 200,
          },
          ...{ errorClass: null, costPicoUsd: 1n },
        }),
      );
      store.records.insert(records);
      const { repeated, searched, since } = await store.reports.findRepeats(
        planOf("period=today"),
        10_000,
        async () => {},
      );
      assert.deepEqual([repeated.length, repeated[0]?.requests, searched, since], [1, 1_150, 2_300, null]);
    }));
});
