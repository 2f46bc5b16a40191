import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { LOG_BACKUPS, MAX_LOG_FILE_MIB, openLogFile } from "../../../adapters/log/rotating-log-file.ts";

const folder = mkdtempSync(join(tmpdir(), "meter-log-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const isOpenToOthers = (path: string): boolean => (statSync(path).mode & 0o077) !== 0;

describe("openLogFile()", () => {
  it("appends lines to a file that only its owner can read, regardless of its earlier mode", async () => {
    const path = join(folder, "daemon.log");
    writeFileSync(path, "", { mode: 0o644 });
    for (const line of ["one\n", "two\n"]) {
      const file = openLogFile(path);
      file.write(line, "info");
      await file.close();
    }
    assert.equal(readFileSync(path, "utf8"), "one\ntwo\n");
    assert.ok(process.platform === "win32" || !isOpenToOthers(path));
  });

  it("gathers lines of information after a write, up to the next warning", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const path = join(folder, "together.log");
    const file = openLogFile(path);
    for (const line of ["one\n", "two\n", "three\n"]) file.write(line, "info");
    const read = async (size: number) => {
      while (!existsSync(path) || statSync(path).size < size) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      return readFileSync(path, "utf8");
    };
    assert.equal(await read(4), "one\n");
    t.mock.timers.tick(50);
    assert.equal(await read(14), "one\ntwo\nthree\n");
    file.write("four\n", "info");
    file.write("five\n", "warn");
    assert.equal(await read(24), "one\ntwo\nthree\nfour\nfive\n");
    await file.close();
    assert.equal(file.lost(), 0);
  });

  it("rotates as specified", async () => {
    assert.deepEqual([MAX_LOG_FILE_MIB, LOG_BACKUPS], [100, 5]);
    const place = join(folder, "full");
    mkdirSync(place);
    const path = join(place, "meter.log");
    writeFileSync(path, "");
    // Holes: they count as size and take no room.
    truncateSync(path, 104_857_600 - 20);
    for (const [lines, files] of [
      [1, ["meter.log"]],
      [2, ["meter.1.log", "meter.log"]],
    ] as const) {
      const file = openLogFile(path);
      for (let line = 0; line < lines; line += 1) file.write("ten bytes\n", "info");
      await file.close();
      assert.deepEqual(readdirSync(place).sort(), files);
    }
    assert.deepEqual([statSync(join(place, "meter.1.log")).size, statSync(path).size], [104_857_600, 10]);
  });

  it("closes a full file and keeps five, with whole lines in each", async () => {
    const rotated = join(folder, "rotated");
    const line = `${"x".repeat(99)}\n`;
    for (let round = 0; round < LOG_BACKUPS + 3; round += 1) {
      const file = openLogFile(join(rotated, "meter.log"), 1000);
      for (let count = 0; count < 10; count += 1) file.write(line, "info");
      await file.close();
      assert.equal(file.lost(), 0);
    }
    const backups = Array.from({ length: LOG_BACKUPS }, (_, index) => `meter.${index + 1}.log`);
    const files = readdirSync(rotated).sort();
    assert.deepEqual(
      files.filter((file) => file !== "meter.log"),
      backups,
    );
    for (const file of files) {
      assert.match(readFileSync(join(rotated, file), "utf8"), /^(?:x{99}\n)*$/);
      assert.ok(process.platform === "win32" || !isOpenToOthers(join(rotated, file)));
    }
  });

  it("counts what it can't write instead of throwing", async () => {
    writeFileSync(join(folder, "file"), "");
    const file = openLogFile(join(folder, "file", "meter.log"));
    await file.close();
    file.write("line\n", "info");
    assert.equal(file.lost(), 1);
  });

  it("continues with a later line, and does not recreate a removed folder", async () => {
    const place = join(folder, "blocked");
    const path = join(place, "meter.log");
    // A folder where the file should be.
    mkdirSync(path, { recursive: true });
    const file = openLogFile(path, 1_000, 0);
    while (file.lost() === 0) {
      file.write("lost\n", "info");
      await new Promise((resolve) => setImmediate(resolve));
    }
    rmSync(place, { recursive: true });
    const before = file.lost();
    file.write("no folder\n", "info");
    assert.equal(file.lost(), before + 1);
    assert.equal(existsSync(place), false);
    mkdirSync(place);
    file.write("back\n", "info");
    await file.close();
    assert.equal(readFileSync(path, "utf8"), "back\n");
  });
});
