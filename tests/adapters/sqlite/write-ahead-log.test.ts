import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import { isLogDamaged, saveDamagedLog, syncLog } from "../../../adapters/sqlite/write-ahead-log.ts";

const opener = createSqliteOpener();
const folder = mkdtempSync(join(tmpdir(), "meter-wal-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;

const FRAME_BYTES = 24 + 4_096;

/** SQLite's log after this number of transactions, the first of which are already in the database. */
async function logOf(transactions: number, before = 0): Promise<Buffer> {
  const path = join(folder, `${(files += 1)}.db`);
  const connection = await opener.open(path);
  try {
    connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)");
    const insert = connection.prepare("INSERT INTO t (b) VALUES (?)");
    const fill = (count: number) => {
      for (let n = 0; n < count; n += 1) insert.run(["x".repeat(3_000)]);
    };
    fill(before);
    if (before > 0) connection.prepare("PRAGMA wal_checkpoint(RESTART)").all([]);
    fill(transactions);
    return readFileSync(`${path}-wal`);
  } finally {
    connection.close();
  }
}

const changed = (log: Buffer, at: number, bytes = 1): Buffer => {
  const copy = Buffer.from(log);
  for (let n = at; n < at + bytes; n += 1) copy[n] = (copy[n] ?? 0) ^ 0xff;
  return copy;
};

describe("isLogDamaged()", () => {
  it("accepts what SQLite wrote, including frames of the previous generation", async () => {
    assert.equal(isLogDamaged(Buffer.alloc(0)), false);
    assert.equal(isLogDamaged(await logOf(5)), false);
    assert.equal(isLogDamaged(await logOf(2, 20)), false);
  });

  it("detects damage in the header and in a frame that others follow", async () => {
    const log = await logOf(6);
    for (const at of [0, 5, 17, 25, 32 + 9, 32 + 100, 32 + FRAME_BYTES + 17]) {
      assert.equal(isLogDamaged(changed(log, at)), true, `byte ${at}`);
    }
    assert.equal(isLogDamaged(Buffer.alloc(log.length, 0x5a)), true);
    assert.equal(isLogDamaged(Buffer.alloc(log.length)), true);
    assert.equal(isLogDamaged(log.subarray(0, 20)), true);
  });

  it("accepts a damaged or incomplete last frame, which a kill can leave", async () => {
    const log = await logOf(6);
    const lastFrame = log.length - FRAME_BYTES;
    assert.equal(isLogDamaged(changed(log, lastFrame + 500)), false);
    assert.equal(isLogDamaged(log.subarray(0, log.length - 700)), false);
  });
});

describe("saveDamagedLog()", () => {
  it("copies a damaged log under a free name, readable only by its owner, and keeps the original", async () => {
    const path = join(folder, "kept.db");
    assert.equal(saveDamagedLog(path), null, "there is none");
    const log = await logOf(3);
    writeFileSync(`${path}-wal`, log);
    assert.equal(saveDamagedLog(path), null);
    writeFileSync(`${path}-wal`, changed(log, 100), { mode: 0o644 });
    assert.equal(saveDamagedLog(path), `${path}-wal.corrupt`);
    assert.equal(saveDamagedLog(path), `${path}-wal.corrupt-2`);
    assert.ok(readFileSync(`${path}-wal.corrupt`).equals(changed(log, 100)));
    assert.ok(existsSync(`${path}-wal`));
    if (process.platform !== "win32") assert.equal(statSync(`${path}-wal.corrupt`).mode & 0o077, 0);
  });
});

describe("syncLog()", () => {
  it("keeps the connection's locks: another process cannot write into its transaction", async () => {
    const path = join(folder, `${(files += 1)}.db`);
    await syncLog(path); // without a -wal, there is nothing to do
    const connection = await opener.open(path, { synchronous: "normal" });
    connection.execute("CREATE TABLE t (x INTEGER) STRICT; BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
    await syncLog(path);
    await syncLog(path);
    assert.equal(writeElsewhere(path), "locked");
    connection.execute("COMMIT");
    await syncLog(path);
    assert.equal(writeElsewhere(path), "written");
    connection.close();
  });

  it("takes no lock, because SQLite locks other files than the log", {
    skip: !existsSync("/proc/locks"),
  }, async () => {
    const path = join(folder, `${(files += 1)}.db`);
    const connection = await opener.open(path, { synchronous: "normal" });
    connection.execute("CREATE TABLE t (x INTEGER) STRICT; BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
    const locked = (file: string) => {
      const { ino } = statSync(file);
      return readFileSync("/proc/locks", "utf8")
        .split("\n")
        .filter((line) => line.includes(`:${ino} `)).length;
    };
    assert.ok(locked(`${path}-shm`) > 0);
    assert.equal(locked(`${path}-wal`), 0);
    const held = [locked(path), locked(`${path}-shm`)];
    await syncLog(path);
    assert.deepEqual([locked(path), locked(`${path}-shm`)], held);
    connection.close();
  });
});

/** Tries to write from another process, on the current runtime. */
function writeElsewhere(path: string): string {
  const script = fileURLToPath(new URL("./try-to-write.rig.ts", import.meta.url));
  const words = "Deno" in globalThis ? ["run", "--allow-all", "--no-check"] : [];
  return execFileSync(process.execPath, [...words, script, path], { encoding: "utf8" }).trim();
}
