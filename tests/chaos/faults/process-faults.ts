import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { stateFile } from "../../../cli/daemon/daemon-process.ts";
import {
  daemonWords,
  meterWords,
  runMeter,
  runProgram,
  waitFor,
} from "../../end-to-end/meter-process.rig.ts";
import { assertRows, ended, meterStatus, rowOf, statusUntil, type WholeCall } from "./fault-rig.ts";
import type { FaultScenario } from "./fault-scenario.ts";

/** The number of kills in `kill-under-traffic`. */
const KILLS = 5;

/** How long before a kill a call without a committed row may have ended on a busy machine, in milliseconds. */
const UNWRITTEN_MS = 2_000;

/** Faults of the daemon's process. */
export const processFaults: readonly FaultScenario[] = [
  {
    name: "kill-under-traffic",
    fault: "kill -9, five times at random points, while three clients call",
    data: "each committed row stays and is exact; no row twice; what was cut off is no row or one of its own",
    shown: "Metering. after each start",
    isQuick: false,
    async run(rig) {
      const home = rig.home();
      let meter = await rig.start(home);
      let committed = 0;
      const killedAt: number[] = [];
      const traffic = rig.traffic(() => meter, 3);
      for (let n = 0; n < KILLS; n += 1) {
        await waitFor("some calls to be stored", async () => (await meter.rows()).length > committed + 2);
        await delay(rig.random.integer(0, 300));
        const before = await meter.rows();
        process.kill(meter.pid, "SIGKILL");
        killedAt.push(performance.now());
        await meter.stop();
        meter = await rig.start(home);
        const after = await meter.rows();
        assert.deepEqual(after.slice(0, before.length), before, "what was committed is as it was");
        committed = after.length;
        assert.match((await statusUntil(home, 0)).stdout, /^Metering\.\n/);
      }
      const { whole } = await traffic.stop();
      const lastKill = killedAt.at(-1) ?? 0;
      await assertRows(
        meter,
        whole.filter(({ endedAt }) => endedAt > lastKill).map(({ entry }) => entry),
      );
      const rows = await meter.rows();
      const ids = rows.map((row) => row.providerResponseId).filter((id) => id !== null);
      assert.equal(new Set(ids).size, ids.length, "no call is there twice");
      const isStored = ({ entry }: WholeCall) => entry.responseId !== null && ids.includes(entry.responseId);
      await assertRows(
        meter,
        whole.filter(isStored).map(({ entry }) => entry),
      );
      for (const lost of whole.filter((call) => !isStored(call))) {
        assert.ok(
          killedAt.some((at) => at - lost.endedAt < UNWRITTEN_MS && lost.endedAt < at + UNWRITTEN_MS),
          "a call without a row ended right before a kill",
        );
      }
      await assertRows(meter, [await rig.call(meter)]);
    },
  },
  {
    name: "two-daemons",
    fault: "a second daemon on the same home; then kill -9, and another one takes over",
    data: "the first goes on as if nothing had been",
    shown: "the second ends with 1: Another daemon runs in <home>.",
    isQuick: true,
    async run(rig) {
      const home = rig.home();
      const first = await rig.start(home);
      const stream = await rig.open(first, "drip+events-200");
      const second = await runMeter(home, ["start", "--foreground"]);
      assert.deepEqual([second.code, second.stderr], [1, `meter: Another daemon runs in ${home}.\n`]);
      const third = await runMeter(home, ["start"]);
      assert.deepEqual(
        [third.code, third.stdout],
        [0, `The daemon is already running: process ${first.pid}, proxy on port ${first.proxyPort}.\n`],
      );
      await assertRows(first, [await stream.untouched(), await rig.call(first)]);
      process.kill(first.pid, "SIGKILL");
      await first.stop();
      const nextDaemon = await rig.start(home);
      await assertRows(nextDaemon, [await rig.call(nextDaemon)]);
      assert.match((await statusUntil(home, 0)).stdout, /^Metering\.\n/);
    },
  },
  {
    name: "nobody-listens",
    fault: "its standard error can't be written: a closed terminal, a full disk below it",
    data: "as always",
    shown: "Metering.; the log has what was said",
    isQuick: true,
    obstacle: () => (existsSync("/dev/full") ? null : "needs /dev/full"),
    async run(rig) {
      // A key that is not a setting, so that there is a warning.
      const home = rig.home(undefined, ["colour = 1"]);
      const words = ["sh", "-c", 'exec "$@" 2>/dev/full', "sh", ...daemonWords];
      const meter = await rig.start(home, { words });
      await assertRows(meter, [await rig.call(meter)]);
      await statusUntil(home, 0);
      assert.ok(meter.log().some(({ event }) => event === "daemon.warning"));
    },
  },
  {
    name: "pid-reuse",
    fault: "a killed daemon's port and process id belong to others now",
    data: "none",
    shown: "Not metering.; meter stop ends nobody",
    isQuick: true,
    async run(rig) {
      const [home, neighbour] = [rig.home(), rig.home()];
      const killed = await rig.start(home);
      const left = JSON.parse(readFileSync(stateFile(home), "utf8"));
      process.kill(killed.pid, "SIGKILL");
      await killed.stop();
      const other = await rig.start(neighbour);
      // As if another user's daemon had got the port and the process id of the killed one.
      writeFileSync(
        stateFile(home),
        JSON.stringify({ ...left, pid: other.pid, api_port: other.apiPort, proxy_port: other.proxyPort }),
      );
      const status = await meterStatus(home);
      assert.equal(status.code, 3, status.stdout);
      assert.match(status.stdout, /^Not metering: the daemon is not running\./);
      const stopped = await runMeter(home, ["stop"]);
      assert.deepEqual([stopped.code, stopped.stdout], [0, "The daemon is not running.\n"]);
      await assertRows(other, [await rig.call(other)]);
      const started = await rig.start(home);
      await assertRows(started, [await rig.call(started)]);
    },
  },
  {
    name: "sigterm-in-stream",
    fault: "SIGTERM while a stream runs that ends within the ten seconds",
    data: "the stream goes on to its end, its row is written, the exit code is 0",
    shown: "Not metering. afterwards",
    isQuick: true,
    async run(rig) {
      const home = rig.home();
      const meter = await rig.start(home);
      const stream = await rig.open(meter, "drip+events-300");
      await waitFor("the stream to begin", () => stream.bytes().length > 2_000);
      process.kill(meter.pid, "SIGTERM");
      const entry = await stream.untouched();
      assert.equal(entry.delivery, "whole");
      await ended(meter);
      assert.equal((await meter.stop()).code, 0);
      assert.equal((await meterStatus(home)).code, 3);
      await assertRows(meter, [entry]);
    },
  },
  {
    name: "sigterm-in-endless-stream",
    fault: "SIGTERM while a call waits for an answer that does not come",
    data: "the call is cut at ten seconds, as a provider's cut would be; its row says network",
    shown: "Not metering. afterwards, exit code 0",
    isQuick: false,
    async run(rig) {
      const meter = await rig.start(rig.home());
      const stream = await rig.open(meter, "silence");
      await waitFor("the provider to have it", () =>
        rig.simulation.connections.some(({ received }) => received.length > 0),
      );
      const from = performance.now();
      process.kill(meter.pid, "SIGTERM");
      await stream.over;
      const tookMs = performance.now() - from;
      assert.ok(tookMs > 9_000, `cut after ${tookMs} ms`);
      await ended(meter);
      assert.equal((await meter.stop()).code, 0);
      const [row] = await meter.rows();
      assert.deepEqual([row?.errorClass, row?.httpStatus], ["network", null]);
    },
  },
  {
    name: "whole-process-stopped",
    fault: "SIGSTOP for nine seconds in the middle of a stream, then SIGCONT",
    data: "the stream waits and goes on; its row is written; nobody restarts a proxy that was only held",
    shown: "Metering., no restart",
    isQuick: false,
    async run(rig) {
      const home = rig.home();
      const meter = await rig.start(home);
      const stream = await rig.open(meter, "drip+events-400");
      await waitFor("the stream to begin", () => stream.bytes().length > 2_000);
      process.kill(meter.pid, "SIGSTOP");
      await delay(3_000);
      const frozen = await meterStatus(home);
      assert.equal(frozen.code, 1);
      assert.match(
        frozen.stdout,
        new RegExp(`^A daemon \\(process ${meter.pid}\\) is using this home but does not answer`),
      );
      const { running, held_by: holder } = JSON.parse((await runMeter(home, ["status", "--json"])).stdout);
      assert.deepEqual([running, holder], [false, { pid: meter.pid }]);
      process.kill(meter.pid, "SIGCONT");
      await assertRows(meter, [await stream.untouched(), await rig.call(meter)]);
      await delay(4_000);
      const { proxy } = await meter.status();
      assert.deepEqual([proxy.restarts, proxy.watchdog], [0, "healthy"]);
    },
  },
  {
    name: "odd-home",
    fault: "a home whose path has spaces, quotes and letters beyond ASCII",
    data: "rows as everywhere",
    shown: "Metering., with the path",
    isQuick: true,
    async run(rig) {
      const home = rig.home(rig.folder("Mein Zähler 🧮 'x' \"y\" $HOME %41 ; #1"));
      const started = await runMeter(home, ["start"]);
      assert.equal(started.code, 0, started.stderr);
      const { pid } = JSON.parse(readFileSync(stateFile(home), "utf8"));
      try {
        const status = await statusUntil(home, 0);
        assert.ok(status.stdout.includes(`home      ${home}\n`), status.stdout);
        const printed = await runMeter(home, [
          ...["run", "--", process.execPath, "-e"],
          "console.log(require('node:fs').existsSync(process.env.NODE_EXTRA_CA_CERTS))",
        ]);
        assert.deepEqual([printed.code, printed.stdout], [0, "true\n"]);
      } finally {
        assert.equal((await runMeter(home, ["stop"])).code, 0);
      }
      assert.throws(() => process.kill(pid, 0));
      const meter = await rig.start(home);
      const entry = await rig.call(meter);
      await assertRows(meter, [entry]);
      const report = await runMeter(home, ["report", "--json"]);
      assert.equal(report.code, 0);
      const explained = await runProgram([...meterWords, "explain", (await rowOf(meter, entry)).requestId], {
        env: { METER_HOME: home },
      });
      assert.equal(explained.code, 0, explained.stderr);
      assert.ok(readFileSync(join(home, "logs", "daemon.log"), "utf8").includes("daemon.started"));
    },
  },
];
