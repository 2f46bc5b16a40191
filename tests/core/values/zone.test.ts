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
    // Names come from requests. A name that is too long is not looked up, and not cached.
    assert.equal(findZone("x".repeat(1_000_000)), null);
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

  it("counts an evening that clocks repeat after midnight as part of the new day", () => {
    // 7 November 2010: 00:01 became 23:01.
    const stJohns = zoneOf("America/St_Johns");
    const midnight = Date.UTC(2010, 10, 7, 2, 30);
    assert.equal(stJohns.startOf("2010-11-07"), midnight);
    assert.equal(stJohns.dateAt(midnight - 1), "2010-11-06");
    assert.equal(stJohns.dateAt(midnight + 30 * 60_000), "2010-11-07");
    assert.equal(hours(stJohns, "2010-11-07"), 25);
  });

  it("reads offsets of half an hour and of seconds, ahead of UTC and behind it", () => {
    const minute = 60_000;
    assert.equal(zoneOf("UTC").offsetAt(0), 0);
    assert.equal(zoneOf("Asia/Kathmandu").offsetAt(Date.UTC(2026, 0)), 345 * minute);
    assert.equal(zoneOf("America/St_Johns").offsetAt(Date.UTC(2026, 0)), -210 * minute);
    // Liberia was 44 minutes and 30 seconds behind until 1972.
    assert.equal(zoneOf("Africa/Monrovia").offsetAt(Date.UTC(1971, 0)), -44.5 * minute);
  });

  it("gives the same answers when it has forgotten the earlier ones", () => {
    const berlin = zoneOf("Europe/Berlin");
    const before = hours(berlin, "2026-03-29");
    // 60 years have more midnights than the cache holds.
    for (let day = 0; day < 60 * 366; day += 1) berlin.offsetAt(day * 86_400_000);
    assert.equal(hours(berlin, "2026-03-29"), before);
    assert.equal(berlin.dateAt(Date.UTC(2026, 2, 28, 23)), "2026-03-29");
  });

  it("gives a day that the calendar skipped a length of 0", () => {
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
