/**
 * 150 requests of 4 MB at the same time, 600 MB together: the daemon stays within 400 MB, and every call has a row with
 * its tokens.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import {
  createHashingProvider,
  peakResidentMiB,
  sendTogether,
  startMeterFor,
} from "../end-to-end/large-requests.rig.ts";
import { removeHome } from "../end-to-end/meter-process.rig.ts";

const CALLS = 150;
const BODY_BYTES = 4_000_000;
const MOST_MIB = 400_000_000 / 1024 / 1024;

describe("large requests at the same time", {
  timeout: 600_000,
  skip: process.platform === "linux" ? false : "reads a process's memory in Linux's /proc",
}, () => {
  it(`${CALLS} of ${BODY_BYTES} bytes: within 400 MB, exact responses, all rows`, async (test) => {
    const folder = mkdtempSync(join(tmpdir(), "large-requests-"));
    const provider = await createHashingProvider(folder);
    const meter = await startMeterFor(provider);
    try {
      const exact = await sendTogether(meter, provider, CALLS, BODY_BYTES);
      const rows = await meter.waitForRows(CALLS);
      const peak = peakResidentMiB(meter.pid);
      const withoutHash = rows.filter(({ promptHash }) => promptHash === null).length;
      const lost = await meter.counted("lost");
      test.diagnostic(
        JSON.stringify({ exact, rows: rows.length, withoutHash, lost, peakMiB: Math.round(peak) }),
      );
      assert.deepEqual([exact, rows.length], [CALLS, CALLS]);
      assert.ok(rows.every(({ tokens }) => tokens.promptTokens === 100));
      assert.equal(await meter.counted("prompt_not_kept"), withoutHash);
      assert.ok(peak < MOST_MIB, `${Math.round(peak)} MiB`);
    } finally {
      await meter.stop();
      await provider.close();
      removeHome(meter.home);
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
