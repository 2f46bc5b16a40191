import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  clampWindow,
  defaultFrom,
  isWithinReach,
  type ReachFacts,
  type ReadEndpoint,
  retentionFloor,
  WINDOW_TABLE,
} from "../../../../core/privacy/retention/windows.ts";
import { PLANS, type Plan } from "../../../../core/values/plan.ts";

const DAY = 86_400_000;
const now = Date.UTC(2026, 10, 21, 13, 37);
const factsOf = (plan: Plan, dataRetentionDays = 365, auditLogRetentionDays = 400): ReachFacts => ({
  now,
  plan,
  dataRetentionDays,
  auditLogRetentionDays,
});

describe("retentionFloor()", () => {
  /** Days before now. Source: docs/specification.md#limits; docs/specification.md#reading. */
  const cases: readonly [endpoint: ReadEndpoint, facts: ReachFacts, days: number][] = [
    ["traces", factsOf("solo"), 7],
    ["traces", factsOf("team"), 30],
    ["traces", factsOf("business"), 30],
    ["traces", factsOf("enterprise"), 30],
    ["traces", factsOf("team", 10), 10],
    ["traces", factsOf("solo", 3), 3],
    ["analytics", factsOf("solo"), 365],
    ["analytics", factsOf("enterprise", 30), 30],
    ["overview", factsOf("solo"), 365],
    ["optimisation", factsOf("solo"), 90],
    ["optimisation", factsOf("solo", 30), 30],
    ["optimisation", factsOf("team"), 365],
    ["prompt_views", factsOf("business"), 400],
    ["audit_events", factsOf("business"), 400],
    ["audit_requests", factsOf("business", 7), 400],
    ["analytics", factsOf("solo", 0), 0],
    ["analytics", factsOf("solo", 1), 1],
    ["analytics", factsOf("solo", 3650), 3650],
  ];
  for (const [endpoint, facts, days] of cases) {
    it(`is ${days} days back for ${endpoint} on ${facts.plan} with ${facts.dataRetentionDays} days`, () => {
      assert.equal(retentionFloor(endpoint, facts), now - days * DAY);
    });
  }
  it("counts days of 24 hours, across a leap day and a clock change", () => {
    const leap = { ...factsOf("solo", 1), now: Date.UTC(2024, 2, 1) };
    assert.equal(retentionFloor("analytics", leap), Date.UTC(2024, 1, 29));
    const spring = { ...factsOf("solo", 1), now: Date.UTC(2026, 2, 29, 12) };
    assert.equal(retentionFloor("analytics", spring), Date.UTC(2026, 2, 28, 12));
  });
});

describe("WINDOW_TABLE", () => {
  /** Source: docs/specification.md#errors; docs/specification.md#reading and "Cloud: people, keys, plans". */
  const pastFloor: Record<ReadEndpoint, "refuse" | "clamp"> = {
    traces: "refuse",
    analytics: "refuse",
    overview: "clamp",
    optimisation: "clamp",
    prompt_views: "clamp",
    audit_events: "clamp",
    audit_requests: "clamp",
  };
  for (const [endpoint, expected] of Object.entries(pastFloor)) {
    it(`makes ${endpoint} ${expected} a period that starts before the floor`, () => {
      assert.equal(WINDOW_TABLE[endpoint as ReadEndpoint].pastFloor, expected);
    });
  }
});

