import { Buffer } from "node:buffer";
import {
  closeSync,
  existsSync,
  fstatSync,
  fsync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Outbox, OutboxEntry, OutboxItem, OutboxVerdict } from "../../core/ports/outbox.ts";
import type { Millis } from "../../core/values/time.ts";
import { timeOfUuidV7 } from "../../core/values/uuid.ts";
import { sha256Hex } from "../crypto/node-crypto.ts";
import { makeFolder } from "../files/make-folder.ts";
import { syncFolder, writeFileAtomic } from "../files/write-file-atomic.ts";
import { type ExclusiveLock, waitForLock } from "../lock/exclusive-lock.ts";
import { createSqliteOpener } from "../sqlite/open-sqlite.ts";

/** The folder in the meter's home. */
const OUTBOX_FOLDER = "outbox";

/** Size at which a file is closed, in bytes. */
const OUTBOX_FILE_BYTES = 16 * 1024 * 1024;

/** Number of files: together with the size above, the log holds at most 64 MiB plus one batch. */
export const OUTBOX_FILES = 4;

/** The lock of the process that writes: a daemon, or a command that runs without one. It is next to the folder. */
const LOCK_FILE = "outbox.lock";

/** How long to wait for another process that is writing, in milliseconds. After that, nothing is sent. */
const LOCK_TIMEOUT_MS = 10_000;

const FIRST_PREVIOUS_HASH = "0".repeat(64);
const NAME = /^outbox-(\d{6,})\.jsonl$/;

/** The longest line to read at the end of a file: a batch is at most 4 MiB, and escaping can double it. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** The end of the chain: the file to append to, and the last entry. */
interface Tail {
  readonly path: string;
  /** The size of the file, in bytes. */
  readonly size: number;
  readonly seq: number;
  readonly hash: string;
}

interface OutboxState {
  readonly folder: string;
  readonly fileBytes: number;
  /** The tail at the last append of this process. */
  tail: Tail | null;
  /** The appends of this process, which run one after another, each with its own lock. */
  running: Promise<unknown>;
}

/** Creates the outbox of a home. `fileBytes` is for tests. */
export function createOutbox(home: string, fileBytes = OUTBOX_FILE_BYTES): Outbox {
  const folder = join(home, OUTBOX_FOLDER);
  const state: OutboxState = { folder, fileBytes, tail: null, running: Promise.resolve() };
  return {
    append(item) {
      const appended = state.running.then(() => appendLocked(state, join(home, LOCK_FILE), item));
      state.running = appended.catch(() => {});
      return appended;
    },
    async *read() {
      for (const name of listFiles(folder)) {
        for (const line of readFileSync(join(folder, name), "utf8").split("\n")) {
          const entry = line === "" ? null : parseEntry(line);
          if (entry !== null) yield entry;
        }
      }
    },
    async verify() {
      return verifyFiles(folder, listFiles(folder));
    },
  };
}

/**
 * Deletes what was sent of requests from before a time, and what else was sent before it. Returns the number of entries that were deleted. Entries
 * can only be removed from the beginning of the chain: if such a request was sent late, what was sent until then is deleted too. Safe to
 * repeat; a daemon may send meanwhile.
 */
export async function deleteSentBefore(home: string, before: Millis): Promise<number> {
  const folder = join(home, OUTBOX_FOLDER);
  if (!existsSync(folder)) return 0;
  const lock = await acquireLock(join(home, LOCK_FILE));
  try {
    const files = listFiles(folder).map((name) => {
      const path = join(folder, name);
      return { path, lines: readFileSync(path, "utf8").split("\n").slice(0, -1) };
    });
    const isOld = (line: string) => oldestTime(parseEntry(line)) < before;
    const last = files.findLastIndex(({ lines }) => lines.some(isOld));
    let deleted = 0;
    for (const { path, lines } of files.slice(0, last + 1)) {
      const kept = path === files[last]?.path ? lines.slice(lines.findLastIndex(isOld) + 1) : [];
      deleted += lines.length - kept.length;
      if (kept.length === 0) rmSync(path);
      else writeFileAtomic(path, kept.map((line) => `${line}\n`).join(""), { mode: 0o600 });
    }
    return deleted;
  } finally {
    lock.release();
  }
}

/** The fields of a batch that state when a request began. */
const REQUESTED_AT = /"requested_at":"([^"]+)"/g;

/** Returns the time of the oldest request of an entry, or when it was sent. An unreadable entry is older than everything. */
function oldestTime(entry: OutboxEntry | null): Millis {
  if (entry === null) return Number.NEGATIVE_INFINITY;
  const { kind, at, requestIds, payload } = entry;
  const times =
    kind === "metadata"
      ? Array.from(payload.matchAll(REQUESTED_AT), ([, text]) => Date.parse(String(text)))
      : requestIds.map(timeOfUuidV7);
  return Math.min(at, ...times.filter((time) => !Number.isNaN(time)));
}

/** Returns the names of the files, oldest first. */
function listFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => NAME.test(name))
    .sort((one, other) => numberOf(one) - numberOf(other));
}

/** Returns the tail, reading it again if another process has written since; null if there are no files. */
function findTail({ folder, tail }: OutboxState): Tail | null {
  const names = listFiles(folder);
  const name = names.at(-1);
  if (name === undefined) return null;
  const path = join(folder, name);
  if (tail !== null && tail.path === path && statSync(path).size === tail.size) return tail;
  const last = readLastLine(path);
  if (last !== null) return { path, size: statSync(path).size, ...positionOf(last) };
  // A file without a complete line: the chain ends in the previous file.
  const before = names.at(-2);
  const earlier = before === undefined ? null : readLastLine(join(folder, before));
  const position = earlier === null ? { seq: 0, hash: FIRST_PREVIOUS_HASH } : positionOf(earlier);
  return { path, size: 0, ...position };
}

