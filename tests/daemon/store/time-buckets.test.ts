import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { TIME_UNITS, type TimeUnit } from "../../../daemon/store/port/reports.ts";
import { bucketOf } from "../../../daemon/store/time-buckets.ts";
import { inZone } from "./in-zone.rig.ts";

/** Runs work in a time zone. */
describe("bucketOf()", () => {
  const table: [at: string, unit: TimeUnit, key: string, from: string, to: string][] = [
    ["2026-11-23T06:59:59.999Z", "hour", "2026-11-23T06:00Z", "2026-11-23T06:00Z", "2026-11-23T07:00Z"],
    ["2026-11-23T06:59Z", "day", "2026-11-23", "2026-11-23T00:00Z", "2026-11-24T00:00Z"],
    // A Monday, and the Sunday before.
    ["2026-11-23T00:00Z", "week", "2026-W48", "2026-11-23T00:00Z", "2026-11-30T00:00Z"],
    ["2026-11-22T23:59Z", "week", "2026-W47", "2026-11-16T00:00Z", "2026-11-23T00:00Z"],
    // The first days of 2027 belong to the last week of 2026, and the last days of 2024 to the first of 2025.
    ["2027-01-03T12:00Z", "week", "2026-W53", "2026-12-28T00:00Z", "2027-01-04T00:00Z"],
    ["2024-12-30T12:00Z", "week", "2025-W01", "2024-12-30T00:00Z", "2025-01-06T00:00Z"],
    ["2026-02-28T12:00Z", "month", "2026-02", "2026-02-01T00:00Z", "2026-03-01T00:00Z"],
    ["2026-12-31T12:00Z", "month", "2026-12", "2026-12-01T00:00Z", "2027-01-01T00:00Z"],
  ];
  for (const [at, unit, key, from, to] of table)
    it(`names the ${unit} of ${at} ${key}`, () =>
      assert.deepEqual(bucketOf(Date.parse(at), unit, "utc"), {
        key,
        from: Date.parse(from),
        to: Date.parse(to),
      }));

  const skip = "Deno" in globalThis ? "Deno reads the time zone once, when it starts" : false;

  it("distinguishes the two hours that have the same local time", { skip }, () =>
    inZone("Europe/Berlin", () => {
      const keys = ["2026-10-25T00:30Z", "2026-10-25T01:30Z"].map(
        (at) => bucketOf(Date.parse(at), "hour", "local").key,
      );
      assert.deepEqual(keys, ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00"]);
    }),
  );

  for (const zone of ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Pacific/Apia"])
    it(`divides time without gaps in ${zone}`, { skip }, () =>
      inZone(zone, () => {
        const at = fc.integer({ min: Date.UTC(2011, 0), max: Date.UTC(2031, 0) });
        fc.assert(
          fc.property(at, fc.constantFrom(...TIME_UNITS), (instant, unit) => {
            const bucket = bucketOf(instant, unit, "local");
            assert.ok(bucket.from <= instant && instant < bucket.to);
            assert.deepEqual(bucketOf(bucket.from, unit, "local"), bucket);
            assert.deepEqual(bucketOf(bucket.to - 1, unit, "local"), bucket);
            assert.notEqual(bucketOf(bucket.to, unit, "local").key, bucket.key);
          }),
        );
      }),
    );
});
