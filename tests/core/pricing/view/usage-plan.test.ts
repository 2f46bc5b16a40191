import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { planUsage, type UsagePlan } from "../../../../core/pricing/view/usage-plan.ts";
import { parseUsageQuery } from "../../../../core/pricing/view/usage-query.ts";
import { findZone } from "../../../../core/values/zone.ts";
import { aUsageQuery } from "./usage-query.rig.ts";

const now = Date.UTC(2026, 10, 23, 13, 30);

function plan(text: string, zoneName = "Europe/Berlin", floor?: number): UsagePlan {
  const { query, notices } = parseUsageQuery(new URLSearchParams(text));
  assert.deepEqual(notices, []);
  const zone = findZone(query.tz ?? zoneName);
  assert.ok(zone !== null);
  const result = planUsage(query, { now, zone, ...(floor !== undefined && { floor }) });
  assert.ok(result.ok, JSON.stringify(result));
  return result.plan;
}

const iso = (at: number | undefined) => new Date(at ?? Number.NaN).toISOString();

const describePlan = ({ period, compared, unit, buckets }: UsagePlan) => [
  iso(period.from),
  iso(period.to),
  compared === null ? null : iso(compared.from),
  compared === null ? null : iso(compared.to),
  unit,
  buckets.length,
  period.label,
];

