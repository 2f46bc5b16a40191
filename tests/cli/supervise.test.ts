import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isAlive } from "../../cli/daemon/daemon-process.ts";
import { supervisorScript } from "../../cli/daemon/spawn-daemon.ts";
import { markStart, relayFile } from "../../cli/daemon/supervision.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS, waitFor } from "../end-to-end/meter-process.rig.ts";
import { runWords } from "./run-command.rig.ts";

const skip =
  onNodeOnly || (process.platform === "win32" ? "Windows has no shell that restarts the daemon" : false);

/** Stands for the program: a daemon that ends with a code, and a relay that notes its process id and its time. */
const program = (relay: string, code: number) => `
case "$*" in
*--relay-only) echo $$ $METER_RELAY_SECONDS >>"$METER_HOME/relays"; ${relay} ;;
*) echo $$ >>"$METER_HOME/daemons"; exit ${code} ;;
esac
`;

describe("supervise.sh in place of a daemon whose proxy keeps crashing, or that can't start", {
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
  function supervise(relay: string, code = 76): void {
    const file = join(home, "program.sh");
    writeFileSync(file, program(relay, code));
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
  const waitForEnd = () =>
    waitFor("the script to end", () => script.exitCode !== null || script.signalCode !== null);
  async function stop(): Promise<void> {
    script.kill("SIGTERM");
    await waitForEnd();
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

  it("starts a relay in place of a daemon that can't start, but ends with one that nothing may replace", async () => {
    supervise("exec sleep 600", 78);
    assert.equal((await startOf(1)).seconds, 60);
    await stop();
    assert.equal(started("daemons").length, 1);
    supervise("exec sleep 600", 1);
    assert.deepEqual(await once(script, "exit"), [1, null]);
    assert.equal(started("relays").length, 1, "the first script's");
  });

  it("ends at meter stop while its relay is dead, or before the next daemon answers", async () => {
    supervise("exec sleep 600");
    const { pid } = await startOf(1);
    const relay = { pid, supervisor: script.pid, proxy_port: 1, crashes: 1, cause: "SIGSEGV" };
    const until = new Date(Date.now() + 60_000).toISOString();
    writeFileSync(relayFile(home), JSON.stringify({ ...relay, until }));
    writeFileSync(join(home, "sleep"), "#!/bin/sh\nexec /bin/sleep 600\n", { mode: 0o755 });
    process.kill(pid, "SIGKILL");
    await waitFor("the relay to end", () => !isAlive(pid));
    const marks = [() => {}, () => markStart(home, { METER_SUPERVISOR: `${script.pid}` })];
    for (const [index, mark] of marks.entries()) {
      mark();
      assert.equal((await runWords(home, ["stop"])).stdout, "Stopped.\n");
      await waitForEnd();
      assert.equal((await runWords(home, ["stop"])).stdout, "The daemon is not running.\n");
      supervise("exec sleep 600");
      await startOf(index + 2);
    }
    markStart(home, { METER_SUPERVISOR: `${process.pid}` });
    assert.equal(
      (await runWords(home, ["stop"])).stdout,
      "The daemon is not running.\n",
      "it is another program",
    );
    await stop();
  });

  it("ends at a SIGTERM at any moment, also just after it started a process", async () => {
    writeFileSync(join(home, "sleep"), "#!/bin/sh\nexec /bin/sleep 600\n", { mode: 0o755 });
    for (let moment = 0; moment < 200; moment += 1) {
      supervise("exec sleep 600");
      await delay(1 + (moment % 50) / 10);
      await stop();
    }
  });

  it("ends with a relay that was asked to end", async () => {
    supervise("exit 0");
    const [code] = await once(script, "exit");
    assert.equal(code, 0);
    assert.equal(hasProcesses(), false);
    assert.equal(started("relays").length, 1);
  });
});
