import assert from "node:assert/strict";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { readPeriod } from "../../../cli/program/period.ts";

const now = Date.UTC(2026, 10, 21, 13, 30);
const none = { since: undefined, from: undefined, to: undefined };
const read = (words: object, utc = true) => {
  const { from, to } = readPeriod({ ...none, ...words }, now, utc);
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString().replace(".000Z", "Z"));
  return [iso(from), iso(to)];
};

describe("readPeriod()", () => {
  const table: [object, from: string | null, to: string | null][] = [
    [{}, null, null],
    [{ since: "90m" }, "2026-11-21T12:00:00Z", null],
    [{ since: "24h" }, "2026-11-20T13:30:00Z", null],
    [{ since: "7d" }, "2026-11-14T13:30:00Z", null],
    [{ since: "4w" }, "2026-10-24T13:30:00Z", null],
    [{ since: "today" }, "2026-11-21T00:00:00Z", null],
    [{ since: "yesterday" }, "2026-11-20T00:00:00Z", null],
    [{ since: "2026-11-01" }, "2026-11-01T00:00:00Z", null],
    [{ from: "today" }, "2026-11-21T00:00:00Z", null],
    [{ from: "2026-11-01T15:00:00+01:00" }, "2026-11-01T14:00:00Z", null],
    [{ from: "2026-11-01", to: "2026-11-30" }, "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"],
    [{ from: "2026-11-01", to: "2026-11-01" }, "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"],
    [{ to: "2024-02-29" }, null, "2024-03-01T00:00:00Z"],
    [{ to: "2026-11-30T12:00:00Z" }, null, "2026-11-30T12:00:00Z"],
    [{ since: "7d", to: "2026-11-20" }, "2026-11-14T13:30:00Z", "2026-11-21T00:00:00Z"],
  ];
  for (const [words, from, to] of table) {
    it(`reads ${JSON.stringify(words)}`, () => assert.deepEqual(read(words), [from, to]));
  }

  const wrong: [object, RegExp][] = [
    [{ since: "7d", from: "2026-11-01" }, /--since and --from can't be combined/],
    [{ from: "2026-11-02", to: "2026-11-01" }, /ends before it begins/],
    [{ from: "2026-11-01T10:00:00Z", to: "2026-11-01T10:00:00Z" }, /ends before it begins/],
    [{ since: "7x" }, /Invalid date: 7x\. Expected: 2026-11-21/],
    [{ since: "" }, /Invalid date/],
    [{ since: "-1d" }, /Invalid date/],
    [{ since: "123456d" }, /Invalid date/],
    [{ from: "7d" }, /Invalid date: 7d/],
    [{ from: "2026-02-30" }, /Invalid date/],
    [{ from: "2026-02-30T10:00:00Z" }, /Invalid date: 2026-02-30T10:00:00Z/],
    [{ from: "2026-13-01" }, /Invalid date/],
    [{ to: "2026-11-1" }, /Invalid date/],
    [{ to: "today" }, /Invalid date/],
    [{ from: "2026-11-01Tnoon" }, /Invalid date/],
  ];
  for (const [words, message] of wrong) {
    it(`refuses ${JSON.stringify(words)}`, () => assert.throws(() => read(words), message));
  }
});

describe("readPeriod() in local time", {
  skip: "Deno" in globalThis ? "Deno reads the time zone once, when it starts" : false,
}, () => {
  const { TZ } = process.env;
  before(() => {
    process.env.TZ = "America/New_York";
  });
  after(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });

  const table: [object, from: string | null, to: string | null][] = [
    [{ since: "today" }, "2026-11-21T05:00:00Z", null],
    [{ since: "yesterday" }, "2026-11-20T05:00:00Z", null],
    // On 1 November 2026 the clocks go back: that day has 25 hours.
    [{ from: "2026-11-01", to: "2026-11-01" }, "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"],
    // On 8 March they go forward: 23 hours.
    [{ from: "2026-03-08", to: "2026-03-08" }, "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"],
    [{ since: "24h" }, "2026-11-20T13:30:00Z", null],
    [{ from: "2026-11-01T00:00:00Z" }, "2026-11-01T00:00:00Z", null],
    [{ from: "2026-11-20T09:00" }, "2026-11-20T14:00:00Z", null],
  ];
  for (const [words, from, to] of table) {
    it(`reads ${JSON.stringify(words)}`, () => assert.deepEqual(read(words, false), [from, to]));
  }
  it("reads times without an offset in UTC with --utc", () =>
    assert.deepEqual(read({ from: "2026-11-20T09:00", to: "2026-11-20T12:00+0200" }, true), [
      "2026-11-20T09:00:00Z",
      "2026-11-20T10:00:00Z",
    ]));

  it("uses UTC days with --utc", () => {
    assert.deepEqual(read({ since: "today" }, true), ["2026-11-21T00:00:00Z", null]);
  });
});
