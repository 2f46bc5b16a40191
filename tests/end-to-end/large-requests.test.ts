import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { MAX_HELD_BODY_BYTES } from "../../daemon/capture/byte-budget.ts";
import { createHashingProvider, sendTogether, startMeterFor } from "./large-requests.rig.ts";
import { onNodeOnly, removeHome, SUITE_TIMEOUT_MS } from "./meter-process.rig.ts";

const CALLS = 30;
const BODY_BYTES = 4_000_000;

describe("large requests at the same time", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  it("pass unchanged and are recorded; a prompt that does not fit into memory has no hash and is counted in status", async () => {
    const folder = mkdtempSync(join(tmpdir(), "large-requests-"));
    const provider = await createHashingProvider(folder);
    const meter = await startMeterFor(provider);
    try {
      assert.equal(await sendTogether(meter, provider, CALLS, BODY_BYTES), CALLS);
      const rows = await meter.waitForRows(CALLS);
      assert.deepEqual(
        [...new Set(rows.map((row) => `${row.requestedModel} ${row.tokens.promptTokens} ${row.errorClass}`))],
        ["claude-haiku-4-5 100 null"],
      );
      const withoutHash = rows.filter(({ promptHash }) => promptHash === null).length;
      assert.ok(withoutHash >= CALLS - MAX_HELD_BODY_BYTES / BODY_BYTES, `${withoutHash} have no hash`);
      assert.ok(withoutHash < CALLS);
      assert.equal(await meter.counted("prompt_not_kept"), withoutHash);
      const { stdout } = await meter.run(["status"]);
      assert.match(stdout, new RegExp(`of those metered: ${withoutHash} without a prompt hash`));
    } finally {
      await meter.stop();
      await provider.close();
      removeHome(meter.home);
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
