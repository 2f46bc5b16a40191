import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  answerUsage,
  describeMissing,
  labelOfKey,
  type UsageData,
} from "../../../../core/pricing/view/usage-answer.ts";
import { accumulateUsage } from "../../../../core/pricing/view/usage-cumulative.ts";
import { planUsage, type UsagePlan } from "../../../../core/pricing/view/usage-plan.ts";
import { parseUsageQuery, type UsageQuery } from "../../../../core/pricing/view/usage-query.ts";
import {
  emptySums,
  metricOf,
  parseSums,
  sumOf,
  type UsageSums,
} from "../../../../core/pricing/view/usage-sums.ts";
import { findZone } from "../../../../core/values/zone.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import {
  USAGE_DIMENSIONS,
  type UsageAnswer,
  type UsageSumsJson,
  usageAnswerSchema,
} from "../../../../core/wire/usage.ts";
import { aUsageQuery } from "./usage-query.rig.ts";

const now = Date.UTC(2026, 9, 28, 13, 30);

function planOf(query: UsageQuery): UsagePlan {
  const result = planUsage(query, { now, zone: findZone(query.tz ?? "Europe/Berlin") ?? assert.fail() });
  return result.ok ? result.plan : assert.fail(result.detail);
}

/** A request as a test sees it: its keys, its bucket and its period. */
interface Request {
  readonly by: string | null;
  readonly thenBy: string | null;
  readonly bucket: number;
  readonly isCompared: boolean;
  readonly sums: UsageSums;
}

const aCount = fc.option(fc.bigInt(0n, 9n), { nil: null });
const aKey = fc.constantFrom("a", "b", "c", "d", "e", "", null);
const aRequest: fc.Arbitrary<Request> = fc.record({
  by: aKey,
  thenBy: aKey,
  bucket: fc.nat({ max: 10_000 }),
  isCompared: fc.boolean(),
  sums: fc
    .record({
      payer: fc.constantFrom(
        "spentPicoUsd" as const,
        "planUsagePicoUsd" as const,
        "unknownBillingPicoUsd" as const,
      ),
      cost: fc.option(fc.bigInt(-5n, 10n ** 30n), { nil: null }),
      prompt: aCount,
      completion: aCount,
      flags: fc.nat({ max: 15 }),
    })
    .map(({ payer, cost, prompt, completion, flags }) => {
      const sums = emptySums();
      sums.requests = 1;
      sums.failed = flags & 1;
      sums.incomplete = (flags >> 1) & 1;
      sums.estimated = (flags >> 2) & 1;
      sums.blocked = (flags >> 3) & 1;
      if (cost === null) sums.unpriced = 1;
      else sums[payer] = cost;
      if (payer === "unknownBillingPicoUsd") sums.unknownBilling = 1;
      Object.assign(sums.tokens, { prompt, completion });
      return sums;
    }),
});

function dataOf(plan: UsagePlan, requests: readonly Request[]): UsageData {
  const { by, thenBy } = plan.query;
  const keys = (request: Request) => ({
    by: by === null ? null : request.by,
    thenBy: thenBy === null ? null : request.thenBy,
  });
  const inPeriod = (isCompared: boolean) => requests.filter((request) => request.isCompared === isCompared);
  const groups = (isCompared: boolean) =>
    inPeriod(isCompared).map((each) => ({ ...keys(each), sums: each.sums }));
  const buckets = (isCompared: boolean, count: number) =>
    count === 0
      ? []
      : inPeriod(isCompared).map((each) => ({
          bucket: each.bucket % count,
          by: keys(each).by,
          sums: each.sums,
        }));
  return {
    groups: groups(false),
    buckets: buckets(false, plan.buckets.length),
    compared: plan.compared === null ? [] : groups(true),
    comparedBuckets: buckets(true, plan.comparedBuckets.length),
    coverage: null,
  };
}

const read = (json: UsageSumsJson | null) => parseSums(json ?? assert.fail("no sums"));
const total = (all: readonly { readonly totals: UsageSumsJson }[]) =>
  sumOf(all.map(({ totals }) => read(totals)));
const comparedTotal = (all: readonly { readonly compared: UsageSumsJson | null }[]) =>
  sumOf(all.map(({ compared }) => read(compared)));
const addUp = (values: readonly (string | null)[]) =>
  values.reduce((sum, value) => sum + BigInt(value ?? 0), 0n);

