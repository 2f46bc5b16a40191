import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { databaseFile } from "../../../cli/home/database-file.ts";
import { daemonWords, runMeter, waitFor } from "../../end-to-end/meter-process.rig.ts";
import type { SimulatedCall } from "../../simulation/mod.ts";
import { assertRows, fillDisk, health, meterStatus, mountObstacle, rowOf, statusUntil } from "./fault-rig.ts";
import type { FaultScenario } from "./fault-scenario.ts";
import { freePort } from "./inspect-worker.ts";

const fiuObstacle = () => {
  try {
    execFileSync("fiu-run", ["-x", "true"], { stdio: "pipe" });
    return null;
  } catch {
    return "needs libfiu (Debian: apt-get install fiu-utils)";
  }
};

const WRITES = ["posix/io/rw/pwrite", "posix/io/sync/fsync", "posix/io/sync/fdatasync"];

const failingWrites = (name: string, share: number): FaultScenario => ({
  name,
  fault: `${share === 1 ? "every write" : `one write of ${Math.round(1 / share)}`} to any file fails, as on a disk that breaks`,
  data: "every call is a row once writes succeed; each counted once; the database is whole",
  shown: "DEGRADED, last error io; Metering. by itself",
  isQuick: true,
  obstacle: fiuObstacle,
  async run(rig) {
    const home = rig.home();
    const meter = await rig.start(home, {
      words: ["fiu-run", "-x", ...daemonWords],
    });
    const entries = [await rig.call(meter)];
    await assertRows(meter, entries);
    const control = (command: string) =>
      execFileSync("fiu-ctrl", ["-c", command, String(meter.pid)], { stdio: "pipe" });
    for (const point of WRITES) control(`enable_random name=${point},probability=${share}`);
    for (let n = 0; n < 20; n += 1) entries.push(await rig.call(meter));
    if (share === 1) assert.match((await statusUntil(home, 1)).stdout, /\nlast error {2}(?:io|disk_full): /);
    for (const point of WRITES) control(`disable name=${point}`);
    entries.push(await rig.call(meter));
    assert.match((await statusUntil(home, 0)).stdout, /^Metering\.\n/);
    await assertRows(meter, entries);
    assert.equal(await meter.counted("metered"), entries.length);
    assert.deepEqual((await meter.status()).store.dropped, {});
    await meter.stop();
    const after = new DatabaseSync(databaseFile(home));
    assert.deepEqual({ ...after.prepare("PRAGMA integrity_check").get() }, { integrity_check: "ok" });
    after.close();
  },
});

