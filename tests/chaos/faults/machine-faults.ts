import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { databaseFile } from "../../../cli/home/database-file.ts";
import { daemonWords, type MeterProcess, waitFor } from "../../end-to-end/meter-process.rig.ts";
import { findRelay } from "../../end-to-end/relay-process.rig.ts";
import type { SimulatedCall } from "../../simulation/mod.ts";
import { assertRows, type FaultRig, health, meterStatus, rowOf, statusUntil } from "./fault-rig.ts";
import type { FaultScenario } from "./fault-scenario.ts";
import { evaluateInWorkers, freePort } from "./inspect-worker.ts";

/** Blocks a thread's event loop forever. */
const HANG = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)";

/** The path on Debian of the library that sets the clock of a process. */
const FAKETIME = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/faketime/libfaketimeMT.so.1`;

const faketimeObstacle = () =>
  existsSync(FAKETIME) ? null : "needs libfaketime (Debian: apt-get install libfaketime)";

const prlimitObstacle = () => {
  try {
    execFileSync("prlimit", ["--version"], { stdio: "pipe" });
    return null;
  } catch {
    return "needs prlimit (util-linux)";
  }
};

/** Starts a daemon whose wall clock is read from a file, while timers and durations use the real clock. */
async function startWithClock(rig: FaultRig, home: string) {
  const folder = mkdtempSync(join(tmpdir(), "meter-clock-"));
  const file = join(folder, "clock");
  const set = (offset: string) => writeFileSync(file, `${offset}\n`);
  set("+0");
  const meter = await rig.start(home, {
    env: {
      LD_PRELOAD: FAKETIME,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      FAKETIME_DONT_RESET: "1",
    },
  });
  return { meter, set, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

const HOUR_MS = 3_600_000;

const clockJump = (name: string, what: string, offset: string, offsetMs: number): FaultScenario => ({
  name,
  fault: `the wall clock jumps ${what} in the middle of a stream, and back later`,
  data: "rows bear the time of the clock; latencies are real; nothing is deleted, nothing twice",
  shown: "Metering.; no restart of the proxy",
  isQuick: true,
  obstacle: faketimeObstacle,
  async run(rig) {
    const home = rig.home();
    const { meter, set, remove } = await startWithClock(rig, home);
    try {
      const entries = [await rig.call(meter)];
      const stream = await rig.open(meter, "drip+events-200");
      await waitFor("the stream to begin", () => stream.bytes().length > 2_000);
      set(offset);
      const through = await stream.untouched();
      entries.push(through);
      const jumped = await rig.call(meter);
      entries.push(jumped);
      await assertRows(meter, entries);
      const wrongBy = (await rowOf(meter, jumped)).requestedAt - Date.now() - offsetMs;
      assert.ok(Math.abs(wrongBy) < 600_000, `the row is off by ${wrongBy} ms`);
      const { latencyMs, ttfbMs } = await rowOf(meter, through);
      assert.ok(latencyMs !== null && latencyMs >= 0 && latencyMs < 120_000, `latency ${latencyMs}`);
      assert.ok(ttfbMs !== null && ttfbMs >= 0 && ttfbMs <= latencyMs, `first byte ${ttfbMs}`);
      const status = await meter.status();
      assert.deepEqual([status.store.capturing, status.proxy.restarts], ["ok", 0]);
      set("+0");
      const last = await rig.call(meter);
      await assertRows(meter, [...entries, last]);
      assert.equal((await meter.rows()).length, 4);
      assert.match((await statusUntil(home, 0)).stdout, /^Metering\.\n/);
      assert.ok(!meter.log().some(({ event }) => event === "daemon.task_crashed"));
    } finally {
      await meter.stop();
      remove();
    }
  },
});

/** Stops the relay's process. */
async function stopRelay(meter: MeterProcess): Promise<number> {
  const relay = await waitFor("the relay's process", () => findRelay(meter.pid));
  process.kill(relay, "SIGSTOP");
  return relay;
}

async function hangProxy(meter: MeterProcess, restarts: number): Promise<void> {
  await stopRelay(meter);
  await waitFor("the watchdog to restart the proxy", async () => {
    const { proxy } = await meter.status();
    return proxy.restarts === restarts;
  });
}

async function startInspected(rig: FaultRig, home: string) {
  const inspectPort = await freePort();
  const meter = await rig.start(home, { env: { NODE_OPTIONS: `--inspect=127.0.0.1:${inspectPort}` } });
  return { meter, inspectPort };
}

const back = (rig: FaultRig, meter: MeterProcess) =>
  waitFor("the proxy to be back", () => rig.call(meter).catch(() => null));

/** Faults of the machine, of the daemon's threads and of its home. */
export const machineFaults: readonly FaultScenario[] = [
  {
    name: "few-descriptors",
    fault: "the process may open 64 files, and forty clients come at once",
    data: "calls that got through are untouched and rows; attribution and storage go on",
    shown: "connections that were turned away are counted; Metering. by itself",
    isQuick: true,
    obstacle: prlimitObstacle,
    async run(rig) {
      const home = rig.home();
      const meter = await rig.start(home, {
        words: ["prlimit", "--nofile=64:64", ...daemonWords],
      });
      const first = await rig.call(meter);
      const held = await rig.open(meter, "drip+events-300");
      const burst = () =>
        Promise.allSettled(
          Array.from({ length: 40 }, async () => {
            const opened = await rig.open(meter, "drip+events-40");
            return opened.untouched();
          }),
        );
      const tried = await burst();
      const whole = tried.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      assert.ok(whole.length >= 1, "some get through");
      assert.ok(whole.length < 40, "64 descriptors are not enough for all");
      await assertRows(meter, [first, await held.untouched(), ...whole]);
      await waitFor("a call to get through again", () => rig.call(meter).catch(() => null));
      // The proxy's thread posts its counters at intervals.
      const { stdout } = await waitFor("the count of those turned away", async () => {
        const status = await statusUntil(home, 0);
        if (/\nConnections refused because too many were open: [1-9]/.test(status.stdout)) return status;
        // Without a free descriptor, the kernel's connections are closed before the proxy can count them.
        await burst();
        return null;
      });
      assert.match(stdout, /^Metering\.\n/);
      assert.ok(!meter.log().some(({ event }) => event === "daemon.task_crashed"));
    },
  },
  {
    name: "fewer-descriptors-while-running",
    fault: "the limit is taken down to what is open, and given back",
    data: "a stream in flight is untouched and a row",
    shown: "no crash; Metering. by itself",
    isQuick: true,
    obstacle: prlimitObstacle,
    async run(rig) {
      const home = rig.home();
      const meter = await rig.start(home);
      const stream = await rig.open(meter, "drip+events-300");
      await waitFor("the stream to begin", () => stream.bytes().length > 2_000);
      const limit = (value: string) =>
        execFileSync("prlimit", ["--pid", String(meter.pid), `--nofile=${value}`], { stdio: "pipe" });
      limit("20:");
      const others = Promise.allSettled(Array.from({ length: 3 }, async () => (await rig.open(meter)).over));
      const entry = await stream.untouched();
      limit("4096:");
      await others;
      const next = await waitFor("a call to get through again", () => rig.call(meter).catch(() => null));
      await assertRows(meter, [entry, next]);
      assert.match((await statusUntil(home, 0)).stdout, /^Metering\.\n/);
      // The watchdog has no descriptor for its probe either.
      assert.ok(!meter.log().some(({ event }) => event === "watchdog.mitm_unhealthy"));
    },
  },
  clockJump("clock-back", "five hours back", "-5h", -5 * HOUR_MS),
  clockJump("clock-ahead", "twenty hours ahead", "+20h", 20 * HOUR_MS),
  {
    name: "stuck-proxy",
    fault: "the proxy's process hangs",
    data: "calls that hung are rows that say network; the next ones are exact",
    shown: "watchdog.mitm_unhealthy at 3 failures, a restart at 5, which status counts",
    isQuick: true,
    async run(rig) {
      const home = rig.home();
      const meter = await rig.start(home);
      await assertRows(meter, [await rig.call(meter)]);
      await hangProxy(meter, 1);
      await assertRows(meter, [await back(rig, meter)]);
      const status = await statusUntil(home, 0);
      assert.match(status.stdout, /^Metering\.\n/);
      assert.match(status.stdout, /\nThe proxy was restarted once\./);
      const said = meter.log().filter(({ event }) => event === "watchdog.mitm_unhealthy");
      assert.deepEqual(
        said.map(({ consecutive_failures, action }) => [consecutive_failures, action]),
        [
          [3, "watch"],
          [5, "restart"],
        ],
      );
    },
  },
  {
    name: "stuck-lookup",
    fault: "the event loop of the thread that looks callers up is held",
    data: "calls pass at their speed and are exact rows, at most without their caller; the next ones have it again",
    shown: "Metering.; the thread is replaced",
    isQuick: true,
    async run(rig) {
      const home = rig.home();
      const { meter, inspectPort } = await startInspected(rig, home);
      const before = await rig.call(meter);
      await assertRows(meter, [before]);
      const inspector = await evaluateInWorkers(inspectPort, "meter lookup", HANG);
      const during: SimulatedCall[] = [];
      try {
        during.push(await rig.call(meter), await rig.call(meter));
        assert.match((await statusUntil(home, 0)).stdout, /^Metering\.\n/);
      } finally {
        inspector.stop();
      }
      await waitFor("a caller to be known", async () => {
        const entry = await rig.call(meter);
        during.push(entry);
        await assertRows(meter, [entry]);
        return (await rowOf(meter, entry)).client === (await rowOf(meter, before)).client;
      });
      await assertRows(meter, [before, ...during]);
    },
  },
  {
    name: "stuck-proxy-four-times",
    fault: "the proxy's process hangs four times within the hour",
    data: "calls before and between are exact; later ones pass without being read",
    shown: "three restarts, then DEGRADED: calls pass without being metered; the coverage counts them",
    isQuick: false,
    async run(rig) {
      const home = rig.home();
      const meter = await rig.start(home);
      for (let n = 1; n <= 3; n += 1) {
        await assertRows(meter, [await back(rig, meter)]);
        await hangProxy(meter, n);
      }
      await assertRows(meter, [await back(rig, meter)]);
      await hangProxy(meter, 4);
      const { stdout } = await statusUntil(home, 1);
      assert.match(stdout, /^DEGRADED: the proxy kept hanging, so calls pass without being metered\.\n/);
      assert.equal((await health(meter)).status, "degraded");
      const { length } = await meter.rows();
      await back(rig, { ...meter, caPem: rig.simulation.caPem });
      // The replacement is replaced too.
      await hangProxy(meter, 5);
      await back(rig, { ...meter, caPem: rig.simulation.caPem });
      await waitFor("the coverage", async () =>
        (await meter.coverage()).some(({ kind, count }) => kind === "tunnelled_no_certificate" && count >= 2),
      );
      assert.equal((await meter.rows()).length, length);
    },
  },
  {
    name: "home-removed",
    fault: "rm -rf of the home while the daemon runs",
    data: "calls pass; nothing is written and no home comes into being again; what waits is counted",
    shown: "/health degraded; meter status: not running",
    isQuick: true,
    async run(rig) {
      const home = rig.home();
      const meter = await rig.start(home);
      await assertRows(meter, [await rig.call(meter)]);
      rmSync(home, { recursive: true });
      await waitFor("it to be noticed", async () => {
        await rig.call(meter);
        return (await health(meter)).status === "degraded";
      });
      await rig.call(meter);
      assert.equal(existsSync(home), false);
      assert.equal((await meterStatus(home)).code, 3);
      assert.equal((await meter.stop()).code, 0);
      assert.equal(existsSync(home), false);
    },
  },
  {
    name: "home-moved-and-back",
    fault: "the home is moved away while the daemon runs, and put back",
    data: "every call is a row; none is lost",
    shown: "/health degraded meanwhile; Metering. by itself",
    isQuick: true,
    async run(rig) {
      const home = rig.home();
      const meter = await rig.start(home);
      const entries = [await rig.call(meter)];
      await assertRows(meter, entries);
      renameSync(home, `${home}-elsewhere`);
      await waitFor("it to be noticed", async () => {
        entries.push(await rig.call(meter));
        return (await health(meter)).status === "degraded";
      });
      entries.push(await rig.call(meter));
      assert.equal(existsSync(home), false);
      renameSync(`${home}-elsewhere`, home);
      assert.match((await statusUntil(home, 0)).stdout, /^Metering\.\n/);
      await assertRows(meter, entries);
    },
  },
  {
    name: "database-removed",
    fault: "the database's files are deleted while the daemon runs",
    data: "calls go on into a new database; what was deleted is gone",
    shown: "Metering. again by itself; the log says that a new one was begun",
    isQuick: true,
    async run(rig) {
      const home = rig.home();
      const meter = await rig.start(home);
      await assertRows(meter, [await rig.call(meter)]);
      for (const end of ["", "-wal", "-shm"]) rmSync(databaseFile(home) + end, { force: true });
      await waitFor("a new one", async () => {
        await rig.call(meter);
        const { store } = await meter.status();
        return existsSync(databaseFile(home)) && store.capturing === "ok";
      });
      await assertRows(meter, [await rig.call(meter)]);
      assert.match((await statusUntil(home, 0)).stdout, /^Metering\.\n/);
      assert.ok(meter.log().some(({ event }) => event === "store.failing"));
    },
  },
];
