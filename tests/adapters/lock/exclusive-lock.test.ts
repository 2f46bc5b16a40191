import assert from "node:assert/strict";
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import {
  findLockHolder,
  isLocked,
  PROBE_WAIT_MS,
  takeExclusiveLock,
  takeKeptLock,
} from "../../../adapters/lock/exclusive-lock.ts";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "meter-lock-"));
chmodSync(folder, 0o700);
after(() => rmSync(folder, { recursive: true, force: true }));
const opener = createSqliteOpener();

/** Whether the kernel lists locks, with the device numbers of the folder's file system. */
const hasLockTable = existsSync("/proc/locks") && !/^(?:btrfs|overlay)$/.test(fileSystemOf(folder));

function fileSystemOf(path: string): string {
  const { status, stdout } = spawnSync("stat", ["-f", "-c", "%T", path], { encoding: "utf8" });
  return status === 0 ? stdout.trim().replace(/^overlayfs$/, "overlay") : "";
}

describe("takeExclusiveLock()", () => {
  it("grants the lock to one holder at a time", async () => {
    const path = join(folder, "one.lock");
    const first = await takeExclusiveLock(opener, path);
    assert.ok(first);
    assert.equal(await takeExclusiveLock(opener, path), null);
    first.release();
    const second = await takeExclusiveLock(opener, path);
    assert.ok(second);
    second.release();
  });

  it("is released when its holder is killed", {
    skip: "Deno" in globalThis || "Bun" in globalThis,
  }, async () => {
    const path = join(folder, "killed.lock");
    const script = join(folder, "holder.ts");
    const lockModule = new URL("../../../adapters/lock/exclusive-lock.ts", import.meta.url).href;
    const sqliteModule = new URL("../../../adapters/sqlite/open-sqlite.ts", import.meta.url).href;
    writeFileSync(
      script,
      `import { takeExclusiveLock } from ${JSON.stringify(lockModule)};
       import { createSqliteOpener } from ${JSON.stringify(sqliteModule)};
       const lock = await takeExclusiveLock(createSqliteOpener(), ${JSON.stringify(path)});
       process.send(lock !== null);
       setInterval(() => lock, 1000);`,
    );
    const holder = fork(script);
    const [held] = await once(holder, "message");
    assert.equal(held, true);
    assert.equal(await takeExclusiveLock(opener, path), null);
    if (hasLockTable) assert.equal(findLockHolder(path), holder.pid);
    holder.kill("SIGKILL");
    await once(holder, "exit");
    assert.equal(findLockHolder(path), null);
    const lock = await takeExclusiveLock(opener, path);
    assert.ok(lock);
    lock.release();
  });
});

describe("isLocked()", () => {
  it("reports whether the lock is held, without blocking others", async () => {
    const path = join(folder, "looked-at.lock");
    assert.equal(await isLocked(opener, path), false);
    const lock = await takeExclusiveLock(opener, path);
    assert.equal(await isLocked(opener, path), true);
    lock?.release();
    assert.equal(await isLocked(opener, path), false);
    const looks = Array.from({ length: 20 }, () => isLocked(opener, path));
    const again = await takeExclusiveLock(opener, path, PROBE_WAIT_MS);
    assert.ok(again);
    await Promise.all(looks);
    again.release();
  });
});

describe("takeKeptLock()", { skip: process.platform === "win32" && "an open file can't be deleted" }, () => {
  it("takes the lock of a new file if its own was deleted", async () => {
    const path = join(folder, "kept.lock");
    const lock = await takeKeptLock(opener, path);
    assert.ok(lock);
    assert.equal(await lock.isHeld(), true);
    rmSync(path);
    assert.equal(await isLocked(opener, path), false);
    assert.equal(await lock.isHeld(), true);
    assert.equal(await isLocked(opener, path), true);
    lock.release();
    assert.equal(await isLocked(opener, path), false);
  });

  it("is not held while the folder can't be read, and is again afterwards", async () => {
    const inner = join(folder, "unreadable");
    mkdirSync(inner, { mode: 0o700 });
    const lock = await takeKeptLock(opener, join(inner, "kept.lock"));
    renameSync(inner, `${inner}-moved`);
    symlinkSync(inner, inner);
    assert.equal(await lock?.isHeld(), false);
    rmSync(inner);
    renameSync(`${inner}-moved`, inner);
    assert.equal(await lock?.isHeld(), true);
    lock?.release();
  });

  it("is lost to another that locked the new file first, and creates no folder", async () => {
    const inner = join(folder, "inner");
    const path = join(inner, "lost.lock");
    const lock = await takeKeptLock(opener, path);
    assert.ok(lock);
    rmSync(path);
    const other = await takeExclusiveLock(opener, path);
    assert.ok(other);
    assert.equal(await lock.isHeld(), false);
    other.release();
    rmSync(inner, { recursive: true });
    assert.equal(await lock.isHeld(), false);
    assert.equal(existsSync(inner), false);
    lock.release();
  });
});
