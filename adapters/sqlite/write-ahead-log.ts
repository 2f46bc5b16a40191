import type { Buffer } from "node:buffer";
import { chmodSync, closeSync, copyFileSync, fdatasync, openSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { freeName } from "./database-file.ts";

// The format: sqlite.org/fileformat2.html, "The Write-Ahead Log".
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The last bit gives the byte order of the checksums. */
const MAGIC = 0x377f0682;
const FORMAT = 3_007_000;
/** Maximum size of a log that is checked, in bytes. A log is usually 4 MiB, but may grow during a long read. */
const MAX_CHECKED_BYTES = 256 * 1024 * 1024;

/** SQLite's running checksum over pairs of 32-bit words. */
function addSums(sums: [number, number], bytes: Buffer, bigEndian: boolean): [number, number] {
  let [one, two] = sums;
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + (bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + two) >>> 0;
    two = (two + (bigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + one) >>> 0;
  }
  return [one, two];
}

/**
 * Whether committed data can no longer be read from the log. SQLite reads up to the first frame with a wrong checksum and
 * silently ignores the rest. A wrong last frame is not damage: a process was killed while writing it.
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
    // Frames of the previous log generation follow the current ones.
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

/** Implements `SqliteOpener.saveDamagedLog`. SQLite handles a log that cannot be read or copied. */
export function saveDamagedLog(path: string): string | null {
  try {
    const log = `${path}-wal`;
    const bytes = readFileSync(log);
    if (bytes.length > MAX_CHECKED_BYTES || !isLogDamaged(bytes)) return null;
    const copy = freeName(`${log}.corrupt`);
    copyFileSync(log, copy);
    chmodSync(copy, 0o600);
    return copy;
  } catch {
    return null;
  }
}

/**
 * Implements `SqliteOpener.syncLog`, on a thread of the runtime's pool. The sync starts before this returns: if the file was opened
 * there too, a busy event loop would delay it.
 *
 * Syncing one descriptor covers writes through any other descriptor of the same file (fsync(2)). Closing a descriptor drops
 * the POSIX locks that the process holds on that file (fcntl(2)), which would break SQLite on the database file itself and on
 * -shm. On -wal it holds none: it locks the database file and bytes of -shm (sqlite.org/wal.html, "Locking Matrix", and
 * `unixOpen()` in os_unix.c, which leaves locks out for every file but the database).
 */
export async function syncLog(path: string): Promise<void> {
  let log: number;
  try {
    log = openSync(`${path}-wal`, "r+"); // Windows syncs only what may be written
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  try {
    await datasync(log);
  } finally {
    closeSync(log);
  }
}

const datasync = promisify(fdatasync);