/** Faults of the disk that contains the home. */
export const diskFaults: readonly FaultScenario[] = [
  {
    name: "full-disk",
    fault: "the disk of home and log is full, and has room again later",
    data: "every call is a row once there is room; none is lost",
    shown: "DEGRADED, last error disk_full; log lines that were lost are counted; Metering. by itself",
    isQuick: true,
    obstacle: mountObstacle,
    async run(rig) {
      const folder = rig.folder();
      rig.mount(folder, 2_048);
      const home = rig.home(folder);
      const meter = await rig.start(home);
      const entries = [await rig.call(meter)];
      await rowOf(meter, entries[0] as SimulatedCall);
      const filler = join(home, "filler");
      fillDisk(filler);
      await waitFor("the store to fail", async () => {
        entries.push(await rig.call(meter));
        return (await meter.status()).store.capturing === "failing";
      });
      entries.push(await rig.call(meter));
      const { stdout } = await statusUntil(home, 1);
      assert.match(stdout, /^DEGRADED: /);
      assert.match(stdout, /\nlast error {2}disk_full: /);
      assert.equal((await health(meter)).status, "degraded");
      rmSync(filler);
      assert.match((await statusUntil(home, 0)).stdout, /^Metering\.\n/);
      entries.push(await rig.call(meter));
      await assertRows(meter, entries);
      assert.equal((await health(meter)).status, "ok");
      assert.deepEqual((await meter.status()).store.dropped, {});
      await waitFor("the log to go on", () => meter.log().some(({ event }) => event === "store.recovered"));
    },
  },
  {
    name: "full-disk-in-checkpoint",
    fault: "the disk fills up while SQLite copies its log back into the database",
    data: "every call is a row once there is room; the database is whole",
    shown: "DEGRADED, last error disk_full; Metering. by itself",
    isQuick: true,
    obstacle: mountObstacle,
    async run(rig) {
      const folder = rig.folder();
      rig.mount(folder, 12_288);
      const home = rig.home(folder);
      const meter = await rig.start(home);
      const entries = [await rig.call(meter)];
      await assertRows(meter, entries);
      // A WAL of 5 MB, which the daemon's next commit begins to copy into the database.
      const writer = new DatabaseSync(databaseFile(home));
      writer.exec("PRAGMA busy_timeout = 10000; PRAGMA wal_autocheckpoint = 0");
      writer.prepare("INSERT INTO meta (key, value) VALUES ('ballast', ?)").run("x".repeat(5 * 1024 * 1024));
      const filler = join(home, "filler");
      fillDisk(filler);
      execFileSync("truncate", ["-s", "-200K", filler]);
      const sizeBefore = statSync(databaseFile(home)).size;
      await waitFor("the store to fail", async () => {
        entries.push(await rig.call(meter));
        return (await meter.status()).store.capturing === "failing";
      });
      const growth = statSync(databaseFile(home)).size - sizeBefore;
      assert.ok(growth > 0 && growth < 1024 * 1024, `the copying stopped half-way: ${growth} bytes`);
      assert.match((await statusUntil(home, 1)).stdout, /\nlast error {2}disk_full: /);
      writer.close();
      rmSync(filler);
      await statusUntil(home, 0);
      entries.push(await rig.call(meter));
      await assertRows(meter, entries);
      await meter.stop();
      const after = new DatabaseSync(databaseFile(home));
      assert.deepEqual({ ...after.prepare("PRAGMA integrity_check").get() }, { integrity_check: "ok" });
      after.close();
    },
  },
  {
    name: "full-disk-at-start",
    fault: "the daemon was killed and is started on a disk without a free byte; room comes later",
    data: "calls pass from the start and are rows once there is room",
    shown: "a daemon is using this home but does not answer: is the disk full?; Metering. by itself",
    isQuick: true,
    obstacle: mountObstacle,
    async run(rig) {
      const folder = rig.folder();
      rig.mount(folder, 2_048);
      const home = rig.home(folder);
      const killed = await rig.start(home);
      const entries = [await rig.call(killed)];
      await assertRows(killed, entries);
      process.kill(killed.pid, "SIGKILL");
      await killed.stop();
      const [proxyPort, apiPort] = [await freePort(), await freePort()];
      const config = readFileSync(join(home, "config.toml"), "utf8").split("port = 0");
      assert.equal(config.length, 3, "the proxy's port and the API's");
      const [before, between, behind] = config;
      writeFileSync(
        join(home, "config.toml"),
        `${before}port = ${proxyPort}${between}port = ${apiPort}${behind}`,
      );
      const filler = join(home, "filler");
      fillDisk(filler);
      // The file by which commands find the daemon can't be written.
      const starting = rig.start(home);
      const early = { proxyPort, caPem: killed.caPem };
      const first = await waitFor("a call to pass", () => rig.call(early).catch(() => null));
      entries.push(first, await rig.call(early));
      const status = await meterStatus(home);
      assert.equal(status.code, 1);
      assert.match(status.stdout, /^A daemon .*is using this home but does not answer/);
      rmSync(filler);
      const meter = await starting;
      assert.match((await statusUntil(home, 0)).stdout, /^Metering\.\n/);
      await assertRows(meter, entries);
    },
  },
  failingWrites("some-writes-fail", 0.05),
  failingWrites("all-writes-fail", 1),
  {
    name: "read-only-home",
    fault: "the home can only be read when the daemon is to start",
    data: "what is there is read as before; nothing is changed",
    shown: "meter start ends with 1 and says EROFS; meter report and meter status work",
    isQuick: true,
    obstacle: mountObstacle,
    async run(rig) {
      const folder = rig.folder();
      rig.mount(folder, 4_096);
      const home = rig.home(folder);
      const earlier = await rig.start(home);
      await assertRows(earlier, [await rig.call(earlier)]);
      assert.equal((await earlier.stop()).code, 0);
      const before = await runMeter(home, ["report", "--json"]);
      execFileSync("mount", ["-o", "remount,ro", home], { stdio: "pipe" });
      try {
        const started = await runMeter(home, ["start", "--foreground"]);
        assert.equal(started.code, 1);
        assert.match(started.stderr, /^meter: The home .* can't be used: EROFS/);
        assert.equal((await runMeter(home, ["start"])).code, 1);
        const report = await runMeter(home, ["report", "--json"]);
        assert.deepEqual([report.code, report.stdout], [0, before.stdout]);
        assert.equal((await meterStatus(home)).code, 3);
      } finally {
        execFileSync("mount", ["-o", "remount,rw", home], { stdio: "pipe" });
      }
      const again = await rig.start(home);
      await assertRows(again, [await rig.call(again)]);
    },
  },
  {
    name: "log-not-writable",
    fault: "the folder of the log can only be read",
    data: "rows as everywhere",
    shown: "Metering., with the number of log lines that could not be written; the log goes on once it can",
    isQuick: true,
    obstacle: mountObstacle,
    async run(rig) {
      const home = rig.home();
      const logs = join(home, "logs");
      rig.mount(logs, 64);
      execFileSync("mount", ["-o", "remount,ro", logs], { stdio: "pipe" });
      const meter = await rig.start(home);
      await assertRows(meter, [await rig.call(meter)]);
      const { stdout } = await statusUntil(home, 0);
      assert.match(stdout, /^Metering\.\n/);
      assert.match(stdout, /\nwarning {3}.*lines of the log could not be written/);
      execFileSync("mount", ["-o", "remount,rw", logs], { stdio: "pipe" });
      // A log file that failed is opened again for lines that come two seconds later.
      await delay(2_100);
      assert.equal((await meter.stop()).code, 0);
      assert.ok(meter.log().some(({ event }) => event === "daemon.stopped"));
    },
  },
];
