import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type PeriodVerdict,
  readDateWindow,
  readPeriod,
} from "../../../../core/privacy/retention/read-period.ts";
import type { ReachFacts, ReadEndpoint } from "../../../../core/privacy/retention/windows.ts";

const DAY = 86_400_000;
const now = Date.UTC(2026, 10, 21, 12);
const facts: ReachFacts = { now, plan: "solo", dataRetentionDays: 365, auditLogRetentionDays: 365 };
const ok = (from: number, to: number, clampedFrom: number | null = null): PeriodVerdict => ({
  ok: true,
  from,
  to,
  clampedFrom,
});

describe("readPeriod()", () => {
  const cases: readonly [
    why: string,
    endpoint: ReadEndpoint,
    from: string | null,
    to: string | null,
    PeriodVerdict,
  ][] = [
    [
      "a date is its midnight, and `to` is not in the period",
      "overview",
      "2026-11-01",
      "2026-11-21",
      ok(Date.UTC(2026, 10, 1), Date.UTC(2026, 10, 21)),
    ],
    [
      "a datetime keeps its offset: +14:00",
      "overview",
      "2026-11-21T00:00:00+14:00",
      "2026-11-21T00:00:00Z",
      ok(Date.UTC(2026, 10, 20, 10), Date.UTC(2026, 10, 21)),
    ],
    [
      "a datetime keeps its offset: -12:00",
      "overview",
      "2026-11-20T00:00:00-12:00",
      "2026-11-21",
      ok(Date.UTC(2026, 10, 20, 12), Date.UTC(2026, 10, 21)),
    ],
    ["without `to` it ends now", "analytics", "2026-11-01", null, ok(Date.UTC(2026, 10, 1), now)],
    ["without `from`: 30 days for analytics", "analytics", null, null, ok(now - 30 * DAY, now)],
    ["without `from`: 90 days for optimisation", "optimisation", null, null, ok(now - 90 * DAY, now)],
    ["without `from`: as far as the floor for traces", "traces", null, null, ok(now - 7 * DAY, now)],
    ["clamped for overview", "overview", "2020-01-01", null, ok(now - 365 * DAY, now, Date.UTC(2020, 0, 1))],
    [
      "refused for traces",
      "traces",
      "2026-11-14",
      null,
      { ok: false, reason: "period_before_floor", floor: now - 7 * DAY },
    ],
    [
      "without `from` before the floor: refused for traces",
      "traces",
      null,
      "2026-01-01",
      { ok: false, reason: "period_before_floor", floor: now - 7 * DAY },
    ],
    ["reversed", "overview", "2026-11-20", "2026-11-19", { ok: false, reason: "period_reversed" }],
    ["no `from`", "overview", "yesterday", null, { ok: false, reason: "period_malformed", field: "from" }],
    [
      "no `to`",
      "overview",
      "2026-11-20",
      "2026-02-30",
      { ok: false, reason: "period_malformed", field: "to" },
    ],
    [
      "a plus that a query string has made a blank",
      "overview",
      "2026-11-20T00:00:00 02:00",
      null,
      { ok: false, reason: "period_malformed", field: "from" },
    ],
  ];
  for (const [why, endpoint, from, to, expected] of cases) {
    it(`reads ${why}`, () => assert.deepEqual(readPeriod(endpoint, { from, to }, facts), expected));
  }
});

describe("readDateWindow()", () => {
  it("reads both dates as whole days", () => {
    assert.deepEqual(readDateWindow("2026-11-20", "2026-11-21"), {
      ok: true,
      fromDate: "2026-11-20",
      toDate: "2026-11-21",
      from: Date.UTC(2026, 10, 20),
      to: Date.UTC(2026, 10, 22),
    });
  });
  it("reads a single day, including a leap day", () => {
    const window = readDateWindow("2024-02-29", "2024-02-29");
    assert.ok(window.ok && window.to - window.from === DAY);
  });
  /** 422 for a datetime. Source: docs/specification.md#errors. */
  const refused: readonly [from: string, to: string, refusal: object][] = [
    ["2026-11-20T00:00:00Z", "2026-11-21", { reason: "datetime_not_date", field: "from_date" }],
    ["2026-11-20", "2026-11-21T00:00:00", { reason: "datetime_not_date", field: "to_date" }],
    ["2026-11-20", "2026-11-21 00:00", { reason: "datetime_not_date", field: "to_date" }],
    ["2026-02-29", "2026-03-01", { reason: "date_malformed", field: "from_date" }],
    ["2026-11-20", "today", { reason: "date_malformed", field: "to_date" }],
    ["", "", { reason: "date_malformed", field: "from_date" }],
    ["2026-11-21", "2026-11-20", { reason: "period_reversed" }],
  ];
  for (const [from, to, refusal] of refused) {
    it(`rejects ${JSON.stringify(from)} to ${JSON.stringify(to)}`, () => {
      assert.deepEqual(readDateWindow(from, to), { ok: false, ...refusal });
    });
  }
});
