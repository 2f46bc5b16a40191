import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { SeededRandom } from "../../simulation/seeded-random.ts";

/** The operations of record-writes.c, by number. */
const OPERATIONS = ["", "write", "truncate", "sync", "create", "rename", "unlink", "mkdir", "link"] as const;

/** What a disk writes completely or not at all, in bytes. */
const SECTOR_BYTES = 512;

const HEADER_BYTES = 40;

/** One recorded operation. */
export interface WriteRecord {
  readonly op: (typeof OPERATIONS)[number];
  /** By the machine's monotonic clock, in nanoseconds, as `process.hrtime.bigint()`. */
  readonly atNs: bigint;
  readonly ino: bigint;
  /** Of a write its place, of a truncation the new size, in bytes. */
  readonly offset: number;
  readonly path: string;
  /** The bytes that were written, or the new name. */
  readonly data: Buffer;
}

/** Reads a log of record-writes.c. A last record that is incomplete is left out. */
export function readWriteLog(file: string): WriteRecord[] {
  const bytes = readFileSync(file);
  const records: WriteRecord[] = [];
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const pathEnd = at + HEADER_BYTES + bytes.readUInt32LE(at + 28);
    const end = pathEnd + bytes.readUInt32LE(at + 32);
    if (end > bytes.length) break;
    records.push({
      op: OPERATIONS[bytes.readUInt32LE(at + 24)] ?? "",
      atNs: bytes.readBigUInt64LE(at),
      ino: bytes.readBigUInt64LE(at + 8),
      offset: Number(bytes.readBigUInt64LE(at + 16)),
      path: bytes.toString("utf8", at + HEADER_BYTES, pathEnd),
      data: bytes.subarray(pathEnd, end),
    });
    at = end;
  }
  return records;
}

/** A file: what is on the disk for certain, and what was written since the last sync. */
interface DiskFile {
  synced: Buffer;
  readonly pending: WriteRecord[];
}

/** What a name leads to if it is a folder that was made during the recording. */
const FOLDER: DiskFile = { synced: Buffer.alloc(0), pending: [] };

/** A change of a name that may not be on the disk yet. `file` is null if the name is removed. */
interface NameChange {
  readonly path: string;
  readonly file: DiskFile | null;
}

/** A folder on a disk that keeps unsynced writes in any order, in part or not at all when the power goes. */
export interface SimulatedDisk {
  apply(record: WriteRecord): void;
  /** Writes to `target` what the disk may have after a power cut at this moment. */
  cut(target: string, random: SeededRandom): void;
}

/** Starts with the files of a folder, all of them on the disk for certain. */
export function createSimulatedDisk(folder: string): SimulatedDisk {
  const files = new Map<bigint, DiskFile>();
  const names = new Map<string, DiskFile>();
  const pendingNames = new Map<string, NameChange[]>();
  const folders: string[] = [];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) folders.push(path);
    if (!entry.isFile()) continue;
    const file = { synced: readFileSync(path), pending: [] };
    files.set(statSync(path, { bigint: true }).ino, file);
    names.set(path, file);
  }
  const syncedNames = new Map(names);

  function changeName(path: string, file: DiskFile | null): void {
    changeIn(names, { path, file });
    const changes = pendingNames.get(dirname(path)) ?? [];
    changes.push({ path, file });
    pendingNames.set(dirname(path), changes);
  }

  function rename(from: string, to: string): void {
    const file = names.get(from);
    if (file === undefined) return;
    changeName(to, file);
    changeName(from, null);
  }

  function link(from: string, to: string): void {
    const file = names.get(from);
    if (file !== undefined) changeName(to, file);
  }

  function create({ path, ino }: WriteRecord): void {
    if (names.has(path) && names.get(path) === files.get(ino)) return;
    const file = { synced: Buffer.alloc(0), pending: [] };
    files.set(ino, file);
    changeName(path, file);
  }

  return {
    apply(record) {
      const { op, path, ino } = record;
      if (op === "create") create(record);
      else if (op === "rename") rename(path, record.data.toString("utf8"));
      else if (op === "link") link(path, record.data.toString("utf8"));
      else if (op === "unlink") changeName(path, null);
      else if (op === "mkdir") changeName(path, FOLDER);
      else if (op === "sync") {
        const file = files.get(ino);
        if (file !== undefined) {
          for (const each of file.pending.splice(0)) file.synced = changeBytes(file.synced, each);
        }
        for (const change of pendingNames.get(path)?.splice(0) ?? []) changeIn(syncedNames, change);
      } else files.get(ino)?.pending.push(record);
    },
    cut(target, random) {
      const left = new Map(syncedNames);
      for (const changes of pendingNames.values()) {
        for (const change of changes.slice(0, random.integer(0, changes.length))) changeIn(left, change);
      }
      for (const path of ["", ...folders.map((each) => relative(folder, each))])
        mkdirSync(join(target, path), { recursive: true, mode: 0o700 });
      for (const [path, file] of left) {
        const place = join(target, relative(folder, path));
        if (isInLostFolder(path, folder, (each) => names.get(each) === FOLDER && !left.has(each))) continue;
        mkdirSync(file === FOLDER ? place : dirname(place), { recursive: true, mode: 0o700 });
        // Memory that SQLite's processes share, which is made again from the log, and the mark of a running PostgreSQL.
        if (file === FOLDER || path.endsWith("-shm") || path.endsWith("/postmaster.pid")) continue;
        writeFileSync(place, afterCut(file, random), { mode: 0o600 });
      }
    },
  };
}

/** Whether a folder above a path was lost. */
function isInLostFolder(path: string, root: string, isLost: (folder: string) => boolean): boolean {
  for (let above = dirname(path); above.length > root.length; above = dirname(above)) {
    if (isLost(above)) return true;
  }
  return false;
}

function changeIn(names: Map<string, DiskFile>, { path, file }: NameChange): void {
  if (file === null) names.delete(path);
  else names.set(path, file);
}

/** Returns a copy of a file with each unsynced write kept, dropped, or kept in some of its sectors. */
function afterCut({ synced, pending }: DiskFile, random: SeededRandom): Buffer {
  const share = random.pick([0, 0.5, 0.9, 1]);
  const isKept = () => random.integer(0, 999) < share * 1_000;
  let bytes: Buffer = Buffer.from(synced);
  for (const record of pending) {
    if (record.op === "truncate" || isKept()) {
      if (record.op !== "truncate" || isKept()) bytes = changeBytes(bytes, record);
      continue;
    }
    if (random.integer(0, 1) === 0) continue;
    for (let at = 0; at < record.data.length; at += SECTOR_BYTES) {
      const data = record.data.subarray(at, at + SECTOR_BYTES);
      if (isKept()) bytes = changeBytes(bytes, { ...record, offset: record.offset + at, data });
    }
  }
  return bytes;
}

/** Changes the bytes in place if their number stays the same, since a log of many megabytes is written in small parts. */
function changeBytes(bytes: Buffer, { op, offset, data }: WriteRecord): Buffer {
  if (op === "truncate") return Buffer.concat([bytes.subarray(0, offset)], offset);
  if (offset + data.length <= bytes.length) {
    data.copy(bytes, offset);
    return bytes;
  }
  const changed = Buffer.alloc(offset + data.length);
  bytes.copy(changed);
  data.copy(changed, offset);
  return changed;
}
