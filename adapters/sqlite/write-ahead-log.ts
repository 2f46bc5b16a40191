import type { Buffer } from "node:buffer";
import { chmodSync, copyFileSync, readFileSync } from "node:fs";
import { freeName } from "./database-file.ts";

// The format: sqlite.org/fileformat2.html, "The Write-Ahead Log".
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The last bit says how the words of the sums are written. */
const MAGIC = 0x377f0682;
const FORMAT = 3_007_000;
/** A log is 4 MiB as a rule; one that grew beyond this while somebody read for long is not looked through. */
const MOST_BYTES = 256 * 1024 * 1024;

/** SQLite's running sum over pairs of words. */
function addSums(sums: [number, number], bytes: Buffer, bigEndian: boolean): [number, number] {
  let [one, two] = sums;
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + (bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + two) >>> 0;
    two = (two + (bigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + one) >>> 0;
  }
  return [one, two];
}

/**
 * Whether something that was committed can't be read from the log any more. SQLite reads it up to the first frame whose
 * sum is wrong, without a word about the rest. The last frame alone may be torn: a process was killed while it wrote it.
 */
export function isLogDamaged(log: Buffer): boolean {
  if (log.length === 0) return false;
  if (log.length < HEADER_BYTES) return true;
  const magic = log.readUInt32BE(0);
  if ((magic & ~1) >>> 0 !== MAGIC || log.readUInt32BE(4) !== FORMAT) return true;
  const bigEndian = (magic & 1) === 1;
  let sums = addSums([0, 0], log.subarray(0, 24), bigEndian);
  if (sums[0] !== log.readUInt32BE(24) || sums[1] !== log.readUInt32BE(28)) return true;
  const pageBytes = log.readUInt32BE(8);
  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const salts = log.subarray(16, 24);
  let broken: number | null = null;
  let lastOwn = -1;
  let commitsBehind = 0;
  for (let at = HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    // Frames of an earlier round of the log lie behind the current ones.
    if (!log.subarray(at + 8, at + 16).equals(salts)) {
      broken ??= at;
      continue;
    }
    lastOwn = at;
    if (broken === null) {
      sums = addSums(sums, log.subarray(at, at + 8), bigEndian);
      sums = addSums(sums, log.subarray(at + FRAME_HEADER_BYTES, at + frameBytes), bigEndian);
      if (sums[0] !== log.readUInt32BE(at + 16) || sums[1] !== log.readUInt32BE(at + 20)) broken = at;
    }
    if (broken !== null && log.readUInt32BE(at + 4) !== 0) commitsBehind += 1;
  }
  return broken !== null && commitsBehind > 0 && lastOwn !== broken;
}

/** As `SqliteOpener.keepDamagedLog` says. What can't be read or copied is left to SQLite. */
export function keepDamagedLog(path: string): string | null {
  try {
    const log = `${path}-wal`;
    const bytes = readFileSync(log);
    if (bytes.length > MOST_BYTES || !isLogDamaged(bytes)) return null;
    const copy = freeName(`${log}.corrupt`);
    copyFileSync(log, copy);
    chmodSync(copy, 0o600);
    return copy;
  } catch {
    return null;
  }
}
