import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isWhole, runChaos } from "../chaos/chaos-sync.ts";
import { missingPostgres } from "../cloud/kit/postgres-server.ts";
import { onNodeOnly } from "./meter-process.rig.ts";

const missing = missingPostgres();
const skip = onNodeOnly || (missing === null ? false : `NOT TESTED: ${missing}`);

describe("daemon, cloud and PostgreSQL killed while traffic flows", { skip, timeout: 300_000 }, () => {
  it("leave every captured request in the cloud exactly once", async (context) => {
    const result = await runChaos({ rounds: 10, seed: "ten rounds" }, (line) => context.diagnostic(line));
    assert.ok(isWhole(result), JSON.stringify(result));
    assert.ok(result.kills.daemon > 0 && result.kills.cloud > 0 && result.kills.postgres > 0);
  });
});