async function appendLocked(state: OutboxState, lockPath: string, item: OutboxItem): Promise<void> {
  makeFolder(state.folder);
  const lock = await acquireLock(lockPath);
  try {
    await appendEntry(state, item);
  } finally {
    lock.release();
  }
}

async function appendEntry(state: OutboxState, item: OutboxItem): Promise<void> {
  const { folder, fileBytes } = state;
  const at = findTail(state) ?? { path: filePath(folder, 1), size: 0, seq: 0, hash: FIRST_PREVIOUS_HASH };
  const path = at.size >= fileBytes ? filePath(folder, numberOf(basename(at.path)) + 1) : at.path;
  const seq = at.seq + 1;
  const { hash, line } = chain(item, seq, at.hash);
  const size = await appendLine(path, Buffer.from(`${line}\n`));
  state.tail = { path, size, seq, hash };
  for (const old of listFiles(folder).slice(0, -OUTBOX_FILES)) rmSync(join(folder, old), { force: true });
}

const fsyncLater = promisify(fsync);

/**
 * Appends a line completely or not at all, and syncs it to disk, since it is sent next. Returns the new size of the file. The thread does not
 * wait for the disk: new connections need it meanwhile.
 */
async function appendLine(path: string, line: Buffer): Promise<number> {
  const file = openSync(path, "a", 0o600);
  try {
    const start = fstatSync(file).size;
    try {
      for (let written = 0; written < line.length; ) written += writeSync(file, line, written);
      await fsyncLater(file);
    } catch (cause) {
      ftruncateSync(file, start);
      throw cause;
    }
    if (start === 0) {
      // The name of a new file, and that of a new outbox.
      syncFolder(dirname(path));
      syncFolder(dirname(dirname(path)));
    }
    return start + line.length;
  } finally {
    closeSync(file);
  }
}

function filePath(folder: string, number: number): string {
  return join(folder, `outbox-${String(number).padStart(6, "0")}.jsonl`);
}

async function acquireLock(path: string): Promise<ExclusiveLock> {
  const lock = await waitForLock(createSqliteOpener(), path, LOCK_TIMEOUT_MS);
  if (lock === null) throw new Error("another process holds the outbox lock, so nothing is sent");
  return lock;
}

function numberOf(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? 0);
}

function positionOf(line: string): { seq: number; hash: string } {
  const entry = parseEntry(line);
  if (entry === null) throw new Error("the last line of the outbox cannot be read, so nothing is sent");
  return { seq: entry.seq, hash: entry.hash };
}

/** Returns the hash of an entry, and its line: the hashed text with the hash as its last member. */
function chain(item: OutboxItem, seq: number, previous: string): { hash: string; line: string } {
  const { kind, at, origin, projects, requestIds, fields, payload } = item;
  const text = JSON.stringify({ seq, previous, kind, at, origin, projects, requestIds, fields, payload });
  const hash = sha256Hex(text);
  return { hash, line: `${text.slice(0, -1)},"hash":"${hash}"}` };
}

function parseEntry(line: string): OutboxEntry | null {
  try {
    const entry = JSON.parse(line) as OutboxEntry;
    return Number.isSafeInteger(entry.seq) && typeof entry.hash === "string" ? entry : null;
  } catch {
    return null;
  }
}

function verifyFiles(folder: string, names: readonly string[]): OutboxVerdict {
  let entries = 0;
  let firstSeq = 0;
  let last: OutboxEntry | null = null;
  for (const file of names) {
    const bytes = readFileSync(join(folder, file));
    // The rest of the last file is still being written, or is incomplete and will be cut off.
    const end = file === names.at(-1) ? endOfLines(bytes) : bytes.length;
    const lines = bytes.toString("utf8", 0, end).split("\n");
    for (const [index, text] of lines.entries()) {
      if (text === "") continue;
      const fail = (problem: string): OutboxVerdict => ({ ok: false, file, line: index + 1, problem });
      const entry = parseEntry(text);
      if (entry === null) return fail("is not a valid entry");
      if (chain(entry, entry.seq, entry.previous).hash !== entry.hash) return fail("was changed");
      if (last !== null && (entry.seq !== last.seq + 1 || entry.previous !== last.hash)) {
        return fail(`does not follow entry ${last.seq}`);
      }
      if (last === null) firstSeq = entry.seq;
      if (entry.seq === 1 && entry.previous !== FIRST_PREVIOUS_HASH) return fail("does not begin the chain");
      last = entry;
      entries += 1;
    }
  }
  return { ok: true, entries, firstSeq, lastSeq: last?.seq ?? 0 };
}

/**
 * Returns where the complete lines end. Behind it may be a line that was not sent, because its process was killed or the power
 * went: without its line feed, or with zeros in place of sectors that were not written. No entry contains a zero byte.
 */
function endOfLines(bytes: Buffer): number {
  const zero = bytes.indexOf(0);
  return (zero < 0 ? bytes : bytes.subarray(0, zero)).lastIndexOf(0x0a) + 1;
}

/** Returns the last complete line. Cuts off an incomplete line after it. */
function readLastLine(path: string): string | null {
  const file = openSync(path, "r+");
  try {
    const size = fstatSync(file).size;
    const length = Math.min(size, MAX_LINE_BYTES);
    const bytes = Buffer.alloc(length);
    readSync(file, bytes, 0, length, size - length);
    const end = endOfLines(bytes) - 1;
    if (end !== length - 1) ftruncateSync(file, size - length + end + 1);
    if (end < 0) return null;
    const start = bytes.lastIndexOf(0x0a, end - 1) + 1;
    return end === 0 ? null : bytes.toString("utf8", start, end);
  } finally {
    closeSync(file);
  }
}
