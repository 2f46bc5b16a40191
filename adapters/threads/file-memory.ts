import { readSync, writeSync } from "node:fs";

/** A file of `openMemoryFiles()` as 32-bit words, which several processes share. */
export interface FileMemory {
  /** Fills the array with the words from this one on. What can't be read is 0. Never throws. */
  load(words: Int32Array, from: number): void;
  /** Writes the words from this one on. */
  store(words: Int32Array, from: number): void;
}

const WORD_BYTES = Int32Array.BYTES_PER_ELEMENT;

/** Sets all words to 0, so that later writes need no more memory. Throws if there is none. */
export function clearFileMemory(fd: number, words: number): void {
  writeSync(fd, new Int32Array(words), 0, words * WORD_BYTES, 0);
}

/** Opens the memory. */
export function openFileMemory(fd: number): FileMemory {
  return {
    load(words, from) {
      let size = 0;
      try {
        size = readSync(fd, words, 0, words.byteLength, from * WORD_BYTES);
      } catch {
        // Nothing was read.
      }
      if (size < words.byteLength) words.fill(0, Math.floor(size / WORD_BYTES));
    },
    store: (words, from) => void writeSync(fd, words, 0, words.byteLength, from * WORD_BYTES),
  };
}
