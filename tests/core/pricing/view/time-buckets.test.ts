import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cutTime, unitFor } from "../../../../core/pricing/view/time-buckets.ts";
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
