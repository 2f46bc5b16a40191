import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  addDays,
  daysBetween,
  findZone,
  monthOf,
  weekdayOf,
  type ZoneCalendar,
} from "../../../core/values/zone.ts";

const zoneOf = (name: string): ZoneCalendar => {
  const zone = findZone(name);
  assert.ok(zone !== null, name);
  return zone;
};

const hours = (zone: ZoneCalendar, date: string) =>
  (zone.startOf(addDays(date, 1)) - zone.startOf(date)) / 3_600_000;

const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/Sao_Paulo",
  "Asia/Kolkata",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Africa/Cairo",
  "America/Havana",
] as const;

describe("findZone()", () => {
  it("knows the zones of the runtime only", () => {
    assert.equal(findZone("Mars/Olympus"), null);
    assert.equal(findZone(""), null);
    assert.equal(zoneOf("Europe/Berlin").name, "Europe/Berlin");
  });

  it("has days of 23 and 25 hours when clocks change", () => {
    const berlin = zoneOf("Europe/Berlin");
    assert.equal(hours(berlin, "2026-03-29"), 23);
    assert.equal(hours(berlin, "2026-10-25"), 25);
    assert.equal(hours(berlin, "2026-10-26"), 24);
    assert.equal(hours(zoneOf("Australia/Lord_Howe"), "2026-04-05"), 24.5);
  });

  it("begins a day after the midnight that clocks skip, and at the first of two midnights", () => {
    // Cairo, 24 April 2026: 00:00 becomes 01:00. Havana, 1 November 2026: 01:00 becomes 00:00.
    assert.equal(zoneOf("Africa/Cairo").startOf("2026-04-24"), Date.UTC(2026, 3, 23, 22));
    assert.equal(zoneOf("America/Havana").startOf("2026-11-01"), Date.UTC(2026, 10, 1, 4));
    assert.equal(hours(zoneOf("America/Havana"), "2026-11-01"), 25);
  });

  it("gives a day that the calendar left out no length", () => {
    assert.equal(hours(zoneOf("Pacific/Apia"), "2011-12-30"), 0);
  });

  it("puts each instant into exactly one day", () => {
    const instant = fc.integer({ min: Date.UTC(1972, 0, 1), max: Date.UTC(2037, 0, 1) });
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), instant, (name, at) => {
        const zone = zoneOf(name);
        const date = zone.dateAt(at);
        assert.ok(zone.startOf(date) <= at, `${name} ${new Date(at).toISOString()} ${date}`);
        assert.ok(at < zone.startOf(addDays(date, 1)), `${name} ${new Date(at).toISOString()} ${date}`);
      }),
    );
  });
});

describe("dates", () => {
  it("count across months, years and leap days", () => {
    assert.equal(addDays("2024-02-28", 2), "2024-03-01");
    assert.equal(addDays("2026-01-01", -1), "2025-12-31");
    assert.equal(daysBetween("2026-10-25", "2026-11-23"), 29);
    assert.equal(weekdayOf("2026-11-23"), 0);
    assert.equal(monthOf("2026-01-31", -1), "2025-12-01");
    assert.equal(monthOf("2026-11-23"), "2026-11-01");
  });
});
