import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { createSqliteOpener } from "../../../adapters/sqlite/mod.ts";
import { isLogDamaged, keepDamagedLog } from "../../../adapters/sqlite/write-ahead-log.ts";

const opener = createSqliteOpener();
const folder = mkdtempSync(join(tmpdir(), "meter-wal-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;

const FRAME_BYTES = 24 + 4_096;

/** SQLite's log after so many transactions, the first of which are in the database already. */
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
  it("finds nothing wrong with what SQLite wrote, frames of an earlier round behind it included", async () => {
    assert.equal(isLogDamaged(Buffer.alloc(0)), false);
    assert.equal(isLogDamaged(await logOf(5)), false);
    assert.equal(isLogDamaged(await logOf(2, 20)), false);
  });

  it("finds damage in the header and in a frame that others follow", async () => {
    const log = await logOf(6);
    for (const at of [0, 5, 17, 25, 32 + 9, 32 + 100, 32 + FRAME_BYTES + 17]) {
      assert.equal(isLogDamaged(changed(log, at)), true, `byte ${at}`);
    }
    assert.equal(isLogDamaged(Buffer.alloc(log.length, 0x5a)), true);
    assert.equal(isLogDamaged(Buffer.alloc(log.length)), true);
    assert.equal(isLogDamaged(log.subarray(0, 20)), true);
  });

  it("takes a last frame that is torn or half there for what a kill leaves", async () => {
    const log = await logOf(6);
    const lastFrame = log.length - FRAME_BYTES;
    assert.equal(isLogDamaged(changed(log, lastFrame + 500)), false);
    assert.equal(isLogDamaged(log.subarray(0, log.length - 700)), false);
  });
});

describe("keepDamagedLog()", () => {
  it("copies a damaged one for the owner alone, under a free name, and leaves it where it is", async () => {
    const path = join(folder, "kept.db");
    assert.equal(keepDamagedLog(path), null, "there is none");
    const log = await logOf(3);
    writeFileSync(`${path}-wal`, log);
    assert.equal(keepDamagedLog(path), null);
    writeFileSync(`${path}-wal`, changed(log, 100), { mode: 0o644 });
    assert.equal(keepDamagedLog(path), `${path}-wal.corrupt`);
    assert.equal(keepDamagedLog(path), `${path}-wal.corrupt-2`);
    assert.ok(readFileSync(`${path}-wal.corrupt`).equals(changed(log, 100)));
    assert.ok(existsSync(`${path}-wal`));
    if (process.platform !== "win32") assert.equal(statSync(`${path}-wal.corrupt`).mode & 0o077, 0);
  });
});