describe("clampWindow()", () => {
  const refusing: readonly ReadEndpoint[] = ["traces", "analytics"];
  for (const endpoint of Object.keys(WINDOW_TABLE) as ReadEndpoint[]) {
    const facts = factsOf("team");
    const floor = retentionFloor(endpoint, facts);
    for (const [where, from] of [
      ["on", floor],
      ["a millisecond above", floor + 1],
    ] as const) {
      it(`keeps a from ${where} the floor for ${endpoint}`, () => {
        assert.deepEqual(clampWindow(endpoint, { from, to: now }, facts), {
          ok: true,
          from,
          to: now,
          clampedFrom: null,
        });
      });
    }
    const below = { from: floor - 1, to: now };
    if (refusing.includes(endpoint)) {
      it(`rejects a from one millisecond before the floor for ${endpoint}`, () => {
        assert.deepEqual(clampWindow(endpoint, below, facts), {
          ok: false,
          reason: "period_before_floor",
          floor,
        });
      });
    } else {
      it(`moves from up to the floor for ${endpoint}, and reports it`, () => {
        assert.deepEqual(clampWindow(endpoint, below, facts), {
          ok: true,
          from: floor,
          to: now,
          clampedFrom: floor - 1,
        });
      });
      it(`returns an empty period if it ends before the floor for ${endpoint}`, () => {
        const past = { from: floor - 2 * DAY, to: floor - DAY };
        assert.deepEqual(clampWindow(endpoint, past, facts), {
          ok: true,
          from: floor,
          to: floor,
          clampedFrom: past.from,
        });
      });
    }
    it(`rejects a period that ends before it starts for ${endpoint}`, () => {
      assert.deepEqual(clampWindow(endpoint, { from: now, to: now - 1 }, facts), {
        ok: false,
        reason: "period_reversed",
      });
    });
    it(`accepts an empty period for ${endpoint}`, () => {
      assert.ok(clampWindow(endpoint, { from: now, to: now }, facts).ok);
    });
  }

  const endpoints = fc.constantFrom(...(Object.keys(WINDOW_TABLE) as ReadEndpoint[]));
  const near = fc.integer({ min: -400 * DAY, max: 2 * DAY }).map((offset) => now + offset);
  const facts = fc.record({
    now: fc.constant(now),
    plan: fc.constantFrom(...PLANS),
    dataRetentionDays: fc.constantFrom(0, 1, 7, 30, 90, 365, 3650),
    auditLogRetentionDays: fc.constantFrom(1, 30, 365),
  });

  // Seen to fail with `to` left before a clamped `from`, and with the plan's bound left out for traces.
  it("returns nothing before the floor, no reversed period, and only part of the requested period", () => {
    fc.assert(
      fc.property(endpoints, near, near, facts, (endpoint, from, to, some) => {
        const verdict = clampWindow(endpoint, { from, to }, some);
        if (!verdict.ok) return;
        assert.ok(verdict.from >= retentionFloor(endpoint, some) && verdict.from <= verdict.to);
        assert.ok(verdict.from >= from);
        if (verdict.to > to) assert.equal(verdict.from, verdict.to);
      }),
    );
  });

  // Seen to fail with the default used without regard to the floor.
  it("never rejects or clamps the default period, unless it ends before the floor", () => {
    fc.assert(
      fc.property(endpoints, near, facts, (endpoint, to, some) => {
        const from = defaultFrom(endpoint, to, some);
        if (to < retentionFloor(endpoint, some))
          assert.equal(from, to - WINDOW_TABLE[endpoint].defaultDays * DAY);
        else
          assert.deepEqual(clampWindow(endpoint, { from, to }, some), {
            ok: true,
            from,
            to,
            clampedFrom: null,
          });
      }),
    );
  });
});

describe("defaultFrom()", () => {
  it("returns an empty period at the floor for one that ends there", () => {
    const facts = factsOf("solo");
    const floor = retentionFloor("traces", facts);
    assert.equal(defaultFrom("traces", floor, facts), floor);
    assert.equal(defaultFrom("traces", floor - 1, facts), floor - 1 - 30 * DAY);
  });
});

describe("isWithinReach()", () => {
  it("is true at the floor and false before it", () => {
    const facts = factsOf("solo");
    assert.equal(isWithinReach(now - 7 * DAY, "traces", facts), true);
    assert.equal(isWithinReach(now - 7 * DAY - 1, "traces", facts), false);
  });
});
