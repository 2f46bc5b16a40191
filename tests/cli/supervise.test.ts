import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, it } from "node:test";
import { isAlive } from "../../cli/daemon/daemon-process.ts";
import { supervisorScript } from "../../cli/daemon/spawn-daemon.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS, waitFor } from "../end-to-end/meter-process.rig.ts";

const skip =
  onNodeOnly || (process.platform === "win32" ? "Windows has no shell that restarts the daemon" : false);

/** Stands for the program: a daemon whose proxy kept crashing, and a relay that notes its process id and its time. */
const program = (relay: string) => `
case "$*" in
*--relay-only) echo $$ $METER_RELAY_SECONDS >>"$METER_HOME/relays"; ${relay} ;;
*) echo $$ >>"$METER_HOME/daemons"; exit 76 ;;
esac
`;

describe("supervise.sh in place of a daemon whose proxy keeps crashing", {
  skip,
  timeout: SUITE_TIMEOUT_MS,
}, () => {
  let home: string;
  let script: ChildProcess;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "supervise-"));
  });
  afterEach(() => {
    if (hasProcesses()) process.kill(-Number(script.pid), "SIGKILL");
    rmSync(home, { recursive: true, force: true });
  });

  /** Starts the script in a process group of its own. It finds the program `sleep` in the home first. */
  function supervise(relay: string): void {
    const file = join(home, "program.sh");
    writeFileSync(file, program(relay));
    const env = { ...process.env, METER_HOME: home, PATH: `${home}:${process.env.PATH}` };
    script = spawn("/bin/sh", [supervisorScript, "/bin/sh", file], { detached: true, stdio: "ignore", env });
  }
  /** Returns whether the script or a process that it started is left. */
  function hasProcesses(): boolean {
    try {
      return process.kill(-Number(script.pid), 0);
    } catch {
      return false;
    }
  }
  /** The daemons or relays that were started, the earliest first: process id, and the time of a relay in seconds. */
  const started = (kind: "daemons" | "relays"): number[][] => {
    const file = join(home, kind);
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
    return lines.map((line) => line.split(" ").map(Number));
  };
  const startOf = async (count: number) => {
    const [pid = 0, seconds = 0] = await waitFor(`relay ${count}`, () => started("relays")[count - 1]);
    return { pid, seconds };
  };
  async function stop(): Promise<void> {
    const ended = once(script, "exit");
    script.kill("SIGTERM");
    await ended;
  }

  it("starts a relay again that dies, and ends it at SIGTERM", async () => {
    supervise("exec sleep 600");
    const first = await startOf(1);
    process.kill(first.pid, "SIGKILL");
    const second = await startOf(2);
    process.kill(second.pid, "SIGSEGV");
    const third = await startOf(3);
    assert.equal(first.seconds, 60);
    assert.ok(
      second.seconds < first.seconds && third.seconds < second.seconds,
      "it has the time that is left",
    );
    assert.equal(started("daemons").length, 1, "the daemon is not tried again before its time");
    await stop();
    assert.equal(hasProcesses(), false);
  });

  it("starts a relay again that dies at its start, until SIGTERM", async () => {
    supervise("exit 1");
    await startOf(2);
    await stop();
    assert.equal(hasProcesses(), false);
    assert.equal(started("daemons").length, 1);
  });

  it("tries the daemon again after a minute, and replaces it for twice as long if that fails", async () => {
    writeFileSync(join(home, "sleep"), "#!/bin/sh\nexec /bin/sleep 0.01\n", { mode: 0o755 });
    supervise("exec /bin/sleep 600");
    const first = await startOf(1);
    const second = await startOf(2);
    assert.ok(started("daemons").length >= 2);
    assert.deepEqual([first.seconds, second.seconds], [60, 120]);
    await waitFor("the first relay to end", () => !isAlive(first.pid));
    await stop();
    assert.equal(hasProcesses(), false);
  });

  it("ends with a relay that was asked to end", async () => {
    supervise("exit 0");
    const [code] = await once(script, "exit");
    assert.equal(code, 0);
    assert.equal(hasProcesses(), false);
    assert.equal(started("relays").length, 1);
  });
});
