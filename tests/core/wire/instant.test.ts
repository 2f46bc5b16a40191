import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  formatCalendarDate,
  formatInstant,
  formatInstantOrNull,
  isFormattedInstant,
  MAX_INSTANT,
  MIN_INSTANT,
  nextMidnight,
  parseCalendarDate,
  parseInstant,
} from "../../../core/wire/instant.ts";

describe("parseInstant()", () => {
  const noon = Date.UTC(2026, 10, 21, 12);
  const cases: readonly [text: string, at: number | null][] = [
    ["2026-11-21T12:00:00.000Z", noon],
    ["2026-11-21T12:00:00Z", noon],
    ["2026-11-21T12:00Z", noon],
    ["2026-11-21t12:00:00z", noon],
    ["2026-11-21 12:00:00", noon],
    ["2026-11-21T12:00:00", noon],
    ["2026-11-21T12:00:00.5Z", noon + 500],
    ["2026-11-21T12:00:00,25Z", noon + 250],
    ["2026-11-21T12:00:00.123456Z", noon + 123],
    ["2026-11-21T12:00:00.999999999Z", noon + 999],
    ["2026-11-21T12:00:00+00:00", noon],
    ["2026-11-22T02:00:00+14:00", noon],
    ["2026-11-21T00:00:00-12:00", noon],
    ["2026-11-21T17:30:00+0530", noon],
    ["2026-11-21T07:00-05", noon],
    ["0001-01-01T00:00:00Z", MIN_INSTANT],
    ["9999-12-31T23:59:59.999Z", MAX_INSTANT],
    ["0001-01-01T00:00:00+00:01", null],
    ["9999-12-31T23:59:59-00:01", null],
    ["0000-12-31T00:00:00Z", null],
    ["2026-11-21", null],
    ["2026-11-21T24:00:00Z", null],
    ["2026-11-21T12:60:00Z", null],
    ["2026-11-21T12:00:60Z", null],
    ["2026-11-21T12:00:00+24:00", null],
    ["2026-11-21T12:00:00+00:60", null],
    ["2026-02-30T00:00:00Z", null],
    ["2026-11-21T12:00:00.Z", null],
    ["2026-11-21T12:00:00.0000000001Z", null],
    ["+002026-11-21T12:00:00Z", null],
    ["21 Nov 2026 12:00", null],
    ["2026-11-21T12:00:00Z\n", null],
    ["", null],
  ];
  for (const [text, at] of cases) {
    it(`reads ${JSON.stringify(text)} as ${at}`, () => assert.equal(parseInstant(text), at));
  }

  // Seen to fail with the offset's sign reversed, and with the fraction not padded to three digits.
  it("agrees with the runtime at any offset", () => {
    const offset = fc.record({
      hour: fc.integer({ min: 0, max: 23 }),
      minute: fc.integer({ min: 0, max: 59 }),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: MIN_INSTANT + 86_400_000, max: MAX_INSTANT - 86_400_000 }),
        offset,
        fc.constantFrom("+", "-"),
        fc.integer({ min: 1, max: 3 }),
        (at, { hour, minute }, sign, digits) => {
          const local = new Date(at).toISOString().slice(0, 20 + digits);
          const two = (value: number) => String(value).padStart(2, "0");
          const text = `${local}${sign}${two(hour)}:${two(minute)}`;
          assert.equal(parseInstant(text), Date.parse(text));
        },
      ),
    );
  });
});

describe("formatInstantOrNull()", () => {
  it("returns null for null", () => {
    assert.deepEqual([formatInstantOrNull(0), formatInstantOrNull(null)], ["1970-01-01T00:00:00.000Z", null]);
  });
});

describe("formatInstant()", () => {
  it("writes UTC with milliseconds", () => assert.equal(formatInstant(0), "1970-01-01T00:00:00.000Z"));
  it("clamps times outside the years 1 to 9999", () => {
    assert.equal(formatInstant(MAX_INSTANT + 1), "9999-12-31T23:59:59.999Z");
    assert.equal(formatInstant(MIN_INSTANT - 1), "0001-01-01T00:00:00.000Z");
  });

  // Seen to fail with milliseconds cut off.
  it("is read back by parseInstant()", () => {
    fc.assert(
      fc.property(fc.integer({ min: MIN_INSTANT, max: MAX_INSTANT }), (at) => {
        assert.equal(parseInstant(formatInstant(at)), at);
      }),
    );
  });
});

describe("parseCalendarDate()", () => {
  const cases: readonly [text: string, at: number | null][] = [
    ["2026-11-21", Date.UTC(2026, 10, 21)],
    ["2024-02-29", Date.UTC(2024, 1, 29)],
    ["0001-01-01", MIN_INSTANT],
    ["9999-12-31", Date.UTC(9999, 11, 31)],
    ["2026-02-29", null],
    ["2026-04-31", null],
    ["2026-13-01", null],
    ["2026-00-10", null],
    ["2026-01-00", null],
    ["0000-01-01", null],
    ["2026-1-1", null],
    ["20261121", null],
    ["2026-11-21T00:00:00Z", null],
    ["2026-11-21\n", null],
    [" 2026-11-21", null],
  ];
  for (const [text, at] of cases) {
    it(`reads ${JSON.stringify(text)} as ${at}`, () => assert.equal(parseCalendarDate(text), at));
  }
  it("accepts every day of four centuries, and no other", () => {
    const days = Math.round((Date.UTC(2300, 0, 1) - Date.UTC(1900, 0, 1)) / 86_400_000);
    const known: number[] = [];
    for (let year = 1900; year < 2300; year += 1) {
      for (let month = 0; month <= 13; month += 1) {
        for (let day = 0; day <= 32; day += 1) {
          const two = (part: number) => String(part).padStart(2, "0");
          const at = parseCalendarDate(`${year}-${two(month)}-${two(day)}`);
          if (at !== null) known.push(at);
        }
      }
    }
    assert.equal(known.length, days);
    assert.ok(known.every((at, index) => at === Date.UTC(1900, 0, 1 + index)));
  });
  it("is the inverse of formatCalendarDate(), and nextMidnight() is a day later", () => {
    const at = Date.UTC(2024, 1, 28);
    assert.equal(formatCalendarDate(at + 86_399_999), "2024-02-28");
    assert.equal(formatCalendarDate(nextMidnight(at)), "2024-02-29");
  });
});

describe("isFormattedInstant()", () => {
  it("accepts what formatInstant() returns", () =>
    fc.assert(
      fc.property(fc.integer({ min: MIN_INSTANT, max: MAX_INSTANT }), (at) =>
        assert.ok(isFormattedInstant(formatInstant(at))),
      ),
    ));
  for (const text of [
    "2026-11-21T12:00:00Z",
    "2026-11-21t12:00:00.000z",
    "2026-11-21 12:00:00.000Z",
    "2026-11-21T12:00:00.000+00:00",
    "2026-11-21T12:00:00,000Z",
    "2026-11-21T12:00:00.0000Z",
    "2026-11-21T12:00:00.000Z\n",
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.ok(!isFormattedInstant(text)));
  }
});
