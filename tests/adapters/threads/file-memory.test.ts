import assert from "node:assert/strict";
import { closeSync, fstatSync } from "node:fs";
import process from "node:process";
import { it } from "node:test";
import { clearFileMemory, openFileMemory } from "../../../adapters/threads/file-memory.ts";
import { openMemoryFiles } from "../../../adapters/threads/memory-files.ts";

const skip = process.platform === "linux" ? false : "only Linux has files in memory";

it("a file's memory is shared by everything that opens it, and a part that can't be read is 0", {
  skip,
}, () => {
  const [fd] = openMemoryFiles<readonly [number]>(1) ?? assert.fail();
  clearFileMemory(fd, 8);
  assert.equal(fstatSync(fd).size, 32);
  const [one, other] = [openFileMemory(fd), openFileMemory(fd)];
  one.store(Int32Array.of(1, -2, 3), 6);
  const words = new Int32Array(4).fill(9);
  other.load(words, 5);
  assert.deepEqual([...words], [0, 1, -2, 3]);
  other.load(words, 7);
  assert.deepEqual([...words], [-2, 3, 0, 0]);
  closeSync(fd);
  other.load(words, 5);
  assert.deepEqual([...words], [0, 0, 0, 0]);
});
