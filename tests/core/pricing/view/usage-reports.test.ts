import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { planUsage } from "../../../../core/pricing/view/usage-plan.ts";
import { DEFAULT_USAGE_QUERY, parseUsageQuery } from "../../../../core/pricing/view/usage-query.ts";
import {
  answerForecast,
  answerSeries,
  listValues,
  MAX_LISTED_VALUES,
  planForecast,
  valuesQuery,
} from "../../../../core/pricing/view/usage-reports.ts";
import { emptySums } from "../../../../core/pricing/view/usage-sums.ts";
import { findZone } from "../../../../core/values/zone.ts";

const zone = findZone("Europe/Berlin") ?? assert.fail();
const now = Date.UTC(2026, 10, 23, 12);

describe("planForecast()", () => {
  const firstDay = (floor?: number) => {
    const result = planForecast(DEFAULT_USAGE_QUERY, { now, zone, ...(floor !== undefined && { floor }) });
    assert.ok(result.ok);
    return [zone.dateAt(result.plan.period.from), result.plan.clampedFrom];
  };

  it("reads eight weeks, and no day that begins before the floor", () => {
    assert.deepEqual(firstDay(), ["2026-09-28", null]);
    assert.deepEqual(firstDay(Date.UTC(2020, 0, 1)), ["2026-09-28", null]);
    assert.deepEqual(firstDay(Date.UTC(2026, 10, 10, 9)), ["2026-11-11", null]);
    assert.deepEqual(firstDay(zone.startOf("2026-11-10")), ["2026-11-10", null]);
    assert.deepEqual(firstDay(zone.startOf("2026-11-23")), ["2026-11-23", null]);
  });
});

describe("answerSeries()", () => {
  const planned = planUsage(
    { ...DEFAULT_USAGE_QUERY, period: { from: "2026-11-21", to: "2026-11-23" }, metric: "requests" },
    { now, zone },
  );
  const plan = planned.ok ? planned.plan : assert.fail();
  const used = (bucket: number, requests: number) => ({
    ...{ bucket, by: null },
    sums: { ...emptySums(), requests },
  });

  it("sums the metric of each bucket, and says for how long no meter ran", () => {
    const series = answerSeries(plan, {
      buckets: [used(1, 2), used(1, 3)],
      stoppedMs: plan.buckets.map((_, at) => at),
    });
    assert.deepEqual([series.tz, series.metric], ["Europe/Berlin", "requests"]);
    assert.deepEqual(
      series.buckets.slice(0, 2),
      [
        { requests: 0, value: 0n, stoppedMs: 0 },
        { requests: 5, value: 5n, stoppedMs: 1 },
      ].map((each, at) => ({ ...plan.buckets[at], ...each })),
    );
    assert.equal(series.buckets.length, plan.buckets.length);
  });

  it("treats a bucket whose tokens are unknown as empty", () => {
    const tokens = { ...emptySums().tokens, completion: null };
    const group = { bucket: 1, by: null, sums: { ...emptySums(), requests: 1, tokens } };
    const ofTokens = { ...plan, query: { ...plan.query, metric: "output_tokens" as const } };
    const { buckets } = answerSeries(ofTokens, { buckets: [group] });
    assert.deepEqual([buckets[1]?.requests, buckets[1]?.value], [1, 0n]);
  });

  it("states for how long no meter ran only if the host knows", () => {
    const { buckets } = answerSeries(plan, { buckets: [] });
    assert.ok(buckets.every(({ stoppedMs }) => stoppedMs === null));
    assert.ok(
      answerSeries(plan, { buckets: [], stoppedMs: [] }).buckets.every(({ stoppedMs }) => stoppedMs === null),
    );
  });
});

describe("answerForecast()", () => {
  const result = planForecast({ ...DEFAULT_USAGE_QUERY, metric: "output_tokens" }, { now, zone });
  const plan = result.ok ? result.plan : assert.fail();
  const today = plan.buckets.length - 1;
  const used = (back: number, completion: bigint | null) => ({
    bucket: today - back,
    by: null,
    sums: { ...emptySums(), requests: 1, tokens: { ...emptySums().tokens, completion } },
  });

  it("begins on the first day with requests, and sums the groups of a day", () => {
    const steady = Array.from({ length: 28 }, (_, at) => [used(at + 1, 6n), used(at + 1, 4n)]).flat();
    const forecast = answerForecast(plan, { buckets: [...steady, used(0, 3n)] });
    assert.deepEqual(forecast, {
      ...{ tz: "Europe/Berlin", month: "2026-11", metric: "output_tokens", days: 28, to_date: "223" },
      estimate: { expected: "300", low: "300", high: "300" },
      today: "3",
      remaining: [
        { date: "2026-11-23", value: "7" },
        ...[24, 25, 26, 27, 28, 29, 30].map((day) => ({ date: `2026-11-${day}`, value: "10" })),
      ],
    });
  });

  it("treats a day whose tokens are unknown as empty", () => {
    const { to_date, days, estimate } = answerForecast(plan, { buckets: [used(2, null), used(1, 5n)] });
    assert.deepEqual([to_date, days, estimate], ["5", 2, null]);
  });

  it("is 0 without any request", () => {
    const { to_date, days, estimate } = answerForecast(plan, { buckets: [] });
    assert.deepEqual([to_date, days, estimate], ["0", 0, null]);
  });
});

describe("valuesQuery()", () => {
  it("asks for one dimension of the same period and filters, without buckets and comparison", () => {
    const { query } = parseUsageQuery(new URLSearchParams("period=7d&by=project&then=client&model=a"));
    assert.deepEqual(valuesQuery(query, "branch"), {
      ...query,
      ...{ by: "branch", thenBy: null, bucket: "none", compare: "none" },
    });
  });
});

describe("listValues()", () => {
  const group = (by: string | null, requests: number, thenBy: string | null = null) => ({
    ...{ by, thenBy },
    sums: { ...emptySums(), requests },
  });

  it("lists the values whose label contains the text, most requests first, then by label", () => {
    const groups = [group("web-z", 3), group("web", 3), group("Web-B", 2, "x"), group("Web-B", 3, "y")];
    assert.deepEqual(
      listValues("project", { groups: [...groups, group("a", 9), group("web-a", 3)] }, "wEB"),
      {
        dimension: "project",
        items: [
          { value: "Web-B", label: "Web-B", requests: 5 },
          { value: "web", label: "web", requests: 3 },
          { value: "web-a", label: "web-a", requests: 3 },
          { value: "web-z", label: "web-z", requests: 3 },
        ],
        more: false,
      },
    );
  });

  it("finds a value by its display name, and the unknown one by its label", () => {
    const nameOf = (_: string, key: string) => (key === "m-1" ? "Ann's laptop" : null);
    const groups = [group("m-1", 1), group(null, 2)];
    assert.deepEqual(listValues("machine", { groups }, "ann", { nameOf }).items, [
      { value: "m-1", label: "Ann's laptop", requests: 1 },
    ]);
    assert.deepEqual(listValues("machine", { groups }, "no mach").items, [
      { value: null, label: "no machine", requests: 2 },
    ]);
  });

  it("says that there are more values than it lists", () => {
    const groups = Array.from({ length: MAX_LISTED_VALUES + 1 }, (_, at) => group(`p${at}`, at));
    const { items, more } = listValues("project", { groups }, "");
    assert.deepEqual(
      [items.length, items[0]?.value, more],
      [MAX_LISTED_VALUES, `p${MAX_LISTED_VALUES}`, true],
    );
  });
});
