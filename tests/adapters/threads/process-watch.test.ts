import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { describe, it } from "node:test";
import { watchProcess } from "../../../adapters/threads/process-watch.ts";

const skip = process.platform === "linux" ? false : "/proc is Linux's";

describe("watchProcess()", { skip }, () => {
  it("reports a process as alive while it runs, sleeps or is stopped", async () => {
    const child = spawn("sleep", ["60"]);
    await once(child, "spawn");
    const isAlive = watchProcess(child.pid as number);
    assert.equal(isAlive(), true);
    child.kill("SIGSTOP");
    assert.equal(isAlive(), true);
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.equal(watchProcess(process.pid)(), true);
  });

  it("reports at once that a process was killed, and that it has ended", async () => {
    const child = spawn("sleep", ["60"]);
    await once(child, "spawn");
    const isAlive = watchProcess(child.pid as number);
    child.kill("SIGKILL");
    assert.equal(isAlive(), false);
    await once(child, "exit");
    assert.equal(isAlive(), false);
    assert.equal(watchProcess(child.pid as number)(), false);
  });

  it("reports a process that dies of a signal that it does not handle", async () => {
    const child = spawn("sleep", ["60"]);
    await once(child, "spawn");
    const isAlive = watchProcess(child.pid as number);
    child.kill("SIGSEGV");
    await once(child, "exit");
    assert.equal(isAlive(), false);
  });
});
