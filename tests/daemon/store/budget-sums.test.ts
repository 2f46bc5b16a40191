import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type Budget, matchesScope, sumKey, usedOf } from "../../../core/budgets/budget.ts";
import { budgetPeriod, partStart } from "../../../core/budgets/budget-period.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { StoredSum } from "../../../daemon/store/port/budgets.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { budgetOf } from "../../core/budgets/budgets.rig.ts";
import { propertyRuns } from "../../core/property-runs.rig.ts";
import { inNewFolder, opener } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

const DAY_MS = 86_400_000;
const place = { machine: "here", person: "me" };

/** Few requests are left out of the rollups. */
const rollupTail = { max: 2, keep: 1 };

const scopes: readonly Budget["scope"][] = [
  {},
  { project: ["shop"] },
  { model: ["m1"], billing: ["metered", "plan"] },
  { provider: ["openai"], client: ["codex"] },
  { branch: ["main"] },
  { session: ["a"] },
  { session: ["b", "a*"] },
  { agent: ["x"] },
  { person: ["me"] },
];
const periods: readonly Budget["period"][] = [
  { kind: "hour", zone: "UTC" },
  { kind: "day", zone: "Asia/Kathmandu" },
  { kind: "month", zone: "UTC" },
  { kind: "total" },
  { kind: "session" },
  { kind: "rolling", lengthMs: DAY_MS },
];
const budgets = scopes.flatMap((scope) =>
  periods.flatMap((period) =>
    (["usd", "tokens", "requests"] as const).map((unit) => budgetOf({ scope, period, unit })),
  ),
);

const count = fc.option(fc.constantFrom(0, 7, 1_000), { freq: 4 });
const records = fc.array(
  fc
    .record({
      // Those from the future were recorded before the clock was set back.
      ageMs: fc.oneof(fc.nat(3 * DAY_MS), fc.nat(3_600_000), fc.integer({ min: -40 * DAY_MS, max: 0 })),
      cost: fc.option(fc.bigInt(0n, 9_000_000_000_000_000_000n), { freq: 5 }),
      project: fc.constantFrom("shop", "misc"),
      model: fc.constantFrom("m1", "m2"),
      provider: fc.constantFrom("openai", "anthropic"),
      client: fc.constantFrom("codex", null),
      gitBranch: fc.constantFrom("main", "next", null),
      sessionId: fc.constantFrom("a", "b", null),
      agentId: fc.constantFrom("x", null),
      billingMode: fc.constantFrom("metered" as const, "plan" as const, "unknown" as const, null),
      errorClass: fc.constantFrom(null, null, "network" as const),
      recordSource: fc.constantFrom(null, null, "logs" as const),
      isBlocked: fc.boolean(),
      tokens: fc.record({
        promptTokens: count,
        cacheReadTokens: count,
        cacheWriteTokens: count,
        cacheWrite1hTokens: fc.constant(null),
        completionTokens: count,
        thinkingTokens: count,
      }),
    })
    .map(({ ageMs, cost, isBlocked, ...given }) =>
      sampleRecord({
        ...given,
        requestedAt: noon - ageMs,
        costPicoUsd: cost,
        blockedBy: isBlocked ? "daily" : null,
      } as Partial<RequestRecord>),
    ),
  { maxLength: 12 },
);

/** Sums the calls of a budget one by one. */
function naiveSums(store: Store, all: readonly RequestRecord[], budget: Budget): StoredSum[] {
  const ids = all.map(({ requestId }) => requestId);
  const bounds = budgetPeriod(budget, noon);
  const sums = new Map<string, Map<number, { used: bigint; calls: number; unknown: number }>>();
  for (const call of store.budgets.calls(ids)) {
    const facts = { ...place, ...call.facts };
    if (call.at < bounds.from || matchesScope(budget, facts) !== true) continue;
    const key = sumKey(budget, facts);
    const parts = sums.get(key) ?? new Map();
    sums.set(key, parts);
    const at = partStart(budget.period, call.at >= noon ? budgetPeriod(budget, call.at) : bounds, call.at);
    const part = parts.get(at) ?? { used: 0n, calls: 0, unknown: 0 };
    const used = usedOf(budget, { ...call, facts });
    parts.set(at, {
      used: part.used + (used ?? 0n),
      calls: part.calls + 1,
      unknown: part.unknown + (used === null ? 1 : 0),
    });
  }
  return [...sums].map(([key, parts]) => ({
    key,
    ...(budget.period.kind === "session" && {
      lastAt: Math.max(...all.filter(({ sessionId }) => sessionId === key).map((each) => each.requestedAt)),
    }),
    parts: [...parts].map(([at, part]) => ({ at, ...part })).sort((one, other) => one.at - other.at),
  }));
}

const sorted = (sums: readonly StoredSum[]) =>
  sums.filter(({ key }) => key !== "").length === 0
    ? sums
    : sums.toSorted((one, other) => (one.key < other.key ? -1 : 1));

describe("the sums of budgets", () => {
  it("are those of the calls one by one, with and without rollups", () =>
    fc.assert(
      fc.asyncProperty(records, fc.boolean(), async (all, hasRollups) => {
        const store = await openStore(opener, ":memory:", { rollupTail });
        try {
          if (hasRollups) store.rollups.buildSome(noon + 30 * DAY_MS);
          store.insertBatch({ records: all, bodies: [], coverage: [] });
          if (hasRollups) store.rollups.buildSome(noon + 30 * DAY_MS);
          for (const budget of budgets) {
            const sums = store.budgets.sums(budget, budgetPeriod(budget, noon), null, place);
            assert.deepEqual(
              sorted(sums),
              sorted(naiveSums(store, all, budget)),
              JSON.stringify(budget.scope),
            );
          }
        } finally {
          store.close();
        }
      }),
      { numRuns: propertyRuns(15) },
    ));

  it("of calendar periods and totals are read from the rollups, unless they are about sessions or agents", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const store = await openStore(opener, path, { rollupTail });
      store.rollups.buildSome(noon);
      for (let n = 0; n < 9; n += 1)
        store.insertBatch({ records: [sampleRecord({ sessionId: "a" })], bodies: [], coverage: [] });
      const connection = await opener.open(path);
      // What the requests do not state shows that the rollups are read.
      connection.execute("UPDATE usage_slots SET requests = requests + 1000");
      connection.close();
      const isRead = (given: Partial<Budget>) => {
        const budget = budgetOf({ unit: "requests", ...given });
        const [sum] = store.budgets.sums(budget, budgetPeriod(budget, noon), null, place);
        return (sum?.parts[0]?.calls ?? 0) > 1_000;
      };
      assert.equal(isRead({ period: { kind: "month", zone: "UTC" } }), true);
      assert.equal(isRead({ period: { kind: "total" }, scope: { project: ["acme-web"] } }), true);
      assert.equal(isRead({ period: { kind: "day", zone: "UTC" }, scope: { session: ["a"] } }), false);
      assert.equal(isRead({ period: { kind: "session" } }), false);
      assert.equal(isRead({ period: { kind: "rolling", lengthMs: DAY_MS } }), false);
      store.close();
    }));
});
