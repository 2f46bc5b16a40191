import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ReportGrouping } from "../../../daemon/store/port/reports.ts";
import { sumRows } from "../../../daemon/store/report-rows.ts";
import { withStore } from "./open-sample-store.rig.ts";
import { sampleRecord } from "./sample-records.rig.ts";

describe("sumRows()", () => {
  it("returns the total of a report by any dimension", () =>
    withStore(async (store) => {
      const modes = ["metered", "plan", "credits", "free", "unknown", null] as const;
      store.records.insert(
        modes.flatMap((billingMode, n) => [
          sampleRecord({ billingMode, project: `p${n % 2}`, costPicoUsd: 10n ** BigInt(n + 12) }),
          sampleRecord({ billingMode, client: null, costPicoUsd: null, costSource: "unpriced" }),
          sampleRecord({
            billingMode,
            errorClass: "timeout",
            tokensComplete: false,
            costSource: "estimated",
          }),
        ]),
      );
      const read = (by: ReportGrouping) => store.reports.read({ by, from: null, to: null });
      const [total] = await read("total");
      for (const by of ["project", "client", "billing", "hour", "month"] as const)
        assert.deepEqual(sumRows(await read(by)), total, by);
    }));
});
