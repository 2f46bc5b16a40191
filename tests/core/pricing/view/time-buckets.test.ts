import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cutCoverageTime, cutTime, unitFor } from "../../../../core/pricing/view/time-buckets.ts";
import { findZone } from "../../../../core/values/zone.ts";

describe("unitFor()", () => {
  const zone = findZone("UTC") ?? assert.fail();
  const from = Date.UTC(1990, 0, 1);
  const table = [
    ["15m", Date.UTC(1990, 0, 30), "hour"],
    ["hour", Date.UTC(1991, 0, 1), "day"],
    ["day", Date.UTC(1995, 0, 1), "week"],
    ["week", Date.UTC(2020, 0, 1), "month"],
    ["auto", Date.UTC(2000, 0, 1), "week"],
    ["month", Date.UTC(2090, 0, 1), "month"],
  ] as const;
  for (const [asked, to, unit] of table)
    it(`takes ${unit} for ${asked} from 1990 to ${new Date(to).toISOString().slice(0, 10)}`, () =>
      assert.equal(unitFor(asked, { from, to }, zone), unit));
});

describe("cutTime()", () => {
  it("adds the offset to the hours that clocks show twice, east and west of Greenwich", () => {
    const repeated = (name: string, from: number) =>
      cutTime({ from, to: from + 3 * 3_600_000 }, "hour", findZone(name) ?? assert.fail())
        .map(({ label }) => label)
        .filter((label) => /[+-]\d\d:\d\d$/.test(label));
    assert.deepEqual(
      repeated("Europe/Berlin", Date.UTC(2026, 9, 25, 0)).map((label) => label.slice(-6)),
      ["+02:00", "+01:00"],
    );
    assert.deepEqual(
      repeated("America/New_York", Date.UTC(2026, 10, 1, 5)).map((label) => label.slice(-6)),
      ["-04:00", "-05:00"],
    );
  });
});

describe("cutCoverageTime()", () => {
  it("cuts a day and a week into hours, a month into days and a year into weeks", () => {
    const zone = findZone("Europe/Berlin") ?? assert.fail();
    const first = (days: number) => {
      const from = zone.startOf("2026-01-05");
      const buckets = cutCoverageTime({ from, to: from + days * 86_400_000 }, zone);
      return [buckets[0]?.label, buckets.length];
    };
    assert.deepEqual(first(1), ["2026-01-05 00:00", 24]);
    assert.deepEqual(first(7), ["2026-01-05 00:00", 168]);
    assert.deepEqual(first(30), ["2026-01-05", 30]);
    assert.deepEqual(first(364), ["2026-W02", 52]);
  });
});
