import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { createCredentialStore } from "../../../adapters/cloud-credentials/credential-store.ts";
import { tokenFile } from "../../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../../cli/daemon/loopback-client.ts";
import { databaseFile } from "../../../cli/home/database-file.ts";
import {
  type MeterProcess,
  plainEnvironment,
  runMeter,
  waitFor,
} from "../../end-to-end/meter-process.rig.ts";
import type { SimulatedCall } from "../../simulation/mod.ts";
import { assertRows, ended, type FaultRig, health, statusUntil } from "./fault-rig.ts";
import type { FaultScenario } from "./fault-scenario.ts";
import { freePort } from "./inspect-worker.ts";

/** Another process that holds the database's lock until it is told to release it. */
async function lockElsewhere(path: string): Promise<{ release(): Promise<void> }> {
  const script = `
    const { DatabaseSync } = require("node:sqlite");
    const database = new DatabaseSync(${JSON.stringify(path)});
    database.exec("PRAGMA busy_timeout = 10000; BEGIN EXCLUSIVE");
    console.log("locked");
    process.stdin.once("data", () => { database.exec("ROLLBACK"); process.exit(0); });`;
  const child = spawn(process.execPath, ["-e", script], {
    env: plainEnvironment(),
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  await once(child.stdout, "data");
  return {
    async release() {
      child.stdin.write("go\n");
      await ended;
    },
  };
}

async function busyFor(rig: FaultRig, lockedMs: number): Promise<void> {
  const home = rig.home();
  const meter = await rig.start(home);
  const entries = [await rig.call(meter)];
  await assertRows(meter, entries);
  const lock = await lockElsewhere(databaseFile(home));
  const until = performance.now() + lockedMs;
  try {
    do {
      entries.push(await rig.call(meter));
      await delay(Math.min(1_000, Math.max(0, until - performance.now())));
    } while (performance.now() < until);
    assert.match((await statusUntil(home, 1)).stdout, /\nlast error {2}busy: /);
    assert.equal((await health(meter)).status, "degraded");
    assert.equal((await meter.rows()).length, 1, "reading goes on");
  } finally {
    await lock.release();
  }
  assert.match((await statusUntil(home, 0)).stdout, /^Metering\.\n/);
  entries.push(await rig.call(meter));
  await assertRows(meter, entries);
  assert.deepEqual((await meter.status()).store.dropped, {});
}

const busy = (name: string, lockedMs: number, isQuick: boolean): FaultScenario => ({
  name,
  fault: `another process holds the database's lock for ${lockedMs / 1_000} s`,
  data: "every call is a row when the lock is gone; none is lost",
  shown: "DEGRADED, last error busy; Metering. by itself",
  isQuick,
  run: (rig) => busyFor(rig, lockedMs),
});

/** A home with the pages of 200 stored calls and no daemon. */
async function usedHome(rig: FaultRig): Promise<{ home: string; entries: SimulatedCall[] }> {
  const home = rig.home();
  const meter = await rig.start(home);
  const entries = [await rig.call(meter), await rig.call(meter), await rig.call(meter)];
  await assertRows(meter, entries);
  await meter.stop();
  // More pages, so that there is a middle.
  const database = new DatabaseSync(databaseFile(home));
  database.exec("INSERT INTO meta (key, value) VALUES ('ballast', hex(randomblob(100000)))");
  database.close();
  return { home, entries };
}

function overwrite(path: string, at: number, bytes: Buffer): void {
  const file = openSync(path, "r+");
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
}

/**
 * All of them are tested on the store alone, with thousands of files, in `tests/daemon/store/damaged-store.test.ts`.
 */
const damaged = (
  name: string,
  fault: string,
  damage: (path: string) => void,
  isQuick = false,
): FaultScenario => ({
  name,
  fault,
  data: "the damaged file is kept byte for byte beside a fresh one, into which calls are stored",
  shown: "Metering., and where the damaged database is now",
  isQuick,
  async run(rig) {
    const { home } = await usedHome(rig);
    const path = databaseFile(home);
    damage(path);
    const evidence = readFileSync(path);
    const meter = await rig.start(home);
    const first = await rig.call(meter);
    await waitFor("it to be moved aside", () => existsSync(`${path}.corrupt`));
    await assertRows(meter, [await rig.call(meter)]);
    assert.ok(readFileSync(`${path}.corrupt`).equals(evidence), "the evidence is as it was found");
    const { stdout } = await statusUntil(home, 0);
    assert.ok(stdout.includes(`\nA damaged database was moved to ${path}.corrupt.`), stdout);
    assert.equal((await runMeter(home, ["report"])).code, 0);
    assert.ok(meter.log().some(({ event, level }) => event === "daemon.warning" && level === "warn"));
    await assertRows(meter, [first]);
  },
});

/** Faults of the database. */
export const databaseFaults: readonly FaultScenario[] = [
  busy("busy-1s", 1_000, true),
  busy("busy-10s", 10_000, false),
  busy("busy-minutes", 120_000, false),
  {
    name: "busy-while-connected",
    fault:
      "the database is locked for twelve seconds while the daemon syncs with a cloud that does not answer",
    data: "every call is a row when the lock is gone; none is lost",
    shown: "/health answers all the time; the sync goes on by itself",
    isQuick: false,
    async run(rig) {
      const port = await freePort();
      const home = rig.home(rig.folder(), [
        "[cloud]",
        "enabled = true",
        `base_url = "http://127.0.0.1:${port}"`,
      ]);
      await createCredentialStore(home).write({
        token: `mtr_sync_${"0".repeat(43)}`,
        origin: `http://127.0.0.1:${port}`,
        baseUrl: `http://127.0.0.1:${port}`,
        workspaceId: "w",
        workspaceName: "Nowhere",
        machineId: null,
        promptHashKey: null,
        createdAt: Date.now(),
      });
      const meter = await rig.start(home);
      const entries = [await rig.call(meter)];
      await assertRows(meter, entries);
      const tick = async () => {
        const { stdout } = await runMeter(home, ["cloud", "status", "--json"]);
        return new Date(JSON.parse(stdout).sync.last_tick_at ?? 0).getTime();
      };
      await waitFor("a first tick", async () => (await tick()) > 0);
      const lock = await lockElsewhere(databaseFile(home));
      for (let second = 0; second < 12; second += 1) {
        entries.push(await rig.call(meter));
        await health(meter);
        await delay(1_000);
      }
      await lock.release();
      const releasedAt = Date.now();
      await assertRows(meter, entries);
      await waitFor("the sync to go on", async () => (await tick()) > releasedAt, 90_000);
      assert.match((await statusUntil(home, 0)).stdout, /^Metering\.\n/);
      const { proxy } = await meter.status();
      assert.deepEqual([proxy.restarts, proxy.watchdog], [0, "healthy"]);
    },
  },
  {
    name: "busy-at-start",
    fault: "another process holds the database's lock for seven seconds while the daemon starts",
    data: "calls pass meanwhile and are rows afterwards",
    shown: "DEGRADED, last error busy; Metering. by itself",
    isQuick: false,
    async run(rig) {
      const { home, entries } = await usedHome(rig);
      const lock = await lockElsewhere(databaseFile(home));
      let meter: MeterProcess;
      try {
        meter = await rig.start(home);
        entries.push(await rig.call(meter));
        assert.match((await statusUntil(home, 1)).stdout, /\nlast error {2}busy: /);
        await delay(1_000);
      } finally {
        await lock.release();
      }
      await statusUntil(home, 0);
      await assertRows(meter, entries);
    },
  },
  {
    name: "stopped-while-locked",
    fault: "the daemon is told to stop while another process holds the database's lock",
    data: "stored where the lock goes within three seconds; what is lost otherwise is said with its number",
    shown: "exit code 0; the log: 2 records and bodies could not be stored before the daemon stopped.",
    isQuick: true,
    async run(rig) {
      const { home, entries } = await usedHome(rig);
      const path = databaseFile(home);
      for (const isLong of [false, true]) {
        const meter = await rig.start(home);
        const lock = await lockElsewhere(path);
        const waiting = [await rig.call(meter), await rig.call(meter)];
        process.kill(meter.pid, "SIGTERM");
        if (isLong) await ended(meter);
        await lock.release();
        await ended(meter);
        assert.equal((await meter.stop()).code, 0);
        const said = meter.log().filter(({ event }) => event === "daemon.warning");
        if (isLong) assert.match(String(said.at(-1)?.warning), /^2 records and bodies could not be stored/);
        else {
          assert.deepEqual(said, []);
          entries.push(...waiting);
        }
        await assertRows(meter, entries);
        assert.equal((await meter.rows()).length, entries.length);
      }
    },
  },
  damaged(
    "corrupt-header",
    "the first page of the database is garbage",
    (path) => overwrite(path, 0, Buffer.alloc(4096, 0xa5)),
    true,
  ),
  damaged("corrupt-page", "a page in the middle of the database is garbage", (path) => {
    const pages = Math.floor(statSync(path).size / 4096);
    overwrite(path, 4096 * Math.floor(pages / 2), Buffer.alloc(4096, 0xa5));
  }),
  damaged("truncated", "the database is cut in the middle", (path) =>
    truncateSync(path, Math.floor(statSync(path).size / 2)),
  ),
  damaged("emptied", "the database is cut to nothing", (path) => truncateSync(path, 0)),
  {
    name: "corrupt-while-running",
    fault: "the pages of the open database turn to garbage under the daemon",
    data: "the damaged file is kept; calls are stored in a fresh one, without a restart",
    shown: "Metering., and where the damaged database is now",
    isQuick: true,
    async run(rig) {
      const { home } = await usedHome(rig);
      const path = databaseFile(home);
      const meter = await rig.start(home);
      await assertRows(meter, [await rig.call(meter)]);
      // The contents of SQLite's WAL are copied into the file first, so that the pages are read from it.
      const other = new DatabaseSync(path);
      other.exec("PRAGMA busy_timeout = 10000; PRAGMA wal_checkpoint(TRUNCATE)");
      other.close();
      overwrite(path, 100, Buffer.alloc(statSync(path).size - 100, 0xa5));
      const entries = [await rig.call(meter), await rig.call(meter)];
      await waitFor("it to be moved aside", async () => {
        entries.push(await rig.call(meter));
        await meter.status().catch(() => {});
        return existsSync(`${path}.corrupt`);
      });
      await assertRows(meter, [await rig.call(meter)]);
      const { stdout } = await statusUntil(home, 0);
      assert.ok(stdout.includes(`\nA damaged database was moved to ${path}.corrupt.`), stdout);
    },
  },
  {
    name: "garbage-wal",
    fault: "after kill -9 SQLite's log is garbage",
    data: "what had reached the database stays; the garbage is kept as evidence; calls go on",
    shown: "Metering., with a warning that calls may be missing and where the garbage is",
    isQuick: true,
    async run(rig) {
      const { home, entries } = await usedHome(rig);
      const path = databaseFile(home);
      const killed = await rig.start(home);
      const last = await rig.call(killed);
      await assertRows(killed, [last]);
      process.kill(killed.pid, "SIGKILL");
      await killed.stop();
      const garbage = Buffer.alloc(statSync(`${path}-wal`).size, 0x5a);
      assert.ok(garbage.length > 0);
      writeFileSync(`${path}-wal`, garbage);
      const meter = await rig.start(home);
      const { stdout } = await statusUntil(home, 0);
      assert.match(stdout, /\nwarning {3}.*meter\.db-wal\.corrupt/);
      assert.ok(readFileSync(`${path}-wal.corrupt`).equals(garbage));
      await assertRows(meter, [...entries, await rig.call(meter)]);
    },
  },
  {
    name: "newer-schema",
    fault: "the database was written by a newer version",
    data: "not a byte of it changes; calls pass, and wait in memory until the version is right",
    shown: "DEGRADED, last error newer_schema: upgrade",
    isQuick: true,
    async run(rig) {
      const { home, entries } = await usedHome(rig);
      const path = databaseFile(home);
      const setVersion = (version: number) => {
        const database = new DatabaseSync(path);
        const before = database.prepare("PRAGMA user_version").get()?.user_version;
        database.exec(`PRAGMA busy_timeout = 10000; PRAGMA user_version = ${version}`);
        database.close();
        return Number(before);
      };
      const ours = setVersion(99);
      const evidence = readFileSync(path);
      const started = await runMeter(home, ["start"]);
      assert.equal((await runMeter(home, ["stop"])).code, 0);
      assert.equal(started.code, 1);
      assert.match(started.stdout, /^Started, but DEGRADED\. Proxy: /);
      const meter = await rig.start(home);
      entries.push(await rig.call(meter));
      const { stdout } = await statusUntil(home, 1);
      assert.match(stdout, /\nlast error {2}newer_schema: .*upgrade meter/);
      assert.ok(readFileSync(path).equals(evidence));
      const secret = readFileSync(tokenFile(home), "utf8").trim();
      const paused = await requestDaemon(meter.apiPort, "/v1/cloud/pause", secret, { method: "POST" });
      assert.deepEqual([paused.status, JSON.parse(paused.body).code], [503, "store_unavailable"]);
      const report = await runMeter(home, ["report"]);
      assert.deepEqual(
        [report.code, report.stderr],
        [
          1,
          "meter: The database was written by a newer version of meter.\nUpdate meter as it was installed; in a clone: git pull && npm ci\n",
        ],
      );
      setVersion(ours);
      await statusUntil(home, 0);
      await assertRows(meter, entries);
    },
  },
];
