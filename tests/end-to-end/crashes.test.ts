import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isAlive, type RunningDaemon, stateFile } from "../../cli/daemon/daemon-process.ts";
import { relayFile, type UnmeteredRelay } from "../../cli/daemon/supervision.ts";
import { createCaller } from "../chaos/caller.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import {
  createHome,
  freePort,
  onNodeOnly,
  readStore,
  removeHome,
  runMeter,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  waitFor,
} from "./meter-process.rig.ts";
import { askForTunnel, dialProvider, type RawCall, rawCalls, writeRequest } from "./raw-client.rig.ts";
import { findRelay } from "./relay-process.rig.ts";
import { useSimulation } from "./simulated-meter.rig.ts";

const skip =
  onNodeOnly || (process.platform === "win32" ? "Windows has no shell that restarts the daemon" : false);
const random = createSeededRandom("crashes");

/** More calls than the relay announces while the daemon reads none. */
const CALLS_BEHIND = 20;

/** Longer than a response takes that comes in pieces. */
const DRIP_MS = 2_000;

describe("a daemon that crashes in native code", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  const rig = useSimulation("crashes");
  let home: string;
  const running = () => JSON.parse(readFileSync(stateFile(home), "utf8")) as RunningDaemon;
  const caPem = () => readFileSync(join(home, "ca", "ca.pem"), "utf8");
  const relay = () => JSON.parse(readFileSync(relayFile(home), "utf8")) as UnmeteredRelay;
  /** The process that starts the daemon again. */
  const supervisorOf = (pid: number) =>
    Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

  before(async () => {
    const ports = { proxy: await freePort(), api: await freePort() };
    home = createHome(simulationConfig(rig.parent, rig.simulation, [], ports));
    assert.equal((await runMeter(home, ["start"])).code, 0);
  });
  after(async () => {
    await runMeter(home, ["stop"]);
    removeHome(home);
  });

  const open = (host: string) => dialProvider({ proxyPort: running().proxy_port, caPem: caPem() }, host);
  /** Makes a call on a connection of its own, and waits for its response. */
  async function call(): Promise<void> {
    const wanted = rawCalls.anthropic?.("ok", false) as RawCall;
    const socket = await open(wanted.host);
    socket.resume().write(writeRequest(wanted, true, random));
    await once(socket, "close");
  }
  const rows = () =>
    readStore(home, (store) => store.records.read({ from: null, to: null, afterSeq: 0, limit: 1e6 }));
  const unfinished = () =>
    readStore(home, (store) =>
      store.coverage
        .read({ from: null, to: null })
        .filter(({ kind }) => kind === "unfinished")
        .reduce((sum, { count }) => sum + count, 0),
    );

  /** Ends the daemon by a signal. Returns once another one has announced itself. */
  async function crash(signal: NodeJS.Signals): Promise<void> {
    const { pid } = running();
    process.kill(pid, signal);
    await waitFor("another daemon", () => existsSync(stateFile(home)) && running().pid !== pid);
  }

  for (const signal of ["SIGSEGV", "SIGABRT"] as const) {
    it(`is started again after ${signal}, refuses no call, and says what happened`, async () => {
      const [stored, left] = [(await rows()).length, await unfinished()];
      const silent = rawCalls.anthropic?.("silence", true) as RawCall;
      const inFlight = await open(silent.host);
      inFlight.on("error", () => {}).resume();
      inFlight.write(writeRequest(silent, true, random));
      await waitFor("the call to be counted", async () => (await unfinished()) === left + 1);
      const ended = once(inFlight, "close");
      const { proxy_port: port } = running();
      const restarted = crash(signal);
      await ended;
      // The daemon is gone, and its socket still accepts connections.
      await Promise.all([call(), call(), call()]);
      await restarted;
      assert.equal(running().proxy_port, port);
      await waitFor("the calls to be stored", async () => (await rows()).length === stored + 3);
      assert.equal(await unfinished(), left + 1, "the call in flight is stated");
      const { stdout } = await runMeter(home, ["status"]);
      assert.match(stdout, /^Metering\.\n/);
      assert.match(
        stdout,
        new RegExp(`\nwarning +The daemon crashed \\(${signal}\\) at 20[^ ]+Z and was started`),
      );
    });
  }

  it("starts its relay again after SIGSEGV, has a record of each finished call, and says what happened", async () => {
    const { pid } = running();
    const stored = (await rows()).length;
    const silent = rawCalls.anthropic?.("silence", true) as RawCall;
    const inFlight = await open(silent.host);
    inFlight.on("error", () => {}).resume();
    inFlight.write(writeRequest(silent, true, random));
    await call();
    const ended = once(inFlight, "close");
    process.kill(await waitFor("the relay's process", () => findRelay(pid)), "SIGSEGV");
    await ended;
    // The relay is gone, and its socket still accepts connections.
    await Promise.all([call(), call()]);
    assert.equal(running().pid, pid, "the daemon is the same process");
    const found = await waitFor("the calls to be stored", async () => {
      const now = await rows();
      return now.length === stored + 4 && now;
    });
    const cut = found.filter(({ errorClass }) => errorClass !== null);
    assert.equal(cut.length, 1, "the call in flight has a record of its own");
    const { stdout } = await runMeter(home, ["status"]);
    assert.match(stdout, /^Metering\.\n/);
    assert.match(stdout, /\nwarning +The proxy crashed \(SIGSEGV\) at 20[^ ]+Z and was started again\./);
  });

  it("has a record of each call that its relay finished before a crash while the daemon was behind", async () => {
    const { pid } = running();
    const stored = (await rows()).length;
    const relayed = await waitFor("the relay's process", () => findRelay(pid));
    const meter = { proxyPort: running().proxy_port, caPem: caPem() };
    // None of its calls is the last of its connection: the daemon looks up the caller of a new one.
    const caller = createCaller(() => meter, { ...random, integer: () => 1 });
    const wanted = rawCalls.anthropic?.("ok", false) as RawCall;
    await caller.call(wanted, "behind");
    process.kill(pid, "SIGSTOP");
    for (let each = 0; each < CALLS_BEHIND; each += 1) await caller.call(wanted, "behind");
    process.kill(relayed, "SIGSEGV");
    process.kill(pid, "SIGCONT");
    caller.close();
    await waitFor("the calls to be stored", async () => (await rows()).length === stored + 1 + CALLS_BEHIND);
    await call();
    assert.equal(running().pid, pid, "the daemon is the same process");
    await waitFor("the next call", async () => (await rows()).length === stored + 2 + CALLS_BEHIND);
  });

  it("finishes no call by its relay once it has ended", async () => {
    const { pid } = running();
    const relayed = await waitFor("the relay's process", () => findRelay(pid));
    const dripping = rawCalls.anthropic?.("drip+events-400", true) as RawCall;
    const inFlight = await open(dripping.host);
    const received: Buffer[] = [];
    inFlight.on("error", () => {}).on("data", (bytes: Buffer) => received.push(bytes));
    inFlight.write(writeRequest(dripping, true, random));
    await waitFor("the response's beginning", () => received.length > 0);
    process.kill(relayed, "SIGSTOP");
    // The rest of the response waits in the socket of the relay when that continues.
    await delay(DRIP_MS);
    process.kill(pid, "SIGKILL");
    await waitFor("the daemon to end", () => !isAlive(pid));
    const sofar = received.length;
    const ended = once(inFlight, "close");
    process.kill(relayed, "SIGCONT");
    await ended;
    assert.equal(received.length, sofar);
    assert.equal(Buffer.concat(received).includes("message_stop"), false);
    await waitFor("the relay to end", () => !isAlive(relayed));
    await waitFor("another daemon", () => existsSync(stateFile(home)) && running().pid !== pid);
  });

  it("is replaced by a relay without metering if its own relay keeps crashing", async () => {
    for (let crashed = 0; !existsSync(relayFile(home)); ) {
      const relayed = existsSync(stateFile(home)) ? findRelay(running().pid) : null;
      if (relayed !== null && relayed !== crashed) process.kill((crashed = relayed), "SIGSEGV");
      await delay(20);
    }
    const { head, socket } = await askForTunnel(relay().proxy_port, "api.anthropic.com:443");
    socket.destroy();
    assert.match(head, /^HTTP\/1\.1 200 /, "a program that is led through the proxy reaches its provider");
    const { stdout } = await runMeter(home, ["status"]);
    assert.match(stdout, /^Not metering: the proxy kept crashing\. Calls pass without being metered\./);
    assert.equal((await runMeter(home, ["start"])).code, 0);
    const stored = (await rows()).length;
    await call();
    await waitFor("the call to be stored", async () => (await rows()).length === stored + 1);
  });

  it("is replaced by a relay without metering if it keeps crashing, until it is started again", async () => {
    const supervisor = supervisorOf(running().pid);
    await waitFor("the relay", async () => {
      if (existsSync(relayFile(home))) return true;
      if (existsSync(stateFile(home)) && isAlive(running().pid)) process.kill(running().pid, "SIGSEGV");
      await delay(50);
      return false;
    });
    const before = (await rows()).length;
    const { head, socket } = await askForTunnel(relay().proxy_port, "api.anthropic.com:443");
    socket.destroy();
    assert.match(head, /^HTTP\/1\.1 200 /, "a program that is led through the proxy reaches its provider");
    const status = await runMeter(home, ["status"]);
    assert.equal(status.code, 3);
    assert.match(
      status.stdout,
      /^Not metering: the daemon crashed 6 times within a minute \(last: SIGSEGV\)\. Calls pass without being metered\./,
    );
    assert.equal(
      JSON.parse((await runMeter(home, ["status", "--json"])).stdout).unmetered_relay.pid,
      relay().pid,
    );
    assert.equal((await rows()).length, before);
    assert.equal((await runMeter(home, ["start"])).code, 0);
    assert.equal(existsSync(relayFile(home)), false);
    assert.equal(isAlive(supervisor), false, "the earlier script has ended");
    await call();
    await waitFor("the call to be stored", async () => (await rows()).length === before + 1);
  });

  it("ends with its script when it is stopped", async () => {
    const supervisor = supervisorOf(running().pid);
    assert.equal((await runMeter(home, ["stop"])).stdout, "Stopped.\n");
    await waitFor("the script to end", () => !isAlive(supervisor));
  });
});
