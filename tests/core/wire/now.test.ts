import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { workspaceNowSchema } from "../../../core/wire/now.ts";
import { parseWire } from "../../../core/wire/parse.ts";

describe("workspaceNowSchema", () => {
  const sums = {
    ...{ requests: 2, spent_pico_usd: "3", plan_usage_pico_usd: "0" },
    unknown_billing_pico_usd: "99999999999999999999",
  };
  const now = {
    ...{ tz: "UTC", today: sums, last_hour: sums },
    minutes: [{ at: "2026-11-27T09:00:00.000Z", ...sums }],
    coverage: { metered: 1, seen: 2, permille: 500, unknown_machines: 0 },
  };

  it("parses what was printed", () => {
    assert.deepEqual(parseWire(workspaceNowSchema, JSON.parse(JSON.stringify(now))), {
      ok: true,
      value: now,
    });
  });

  it("rejects a cost that is not a decimal integer", () => {
    for (const cost of ["1.5", "", 3, null])
      assert.ok(!parseWire(workspaceNowSchema, { ...now, today: { ...sums, spent_pico_usd: cost } }).ok);
  });
});
