import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { stateFile } from "../../../../cli/daemon/daemon-process.ts";
import { memoryLimits } from "../../../../core/operations/install/memory-limits.ts";
import {
  meterRuntime,
  meterWords,
  plainEnvironment,
  waitFor,
} from "../../../end-to-end/meter-process.rig.ts";
import { createEmptyHome } from "../../run-command.rig.ts";

const skip =
  process.platform !== "linux"
    ? "reads the environment of a process from /proc"
    : meterRuntime !== "node" || "Deno" in globalThis || "Bun" in globalThis
      ? "only Node replaces its process"
      : false;

/** Starts `meter start --foreground`, waits until the daemon responds, and returns its state and how it ended. */
async function runForeground(more: Readonly<Record<string, string>>) {
  const { home, remove } = createEmptyHome();
  const unlimited = Object.fromEntries(
    Object.entries(plainEnvironment()).filter(([name]) => !(name in memoryLimits)),
  );
  writeFileSync(join(home, "config.toml"), "[proxy]\nport = 0\n[api]\nport = 0\n");
  const [command = "", ...words] = meterWords;
  const child = spawn(command, [...words, "start", "--foreground"], {
    env: { ...unlimited, METER_HOME: home, ...more },
    stdio: "ignore",
  });
  try {
    await waitFor("the daemon's state file", () => existsSync(stateFile(home)));
    const { pid } = JSON.parse(readFileSync(stateFile(home), "utf8")) as { pid: number };
    const environment = Object.fromEntries(
      readFileSync(`/proc/${child.pid}/environ`, "utf8")
        .split("\0")
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    );
    child.kill("SIGTERM");
    const [exitCode, signal] = await once(child, "exit");
    return { isSameProcess: pid === child.pid, environment, end: [exitCode, signal] };
  } finally {
    child.kill("SIGKILL");
    remove();
  }
}

describe("meter start --foreground", { skip }, () => {
  it("gives itself the memory limits and keeps its process id, signals and exit code", async () => {
    const { isSameProcess, environment, end } = await runForeground({});
    for (const [name, value] of Object.entries(memoryLimits)) assert.equal(environment[name], value, name);
    assert.deepEqual([isSameProcess, end], [true, [0, null]]);
  });

  it("leaves the environment alone if a limit is set already", async () => {
    const { environment, end } = await runForeground({ MALLOC_ARENA_MAX: "0" });
    assert.equal(environment.MALLOC_ARENA_MAX, "0");
    assert.equal(environment.NODE_OPTIONS, undefined);
    assert.deepEqual(end, [0, null]);
  });

  it("leaves the environment alone with socket activation, whose socket would be closed", async () => {
    const { environment } = await runForeground({ LISTEN_FDS: "1", LISTEN_PID: "1" });
    assert.equal(environment.MALLOC_ARENA_MAX, undefined);
  });
});
