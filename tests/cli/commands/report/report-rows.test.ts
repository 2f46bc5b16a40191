import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { noon, sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../../run-command.rig.ts";

describe("meter report, of many projects", () => {
  it("limits neither its rows nor the requests that it sums up", async () => {
    const many = await createSampleHome((store) => {
      const records = Array.from({ length: 2_500 }, (_, n) =>
        sampleRecord({ requestedAt: noon + n, project: `p${n % 1_250}`, costPicoUsd: 1n }),
      );
      store.insertBatch({ records, bodies: [], coverage: [] });
    });
    const [table, json, csv] = await Promise.all(
      [[], ["--json"], ["--csv"]].map((words) => runWords(many.home, ["report", ...words])),
    );
    many.remove();
    const { rows } = JSON.parse(json?.stdout ?? "") as { rows: { requests: number }[] };
    assert.deepEqual([rows.length, rows.every(({ requests }) => requests === 2)], [1_250, true]);
    assert.equal(csv?.stdout.trimEnd().split("\r\n").length, 1 + 1_250);
    assert.equal(table?.stdout.match(/^p\d+ /gm)?.length, 1_250);
    assert.match(table?.stdout ?? "", /^total +2,500 /m);
  });
});
