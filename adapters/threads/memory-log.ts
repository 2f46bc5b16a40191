import { ftruncateSync, readSync, writeSync } from "node:fs";

/**
 * The descriptors of `openMemoryFiles()` through which one process hands a log to another: two segments, which take turns, and what the
 * reader has read. What was written outlives a crash of either process.
 */
export type MemoryLogFiles = readonly [segment: number, otherSegment: number, progress: number];

/** The number of these files. */
export const MEMORY_LOG_FILES: MemoryLogFiles["length"] = 3;

/** The size of a segment in bytes from which on the other one is used once that has been read. */
const SEGMENT_BYTES = 1_048_576;

/** How many more bytes go to a segment before the writer checks again whether the other one has been read. */
const TURN_STEP_BYTES = 65_536;

/** An entry begins with its number, from 1, and its size in bytes, this header included, as 64-bit floats. */
export const ENTRY_HEADER_BYTES = 16;

/** The first size of the reader's buffer. It grows to the largest entry. */
const READ_BYTES = 262_144;

/** The sums of what the reader has read, as 64-bit floats: the last entry, bytes, announcements, and a check. */
const PROGRESS_BYTES = 32;

/** What the reader has read so far. */
export interface LogProgress {
  readonly entry: number;
  readonly bytes: number;
  readonly announcements: number;
}

/** The writing end. */
export interface MemoryLogWriter {
  /**
   * Appends an entry, whose first `ENTRY_HEADER_BYTES` it sets. Begin and size must be multiples of 8. Returns false if there is no room for
   * it. Never throws.
   */
  write(entry: Uint8Array): boolean;
  /** The number of the last entry. */
  lastEntry(): number;
  progress(): LogProgress;
}

/** The reading end. */
export interface MemoryLogReader {
  /**
   * Returns the next entries up to the one of this number: some at once, none at the end. Their bytes begin at a multiple of 8 and are
   * valid until the next call.
   */
  read(through: number): Uint8Array<ArrayBuffer>[];
  /** Whether the entry of this number was read. */
  hasRead(entry: number): boolean;
  /**
   * Tells the writer that everything which `read()` returned was processed, and that this much was. Never throws: what could not be told is
   * part of the next call.
   */
  acknowledge(bytes: number, announcements: number): void;
}

/** Opens the writing end. */
export function createMemoryLogWriter([
  segment,
  otherSegment,
  progressFile,
]: MemoryLogFiles): MemoryLogWriter {
  let current = { fd: segment, end: 0, last: 0 };
  let other = { fd: otherSegment, end: 0, last: 0 };
  let last = 0;
  let turnAt = SEGMENT_BYTES;
  let read: LogProgress = { entry: 0, bytes: 0, announcements: 0 };
  const sums = new Float64Array(PROGRESS_BYTES / 8);

  function progress(): LogProgress {
    if (readSync(progressFile, sums, 0, PROGRESS_BYTES, 0) === PROGRESS_BYTES) {
      const [entry = 0, bytes = 0, announcements = 0, check] = sums;
      // Else the reader is writing it.
      if (check === entry + bytes + announcements) read = { entry, bytes, announcements };
    }
    return read;
  }

  /** Uses the other segment if the reader has left it. */
  function turn(): void {
    if (read.entry <= other.last && progress().entry <= other.last) {
      turnAt = current.end + TURN_STEP_BYTES;
      return;
    }
    turnAt = SEGMENT_BYTES;
    ftruncateSync(other.fd, 0);
    [current, other] = [{ fd: other.fd, end: 0, last }, current];
  }

  return {
    lastEntry: () => last,
    progress,
    write(entry) {
      const size = entry.length;
      const header = new Float64Array(entry.buffer, entry.byteOffset, 2);
      header[0] = last + 1;
      header[1] = size;
      try {
        if (current.end >= turnAt) turn();
        if (writeSync(current.fd, entry, 0, size, current.end) !== size) {
          ftruncateSync(current.fd, current.end);
          return false;
        }
      } catch {
        return false;
      }
      current.end += size;
      current.last = last += 1;
      return true;
    },
  };
}

/** Opens the reading end. */
export function createMemoryLogReader([
  segment,
  otherSegment,
  progressFile,
]: MemoryLogFiles): MemoryLogReader {
  const segments: [current: number, other: number] = [segment, otherSegment];
  let at = 0;
  let last = 0;
  let buffer = new Uint8Array(READ_BYTES);
  const sums = new Float64Array(PROGRESS_BYTES / 8);

  /** Returns the complete entries at this place of a segment, up to a number. */
  function readAt(fd: number, from: number, through: number): Uint8Array<ArrayBuffer>[] {
    const length = readSync(fd, buffer, 0, buffer.length, from);
    const entries: Uint8Array<ArrayBuffer>[] = [];
    let offset = 0;
    while (last < through && offset + ENTRY_HEADER_BYTES <= length) {
      const [number, size = 0] = new Float64Array(buffer.buffer, offset, 2);
      if (number !== last + 1) break;
      if (offset + size > length) {
        // An entry that is larger than the buffer, or that the writer could not finish.
        if (offset > 0 || size <= buffer.length) break;
        buffer = new Uint8Array(size);
        return readAt(fd, from, through);
      }
      entries.push(buffer.subarray(offset, offset + size));
      offset += size;
      last = number;
    }
    at = from + offset;
    return entries;
  }

  return {
    read(through) {
      if (last >= through) return [];
      const entries = readAt(segments[0], at, through);
      if (entries.length > 0) return entries;
      const place = at;
      const next = readAt(segments[1], 0, through);
      if (next.length > 0) segments.reverse();
      else at = place;
      return next;
    },
    hasRead: (entry) => last >= entry,
    acknowledge(bytes, announcements) {
      sums[0] = last;
      sums[1] = (sums[1] as number) + bytes;
      sums[2] = (sums[2] as number) + announcements;
      sums[3] = last + sums[1] + sums[2];
      try {
        writeSync(progressFile, sums, 0, PROGRESS_BYTES, 0);
      } catch {
        // The next call writes the same sums.
      }
    },
  };
}