/** Checks that everything in an answer adds up. */
function checkSums(answer: UsageAnswer): void {
  const totals = read(answer.totals);
  const value = (sums: UsageSums) => metricOf(sums, answer.metric) ?? 0n;
  if (answer.by !== null) assert.deepEqual(total(answer.rows), totals);
  if (answer.then_by !== null) assert.deepEqual(total(answer.columns), totals);
  if (answer.bucket !== "none") assert.deepEqual(total(answer.buckets), totals);
  for (const row of answer.rows) {
    if (answer.then_by !== null) assert.deepEqual(total(row.cells), read(row.totals));
    if (answer.bucket !== "none") assert.equal(addUp(row.series), value(read(row.totals)));
    if (answer.compared !== null && answer.then_by !== null)
      assert.deepEqual(comparedTotal(row.cells), read(row.compared));
  }
  for (const [at, bucket] of answer.buckets.entries())
    if (answer.by !== null)
      assert.equal(addUp(answer.rows.map(({ series }) => series[at] ?? null)), value(read(bucket.totals)));
  checkCumulative(answer);
  if (answer.compared === null) return;
  if (answer.by !== null) assert.deepEqual(comparedTotal(answer.rows), read(answer.compared));
  if (answer.bucket !== "none") assert.equal(addUp(answer.compared_series), value(read(answer.compared)));
}

/** Checks that cumulative sums end with those of the period, and that each differs from the one before by its own bucket. */
function checkCumulative(answer: UsageAnswer): void {
  const { metric, buckets, rows, compared, compared_series } = answer;
  const cumulative = accumulateUsage(answer);
  assert.equal(cumulative.buckets.length, buckets.length);
  if (buckets.length === 0) return;
  assert.deepEqual(read(cumulative.buckets.at(-1)?.totals ?? null), read(answer.totals));
  const whole = (json: UsageSumsJson) => metricOf(read(json), metric)?.toString() ?? null;
  for (const [n, row] of rows.entries()) {
    const series = cumulative.series[n] ?? assert.fail("no series");
    assert.equal(series.at(-1), whole(row.totals));
    for (const [at, value] of row.series.entries())
      if (series[at] !== null)
        assert.equal(BigInt(series[at] ?? 0) - BigInt(series[at - 1] ?? 0), BigInt(value ?? 0));
  }
  if (compared !== null && compared_series.length > 0)
    assert.equal(cumulative.compared_series.at(-1), whole(compared));
}

describe("a missing value", () => {
  it("is named after its dimension: calls without one, or a value that is not known", () => {
    const names = USAGE_DIMENSIONS.map((dimension) => labelOfKey(dimension, null, () => null));
    assert.deepEqual(names, [
      ...["no project", "no branch", "unknown", "unknown", "unknown program", "unknown program version"],
      ...[
        "no session",
        "no sub-agent",
        "no commit",
        "no repository",
        "no pull request",
        "unknown",
        "no response",
      ],
      ...["no error", "unknown", "unknown", "unknown", "unknown", "unknown", "no machine", "unknown"],
    ]);
    assert.deepEqual((["branch", "client", "model"] as const).map(describeMissing), [
      "none",
      "unknown",
      "unknown",
    ]);
  });
});

