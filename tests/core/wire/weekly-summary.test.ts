import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseWire } from "../../../core/wire/parse.ts";
import { weeklySummarySchema } from "../../../core/wire/weekly-summary.ts";

describe("weeklySummarySchema", () => {
  it("says whether the email is sent, and must say so", () => {
    for (const enabled of [true, false])
      assert.deepEqual(parseWire(weeklySummarySchema, { enabled, day: "monday" }), {
        ok: true,
        value: { enabled },
      });
    for (const invalid of [{}, { enabled: null }, { enabled: "yes" }])
      assert.equal(parseWire(weeklySummarySchema, invalid).ok, false, JSON.stringify(invalid));
  });
});
