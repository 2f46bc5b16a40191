import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { onNodeOnly, runProgram } from "../end-to-end/meter-process.rig.ts";

const module = fileURLToPath(new URL("../../tools/memory-folder.ts", import.meta.url));

const script = `
  import { statSync } from "node:fs";
  import { createMemoryFolder } from ${JSON.stringify(module)};
  const folder = createMemoryFolder();
  console.log(JSON.stringify({ folder, mode: folder === null ? null : statSync(folder).mode & 0o7777 }));`;

const skip = onNodeOnly || (existsSync("/dev/shm") ? false : "there is no folder in memory");

describe("createMemoryFolder()", { skip }, () => {
  it("creates a folder for all users, removes it at the end, and removes those of killed runs", async (test) => {
    // A number that no process has.
    const killed = "/dev/shm/meter-tests-99999999";
    mkdirSync(killed, { recursive: true });
    const { stdout, stderr } = await runProgram([process.execPath, "--input-type=module", "-e", script]);
    assert.equal(stderr, "");
    assert.equal(existsSync(killed), false);
    const { folder, mode } = JSON.parse(stdout) as { folder: string | null; mode: number };
    if (folder === null) return test.skip("too little memory, or no programs can be run from it");
    assert.equal(mode, 0o1777);
    assert.equal(existsSync(folder), false);
  });
});
