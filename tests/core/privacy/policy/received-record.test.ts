import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  CLOCK_SKEW_MAX_MS,
  isClockSkewed,
  readReportedCost,
} from "../../../../core/privacy/policy/received-record.ts";
import { parseMetadataRecord } from "../../../../core/wire/metadata-record.ts";

const oldest = {
  request_id: "01994b8e-7c00-7000-8000-000000000000",
  requested_at: "2026-11-21T10:00:00+02:00",
  provider: "openai",
  model: "gpt-5",
};

describe("readReportedCost()", () => {
  const costs: readonly [why: string, payload: object, pico: bigint | null][] = [
    ["takes the exact cost", { cost_pico_usd: "123", cost_usd_minor_units: 9 }, 123n],
    ["takes minor units × 10^7 of an older daemon", { cost_usd_minor_units: 12 }, 120_000_000n],
    ["takes 0 as a cost", { cost_pico_usd: "0", cost_usd_minor_units: 9 }, 0n],
    ["returns null without a cost", {}, null],
  ];
  for (const [why, payload, pico] of costs) {
    it(why, () => {
      const parsed = parseMetadataRecord({ ...oldest, ...payload });
      assert.ok(parsed.ok);
      assert.equal(readReportedCost(parsed.value), pico);
    });
  }
});

describe("isClockSkewed()", () => {
  const now = Date.UTC(2026, 10, 21);
  const cases: readonly [why: string, requestedAt: number, skewed: boolean][] = [
    ["now", now, false],
    ["23 hours ahead", now + CLOCK_SKEW_MAX_MS, false],
    ["23 hours and a second", now + 82_801_000, true],
    ["a millisecond more", now + CLOCK_SKEW_MAX_MS + 1, true],
    ["ten years ago: it may have waited", now - 10 * 365 * 86_400_000, false],
  ];
  for (const [why, requestedAt, skewed] of cases) {
    it(`returns ${skewed} for ${why}`, () => assert.equal(isClockSkewed(requestedAt, now), skewed));
  }
});
