import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { isAlive } from "../../cli/daemon/daemon-process.ts";
import { createHome, onNodeOnly, removeHome, startMeter } from "./meter-process.rig.ts";

describe("startMeter()", { skip: onNodeOnly || (process.platform === "win32" && "there is no sh") }, () => {
  it("leaves no daemon behind that did not answer in time", async (test) => {
    const home = createHome([]);
    test.after(() => removeHome(home));
    const words = ["sh", "-c", "echo $$ >pid; exec sleep 1000"];
    // Long enough for a shell to start.
    await assert.rejects(startMeter(home, { words, withinMs: 5_000 }), /timed out waiting for the daemon/);
    assert.equal(isAlive(Number(readFileSync(join(home, "pid"), "utf8"))), false);
  });
});
