import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, it } from "node:test";
import { watchProcess } from "../../../../adapters/threads/process-watch.ts";
import { endOrphanedRelay } from "../../../../cli/commands/start/orphaned-relay.ts";
import { isAlive, type RunningDaemon, stateFile } from "../../../../cli/daemon/daemon-process.ts";
import {
  createHome,
  onNodeOnly,
  removeHome,
  runMeter,
  SUITE_TIMEOUT_MS,
  startMeter,
  waitFor,
} from "../../../end-to-end/meter-process.rig.ts";
import { findRelay } from "../../../end-to-end/relay-process.rig.ts";
import { runWords } from "../../run-command.rig.ts";

/** Returns a port that was free a moment ago. */
async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe("a relay that hangs while its daemon is killed", {
  skip: onNodeOnly || (process.platform !== "linux" && "the relay is a thread"),
  timeout: SUITE_TIMEOUT_MS,
}, () => {
  let home = "";
  afterEach(async () => {
    await runWords(home, ["stop"]);
    removeHome(home);
  });

  /** Kills the daemon of the home while its relay hangs. Returns whether the relay is alive. */
  async function killDaemonOfHangingRelay(pid: number): Promise<() => boolean> {
    const relay = await waitFor("the relay's process", () => findRelay(pid));
    // A killed process remains as a zombie if nothing reaps it.
    const isRelayAlive = watchProcess(relay);
    process.kill(relay, "SIGSTOP");
    process.kill(pid, "SIGKILL");
    await waitFor("the daemon to end", () => !isAlive(pid));
    assert.equal(isRelayAlive(), true, "it hangs");
    return isRelayAlive;
  }

  it("is ended by the next daemon, which takes its port", async () => {
    const port = await findFreePort();
    home = createHome(["[proxy]", `port = ${port}`, "[api]", "port = 0"]);
    const first = await startMeter(home);
    const isRelayAlive = await killDaemonOfHangingRelay(first.pid);
    const second = await startMeter(home);
    assert.equal(second.proxyPort, port);
    assert.equal(isRelayAlive(), false);
    const { stderr } = await second.stop();
    assert.match(stderr, /^meter: The relay of a daemon that was killed did not respond\. It was ended\.$/m);
  });

  it("is ended soon after the next daemon started if that has the same socket", async () => {
    home = createHome(["[proxy]", "port = 0", "[api]", "port = 0"]);
    const started = await runMeter(home, ["start"], { env: { HOME: home } });
    assert.equal(started.code, 0, started.stderr);
    const readPid = () => (JSON.parse(readFileSync(stateFile(home), "utf8")) as RunningDaemon).pid;
    const pid = readPid();
    const isRelayAlive = await killDaemonOfHangingRelay(pid);
    await waitFor("the relay to end", () => !isRelayAlive());
    // `meter stop` finds the next daemon only now.
    await waitFor("the next daemon", () => existsSync(stateFile(home)) && readPid() !== pid);
  });
});

describe("endOrphanedRelay()", { skip: process.platform !== "linux" && "reads /proc" }, () => {
  /** Runs with a process table in which `pid` is a relay that listens on port 8081, and whose daemon was process 7. */
  async function endRelay(pid: number, { parent, namespace }: { parent: number | null; namespace: string }) {
    const proc = mkdtempSync(join(tmpdir(), "meter-proc-"));
    try {
      for (const folder of ["net", "self/ns", `${pid}/fd`, `${pid}/ns`])
        mkdirSync(join(proc, folder), { recursive: true });
      writeFileSync(
        join(proc, "net/tcp"),
        "  sl  head\n   0: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 42 1 0\n",
      );
      symlinkSync("socket:[42]", join(proc, `${pid}/fd/3`));
      symlinkSync("pid:[1]", join(proc, "self/ns/pid"));
      symlinkSync(namespace, join(proc, `${pid}/ns/pid`));
      const data = JSON.stringify({ readSystemRoots: false, memory: { files: [3, 4, 5], daemonPid: 7 } });
      writeFileSync(join(proc, `${pid}/cmdline`), ["node", "/x/proxy-worker.js", data, ""].join("\0"));
      if (parent !== null) writeFileSync(join(proc, `${pid}/stat`), `${pid} (node) S ${parent} 1 1 0`);
      return await endOrphanedRelay(0x1f91, proc);
    } finally {
      rmSync(proc, { recursive: true, force: true });
    }
  }

  it("kills the relay whose parent is no longer its daemon, and no other process", async () => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1_000)"]);
    const exited = once(child, "exit");
    await once(child, "spawn");
    const pid = child.pid as number;
    try {
      assert.equal(await endRelay(pid, { parent: 7, namespace: "pid:[1]" }), false, "its daemon lives");
      assert.equal(await endRelay(pid, { parent: 1_007, namespace: "pid:[2]" }), false, "in a container");
      assert.equal(await endRelay(pid, { parent: null, namespace: "pid:[1]" }), false, "it has ended");
      assert.equal(child.signalCode, null);
      assert.equal(await endRelay(pid, { parent: 1, namespace: "pid:[1]" }), true);
      await exited;
      assert.equal(child.signalCode, "SIGKILL");
      // Its process id is free now.
      assert.equal(await endRelay(pid, { parent: 1, namespace: "pid:[1]" }), true);
    } finally {
      child.kill("SIGKILL");
    }
  });
});
