import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { runCommand } from "../../tools/run-command.ts";
import { onNodeOnly, waitFor } from "../end-to-end/meter-process.rig.ts";

describe("runCommand()", { skip: onNodeOnly }, () => {
  let folder = "";
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "meter-run-command-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("returns the exit code or signal of the command", async () => {
    assert.equal((await runCommand("true", 60_000)).ok, true);
    const failed = await runCommand("exit 3", 60_000);
    assert.deepEqual([failed.ok, failed.reason], [false, "exit code 3"]);
  });

  it("passes variables to the command", async () => {
    assert.equal((await runCommand('test "$WORD" = word', 60_000, { WORD: "word" })).ok, true);
  });

  // Planted: the shell alone killed; both sleeping processes survived it.
  it("kills the command and all processes that it started once the limit is over", async () => {
    const pids = join(folder, "pids");
    const command = `sleep 300 & echo $! >> ${pids}; setsid sleep 300 & echo $! >> ${pids}; wait`;
    const limit = new AbortController();
    const running = runCommand(command, 300_000, {}, limit.signal);
    const started = await waitFor("both processes", () => readPids(pids).length === 2 && readPids(pids));
    limit.abort();
    const { ok, reason } = await running;
    assert.deepEqual([ok, reason], [false, "stopped after its limit of 5 minutes"]);
    for (const pid of started) await waitFor(`the end of ${pid}`, () => !isRunning(pid));
  });

  it("kills what the command leaves in its process group", async () => {
    const pids = join(folder, "left");
    assert.equal((await runCommand(`sleep 300 & echo $! >> ${pids}`, 60_000)).ok, true);
    for (const pid of readPids(pids)) await waitFor(`the end of ${pid}`, () => !isRunning(pid));
    assert.equal(readPids(pids).length, 1);
  });
});

const readPids = (file: string) =>
  existsSync(file) ? (readFileSync(file, "utf8").match(/\d+(?=\n)/g) ?? []).map(Number) : [];

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
