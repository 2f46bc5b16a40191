import { Buffer } from "node:buffer";
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { Outbox, OutboxEntry, OutboxItem, OutboxVerdict } from "../../core/ports/outbox.ts";
import { sha256Hex } from "../crypto/mod.ts";
import { makeFolder } from "../files/mod.ts";
import { type ExclusiveLock, waitForLock } from "../lock/mod.ts";
import { createSqliteOpener } from "../sqlite/mod.ts";

/** The folder in the meter's home. */
export const OUTBOX_FOLDER = "outbox";

/** A file is closed at this size, bytes. */
export const OUTBOX_FILE_BYTES = 16 * 1024 * 1024;

/** How many files are kept: with the size above, the log holds at most 64 MiB and one batch. */
export const OUTBOX_FILES = 4;

/** Which of the processes of a home writes: a daemon, or commands that run without one. Beside the folder. */
const LOCK_FILE = "outbox.lock";

/** How long another process may write before this one gives up, and nothing is sent, milliseconds. */
const LOCK_WITHIN_MS = 10_000;

const START = "0".repeat(64);
const NAME = /^outbox-(\d{6,})\.jsonl$/;

/** The longest line that a tail is looked for in: a batch is at most 4 MiB, and escaping may double it. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Makes the log of a home. `fileBytes` is there for tests. */
export function createOutbox(home: string, fileBytes = OUTBOX_FILE_BYTES): Outbox {
  const folder = join(home, OUTBOX_FOLDER);
  /** Where the chain stood when it was last looked at. */
  let tail: { path: string; size: number; seq: number; hash: string } | null = null;

  function files(): string[] {
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .filter((name) => NAME.test(name))
      .sort((one, other) => numberOf(one) - numberOf(other));
  }

  /** The chain's end, read anew where another process has written since. */
  function findTail(): { path: string; size: number; seq: number; hash: string } | null {
    const names = files();
    const name = names.at(-1);
    if (name === undefined) return null;
    const path = join(folder, name);
    if (tail !== null && tail.path === path && statSync(path).size === tail.size) return tail;
    const last = readLastLine(path);
    if (last !== null) return { path, size: statSync(path).size, ...placeOf(last) };
    // A file without a whole line: the chain ends in the one before.
    const before = names.at(-2);
    const earlier = before === undefined ? null : readLastLine(join(folder, before));
    return { path, size: 0, ...(earlier === null ? { seq: 0, hash: START } : placeOf(earlier)) };
  }

  /** The appends of this process, one after another: each waits for the lock in a turn of its own. */
  let running: Promise<unknown> = Promise.resolve();

  return {
    append(item) {
      const appended = running.then(async () => {
        makeFolder(folder);
        const lock = await takeTurn(join(home, LOCK_FILE));
        try {
          write(item);
        } finally {
          lock.release();
        }
      });
      running = appended.catch(() => {});
      return appended;
    },
    async *read() {
      for (const name of files()) {
        for (const line of readFileSync(join(folder, name), "utf8").split("\n")) {
          const entry = line === "" ? null : parseEntry(line);
          if (entry !== null) yield entry;
        }
      }
    },
    async verify() {
      return verifyFiles(folder, files());
    },
  };

  function write(item: OutboxItem): void {
    const at = findTail() ?? { path: fileName(1), size: 0, seq: 0, hash: START };
    const path = at.size >= fileBytes ? fileName(numberOf(at.path.slice(folder.length + 1)) + 1) : at.path;
    const entry = chain(item, at.seq + 1, at.hash);
    const line = Buffer.from(`${JSON.stringify(entry)}\n`);
    const file = openSync(path, "a", 0o600);
    try {
      const start = fstatSync(file).size;
      try {
        for (let written = 0; written < line.length; ) written += writeSync(file, line, written);
      } catch (cause) {
        ftruncateSync(file, start);
        throw cause;
      }
      tail = { path, size: start + line.length, seq: entry.seq, hash: entry.hash };
    } finally {
      closeSync(file);
    }
    for (const old of files().slice(0, -OUTBOX_FILES)) rmSync(join(folder, old), { force: true });
  }

  function fileName(number: number): string {
    return join(folder, `outbox-${String(number).padStart(6, "0")}.jsonl`);
  }
}

async function takeTurn(path: string): Promise<ExclusiveLock> {
  const lock = await waitForLock(createSqliteOpener(), path, LOCK_WITHIN_MS);
  if (lock === null) throw new Error("another process keeps the outbox: nothing is sent");
  return lock;
}

function numberOf(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? 0);
}

function placeOf(line: string): { seq: number; hash: string } {
  const entry = parseEntry(line);
  if (entry === null) throw new Error("the outbox's last line can't be read: nothing is sent");
  return { seq: entry.seq, hash: entry.hash };
}

function chain(item: OutboxItem, seq: number, previous: string): OutboxEntry {
  const { kind, at, origin, projects, requestIds, fields, payload } = item;
  const content = { seq, previous, kind, at, origin, projects, requestIds, fields, payload };
  return { ...content, hash: sha256Hex(JSON.stringify(content)) };
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
    const lines = readFileSync(join(folder, file), "utf8").split("\n");
    // What is behind the last end of a line is just being written, or was left torn and will be cut off.
    if (file === names.at(-1)) lines.pop();
    for (const [index, text] of lines.entries()) {
      if (text === "") continue;
      const fail = (problem: string): OutboxVerdict => ({ ok: false, file, line: index + 1, problem });
      const entry = parseEntry(text);
      if (entry === null) return fail("is no entry");
      if (chain(entry, entry.seq, entry.previous).hash !== entry.hash) return fail("was changed");
      if (last !== null && (entry.seq !== last.seq + 1 || entry.previous !== last.hash)) {
        return fail(`does not follow entry ${last.seq}`);
      }
      if (last === null) firstSeq = entry.seq;
      if (entry.seq === 1 && entry.previous !== START) return fail("does not begin the chain");
      last = entry;
      entries += 1;
    }
  }
  return { ok: true, entries, firstSeq, lastSeq: last?.seq ?? 0 };
}

/** The last whole line; a torn one behind it, left by a killed process before anything was sent, is cut off. */
function readLastLine(path: string): string | null {
  const file = openSync(path, "r+");
  try {
    const size = fstatSync(file).size;
    const length = Math.min(size, MAX_LINE_BYTES);
    const bytes = Buffer.alloc(length);
    readSync(file, bytes, 0, length, size - length);
    const end = bytes.lastIndexOf(0x0a);
    if (end !== length - 1) ftruncateSync(file, size - length + end + 1);
    if (end < 0) return null;
    const start = bytes.lastIndexOf(0x0a, end - 1) + 1;
    return end === 0 ? null : bytes.toString("utf8", start, end);
  } finally {
    closeSync(file);
  }
}
