import assert from "node:assert/strict";
import { closeSync, fstatSync, openSync, readFileSync, statfsSync, writeSync } from "node:fs";
import process from "node:process";
import { afterEach, beforeEach, describe, it } from "node:test";
import { openMemoryFiles } from "../../../adapters/threads/memory-files.ts";
import {
  createMemoryLogReader,
  createMemoryLogWriter,
  ENTRY_HEADER_BYTES,
  MEMORY_LOG_FILES,
  type MemoryLogFiles,
} from "../../../adapters/threads/memory-log.ts";

const END = Number.POSITIVE_INFINITY;
const skip = process.platform === "linux" ? false : "only Linux has files in memory";

/** An entry of this size whose content is one byte, repeated. */
const entry = (size: number, content: number) => new Uint8Array(size).fill(content);

describe("a log in memory", { skip }, () => {
  let files: MemoryLogFiles;
  beforeEach(() => {
    files = openMemoryFiles<MemoryLogFiles>(MEMORY_LOG_FILES) as MemoryLogFiles;
  });
  afterEach(() => {
    for (const fd of files) closeSync(fd);
  });
  const content = (read: readonly Uint8Array[]) =>
    read.map((each) => `${each.length}: ${each[ENTRY_HEADER_BYTES]}, ${each.at(-1)}`);

  it("is in memory only, has no name, and belongs to this user", () => {
    for (const fd of files) {
      assert.equal(fstatSync(fd).nlink, 0);
      assert.equal(fstatSync(fd).mode & 0o777, 0o600);
      assert.equal(statfsSync(`/proc/self/fd/${fd}`).type, 0x01021994, "tmpfs");
    }
  });

  it("returns each entry once, in order, up to a limit", () => {
    const writer = createMemoryLogWriter(files);
    const reader = createMemoryLogReader(files);
    for (let each = 1; each <= 4; each += 1) assert.equal(writer.write(entry(8 * (each + 3), each)), true);
    assert.equal(writer.lastEntry(), 4);
    assert.deepEqual(content(reader.read(2)), ["32: 1, 1", "40: 2, 2"]);
    assert.deepEqual([reader.hasRead(2), reader.hasRead(3)], [true, false]);
    assert.deepEqual(reader.read(2), []);
    assert.deepEqual(content(reader.read(END)), ["48: 3, 3", "56: 4, 4"]);
    assert.deepEqual(reader.read(END), []);
    writer.write(entry(32, 5));
    assert.deepEqual(content(reader.read(END)), ["32: 5, 5"]);
  });

  it("returns entries that are larger than its buffer", () => {
    const writer = createMemoryLogWriter(files);
    const reader = createMemoryLogReader(files);
    for (const size of [40_000, 70_000, 400_000, 32]) writer.write(entry(size, 1));
    const sizes: number[] = [];
    for (let read = reader.read(END); read.length > 0; read = reader.read(END))
      sizes.push(...read.map(({ length }) => length));
    assert.deepEqual(sizes, [40_000, 70_000, 400_000, 32]);
  });

  it("alternates between its two segments while the reader keeps up, and loses nothing if it falls behind", () => {
    const writer = createMemoryLogWriter(files);
    const reader = createMemoryLogReader(files);
    const read: number[] = [];
    const follow = () => {
      for (let got = reader.read(END); got.length > 0; got = reader.read(END)) {
        read.push(...got.map((each) => each[ENTRY_HEADER_BYTES] as number));
        reader.acknowledge(1, 0);
      }
    };
    for (let each = 0; each < 200; each += 1) {
      assert.ok(writer.write(entry(80_000, each)));
      // It stalls for a while.
      if (each % 3 === 0 && (each < 60 || each > 120)) follow();
    }
    follow();
    assert.deepEqual(
      read,
      Array.from({ length: 200 }, (_, each) => each),
    );
    const used = fstatSync(files[0]).size + fstatSync(files[1]).size;
    assert.ok(used < 3_000_000, `16 MB passed, and ${used} bytes are left`);
  });

  it("tells the writer what the reader has processed", () => {
    const writer = createMemoryLogWriter(files);
    const reader = createMemoryLogReader(files);
    assert.deepEqual(writer.progress(), { entry: 0, bytes: 0, announcements: 0 });
    writer.write(entry(32, 1));
    reader.read(END);
    reader.acknowledge(5, 0);
    reader.acknowledge(2 ** 33, 2);
    assert.deepEqual(writer.progress(), { entry: 1, bytes: 2 ** 33 + 5, announcements: 2 });
  });

  it("does not throw if it can't reach the writer, and reports its totals again", () => {
    const readOnly = openSync(`/proc/self/fd/${files[2]}`, "r");
    createMemoryLogReader([files[0], files[1], readOnly]).acknowledge(5, 1);
    closeSync(readOnly);
    const reader = createMemoryLogReader(files);
    reader.acknowledge(5, 1);
    reader.acknowledge(0, 0);
    assert.deepEqual(createMemoryLogWriter(files).progress(), { entry: 0, bytes: 5, announcements: 1 });
  });

  it("ends before an entry that the writer could not finish", () => {
    const writer = createMemoryLogWriter(files);
    writer.write(entry(32, 1));
    // Another writer, which a crash ended in the middle of its second entry.
    const torn = new Uint8Array(32);
    new Float64Array(torn.buffer).set([2, 4_000]);
    const end = fstatSync(files[0]).size;
    writeSync(files[0], torn, 0, torn.length, end);
    const reader = createMemoryLogReader(files);
    assert.equal(reader.read(END).length, 1);
    assert.deepEqual(reader.read(END), []);
  });

  it("refuses an entry that it can't store, and takes later ones", () => {
    const readOnly = openSync(`/proc/self/fd/${files[0]}`, "r");
    assert.equal(createMemoryLogWriter([readOnly, files[1], files[2]]).write(entry(32, 1)), false);
    closeSync(readOnly);
    const writer = createMemoryLogWriter(files);
    assert.equal(writer.write(entry(32, 1)), true);
    assert.equal(readFileSync(`/proc/self/fd/${files[0]}`).length, 32);
  });
});

it("openMemoryFiles() returns null where there are none", {
  skip: skip === false && "Linux has them",
}, () => {
  assert.equal(openMemoryFiles(1), null);
});
