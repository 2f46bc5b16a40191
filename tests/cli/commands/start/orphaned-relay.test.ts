import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import process from "node:process";
import { afterEach, describe, it } from "node:test";
import { watchProcess } from "../../../../adapters/threads/process-watch.ts";
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
    const { pid } = JSON.parse(readFileSync(stateFile(home), "utf8")) as RunningDaemon;
    const isRelayAlive = await killDaemonOfHangingRelay(pid);
    await waitFor("the relay to end", () => !isRelayAlive());
  });
});