describe("answerUsage()", () => {
  it("adds up: rows with Other, columns, cells and buckets each to their total", () => {
    fc.assert(
      fc.property(aUsageQuery, fc.array(aRequest, { maxLength: 40 }), (query, requests) => {
        const plan = planOf(query);
        const answer = answerUsage(plan, dataOf(plan, requests));
        assert.deepEqual(parseWire(usageAnswerSchema, answer), { ok: true, value: answer });
        checkSums(answer);
        const expected = sumOf(requests.filter(({ isCompared }) => !isCompared).map(({ sums }) => sums));
        assert.deepEqual(read(answer.totals), expected);
        assert.ok(answer.rows.length <= query.top + 1);
        for (const row of answer.rows) assert.ok(row.other_values === null || row.other_values > 1);
      }),
    );
  });

  const sums = (spent: bigint, plan = 0n) => ({
    ...emptySums(),
    requests: 1,
    spentPicoUsd: spent,
    planUsagePicoUsd: plan,
  });
  const ask = (text: string, data: Partial<UsageData>) => {
    const plan = planOf(parseUsageQuery(new URLSearchParams(text)).query);
    return answerUsage(plan, {
      groups: [],
      buckets: [],
      compared: [],
      comparedBuckets: [],
      coverage: null,
      ...data,
    });
  };
  const group = (by: string | null, spent: bigint, plan = 0n) => ({
    by,
    thenBy: null,
    sums: sums(spent, plan),
  });

  it("sorts by the metric, and by plan usage where nothing was spent", () => {
    const groups = [group("a", 0n, 1n), group("b", 0n, 9n), group("c", 5n)];
    assert.deepEqual(
      ask("by=model", { groups }).rows.map(({ key }) => key),
      ["c", "b", "a"],
    );
  });

  it("names a value that is unknown, and is not the empty name of Other", () => {
    const rows = ask("by=project&top=1", { groups: [group(null, 9n), group("a", 2n), group("b", 1n)] }).rows;
    assert.deepEqual(
      rows.map(({ key, label, other_values }) => [key, label, other_values]),
      [
        [null, "no project", null],
        [null, "Other", 2],
      ],
    );
  });

  it("explains a change by the value that changed most in its direction, even if it is among Other", () => {
    const { change } = ask("by=model&top=1", {
      groups: [group("a", 50n), group("b", 20n), group("c", 1n), group("d", 0n)],
      compared: [group("a", 60n), group("c", 1n)],
    });
    assert.deepEqual(change, { delta: "10", key: "b", label: "b", explained: "20" });
    assert.equal(ask("by=model", { groups: [group("a", 1n)], compared: [group("a", 1n)] }).change, null);
  });

  it("sorts equal values by key, with the unknown one last", () => {
    const groups = ["b", null, "c", "a"].map((by) => group(by, 1n));
    assert.deepEqual(
      ask("by=project", { groups }).rows.map(({ key }) => key),
      ["a", "b", "c", null],
    );
  });

  it("states no caveat about what was not counted", () => {
    const some = { ...sums(1n), requests: 9, estimated: null, unknownBilling: null };
    const answer = ask("by=project", { groups: [{ by: "x", thenBy: null, sums: some }, group("y", 1n)] });
    assert.deepEqual(answer.caveats, []);
    assert.equal(answer.totals.estimated_requests, null);
  });

  it("states for how long no meter ran in each bucket, if that is known", () => {
    const query = "from=2026-11-20&to=2026-11-22&bucket=day&tz=UTC";
    const stoppedOf = (data: Partial<UsageData>) =>
      ask(query, data).buckets.map(({ stopped_ms }) => stopped_ms);
    assert.deepEqual(stoppedOf({}), [null, null]);
    assert.deepEqual(stoppedOf({ stoppedMs: null }), [null, null]);
    assert.deepEqual(stoppedOf({ stoppedMs: [7_200_000, 0] }), [7_200_000, 0]);
  });

  it("states that older requests are no longer kept", () => {
    const query = parseUsageQuery(new URLSearchParams("period=30d&tz=UTC")).query;
    const zone = findZone("UTC") ?? assert.fail();
    const result = planUsage(query, { now, zone, floor: Date.UTC(2026, 9, 20) });
    assert.ok(result.ok);
    assert.deepEqual(answerUsage(result.plan, dataOf(result.plan, [])).caveats, [
      {
        ...{ kind: "clamped", requests: 0, query: null },
        sentence: "Older requests are no longer kept: the period begins at 2026-10-20T00:00:00.000Z.",
      },
    ]);
  });

  it("states each caveat with the query that opens its rows", () => {
    const some = {
      ...sums(1n),
      requests: 1_500,
      unpriced: 1_200,
      incomplete: 1,
      estimated: 2,
      unknownBilling: 3,
    };
    const { caveats } = ask("by=model&project=a&cost=unpriced&cost=estimated", {
      groups: [{ by: "x", thenBy: null, sums: some }],
      coverage: {
        metered: 8,
        seen: 10,
        permille: 800,
        missing: [{ kind: "websocket", count: 2 }],
        unknown_machines: 1,
      },
    });
    assert.deepEqual(
      caveats.map(({ kind, requests, query }) => [kind, requests, query]),
      [
        ["unpriced", 1_200, "by=model&project=a&cost=unpriced"],
        ["incomplete", 1, "by=model&project=a&cost=estimated&cost=unpriced&tokens=incomplete"],
        ["estimated", 2, "by=model&project=a&cost=estimated"],
        ["unknown_billing", 3, "by=model&project=a&billing=unknown&cost=estimated&cost=unpriced"],
        ["not_metered", 2, null],
        ["unknown_coverage", 1, null],
      ],
    );
    const coverage = { metered: 0, seen: 0, permille: null, missing: [] };
    const unknown = (machines: number | null) =>
      ask("by=model", { coverage: { ...coverage, unknown_machines: machines } }).caveats.map(
        ({ sentence }) => sentence,
      );
    assert.deepEqual(unknown(null), []);
    assert.deepEqual(unknown(0), []);
    assert.deepEqual(unknown(1), ["The coverage of 1 machine is unknown."]);
    assert.deepEqual(unknown(2), ["The coverage of 2 machines is unknown."]);
    assert.equal(caveats[0]?.sentence, "1,200 requests have no known price; their cost is not included.");
  });
});