describe("planUsage()", () => {
  const table: readonly (readonly [text: string, ...(string | number | null)[]])[] = [
    [
      "period=today",
      "2026-11-22T23:00:00.000Z",
      "2026-11-23T13:30:00.001Z",
      "2026-11-15T23:00:00.000Z",
      "2026-11-16T13:30:00.001Z",
      "15m",
      59,
      "Today: 2026-11-23",
    ],
    [
      "period=7d",
      "2026-11-16T23:00:00.000Z",
      "2026-11-23T13:30:00.001Z",
      "2026-11-09T23:00:00.000Z",
      "2026-11-16T13:30:00.001Z",
      "hour",
      159,
      "Last 7 days: 2026-11-17 to 2026-11-23",
    ],
    [
      "",
      "2026-10-24T22:00:00.000Z",
      "2026-11-23T13:30:00.001Z",
      "2026-09-19T22:00:00.000Z",
      "2026-10-19T12:30:00.001Z",
      "day",
      30,
      "Last 30 days: 2026-10-25 to 2026-11-23",
    ],
    [
      "period=month&compare=none",
      "2026-09-30T22:00:00.000Z",
      "2026-10-31T23:00:00.000Z",
      null,
      null,
      "day",
      31,
      "Last month: 2026-10-01 to 2026-10-31",
    ],
    [
      "period=mtd&compare=year",
      "2026-10-31T23:00:00.000Z",
      "2026-11-23T13:30:00.001Z",
      "2025-11-01T23:00:00.000Z",
      "2025-11-24T13:30:00.001Z",
      "day",
      23,
      "This month: 2026-11-01 to 2026-11-23",
    ],
    [
      "period=12m&compare=none",
      "2025-11-30T23:00:00.000Z",
      "2026-11-23T13:30:00.001Z",
      null,
      null,
      "week",
      52,
      "Last 12 months: 2025-12-01 to 2026-11-23",
    ],
    [
      "period=12m&bucket=month&compare=none",
      "2025-11-30T23:00:00.000Z",
      "2026-11-23T13:30:00.001Z",
      null,
      null,
      "month",
      12,
      "Last 12 months: 2025-12-01 to 2026-11-23",
    ],
    [
      "from=2026-11-01&to=2026-11-02&bucket=none&tz=UTC&compare=none",
      "2026-11-01T00:00:00.000Z",
      "2026-11-02T00:00:00.000Z",
      null,
      null,
      "none",
      0,
      "2026-11-01",
    ],
    [
      "from=2026-11-01T10:00:00Z&to=2026-11-01T10:20:00Z&compare=none",
      "2026-11-01T10:00:00.000Z",
      "2026-11-01T10:20:00.000Z",
      null,
      null,
      "15m",
      2,
      "2026-11-01 11:00 to 2026-11-01 11:20",
    ],
  ];
  for (const [text, ...expected] of table)
    it(`reads ${text === "" ? "an empty query" : text}`, () =>
      assert.deepEqual(describePlan(plan(text)), expected));

  it("names days of 23 and 25 hours, and the hour that occurs twice", () => {
    const day = plan("from=2026-10-24&to=2026-10-27&bucket=day");
    assert.deepEqual(
      day.buckets.map(({ label }) => label),
      ["2026-10-24", "2026-10-25 (25 h)", "2026-10-26"],
    );
    const hours = plan("from=2026-10-25&to=2026-10-26&bucket=hour").buckets;
    assert.equal(hours.length, 25);
    assert.deepEqual(
      hours.slice(1, 5).map(({ label }) => label),
      ["2026-10-25 01:00", "2026-10-25 02:00 +02:00", "2026-10-25 02:00 +01:00", "2026-10-25 03:00"],
    );
  });

  it("begins hours on the hour of a zone whose offset is 5:45", () => {
    const [first, second] = plan("from=2026-11-22&to=2026-11-23&bucket=hour&tz=Asia/Kathmandu").buckets;
    assert.equal(iso(first?.from), "2026-11-21T18:15:00.000Z");
    assert.equal(second?.label, "2026-11-22 01:00");
  });

  it("makes buckets longer rather than too many", () => {
    assert.equal(plan("period=90d&bucket=15m").unit, "day");
    assert.equal(plan("period=30d&bucket=15m").unit, "hour");
  });

  it("names weeks by ISO 8601", () => {
    const weeks = plan("from=2025-12-28&to=2026-01-06&bucket=week&compare=none").buckets;
    assert.deepEqual(
      weeks.map(({ label }) => label),
      ["2025-W52", "2026-W01", "2026-W02"],
    );
  });

  it("cuts a period at the floor, and then compares it with nothing", () => {
    const floor = Date.UTC(2026, 10, 1);
    const cut = plan("period=30d", "UTC", floor);
    assert.equal(cut.period.from, floor);
    assert.equal(iso(cut.clampedFrom ?? 0), "2026-10-25T00:00:00.000Z");
    assert.equal(cut.compared, null);
    assert.equal(plan("period=7d", "UTC", floor).compared?.from, Date.UTC(2026, 10, 10));
    assert.equal(plan("period=mtd", "UTC", floor).compared, null);
  });

  const problems: readonly (readonly [text: string, code: string])[] = [
    ["from=soon", "period_malformed"],
    ["from=0001-01-01", "period_malformed"],
    ["from=2026-01-01&to=9999-01-01", "period_malformed"],
    ["from=2026-11-02&to=2026-11-02", "period_reversed"],
    ["from=2024-11-02", "period_too_long"],
  ];
  for (const [text, code] of problems)
    it(`refuses ${text}`, () => {
      const { query } = parseUsageQuery(new URLSearchParams(text));
      const result = planUsage(query, { now, zone: findZone("UTC") ?? assert.fail() });
      assert.equal(result.ok ? null : result.code, code);
    });

  it("cuts both periods into buckets without gaps", () => {
    const zones = ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Havana"];
    const time = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 5, 1) });
    fc.assert(
      fc.property(aUsageQuery, fc.constantFrom(...zones), time, (query, name, at) => {
        const result = planUsage(query, { now: at, zone: findZone(name) ?? assert.fail() });
        if (!result.ok) return;
        const { period, compared, buckets, comparedBuckets, unit } = result.plan;
        for (const [span, cut] of [
          [period, buckets],
          [compared, comparedBuckets],
        ] as const) {
          if (unit === "none" || span === null) {
            assert.deepEqual(cut, []);
            continue;
          }
          assert.equal(cut[0]?.from, span.from);
          assert.equal(cut.at(-1)?.to, span.to);
          for (const [at, bucket] of cut.entries()) if (at > 0) assert.equal(bucket.from, cut[at - 1]?.to);
        }
        assert.equal(new Set(buckets.map(({ label }) => label)).size, buckets.length);
        if (compared !== null) assert.ok(compared.to <= period.from + 1, "the periods do not overlap");
      }),
    );
  });
});
