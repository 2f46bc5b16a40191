import { constants, copyFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { LogQuery } from "../../core/metering/agent-logs/log-formats.ts";
import { readTime } from "../../core/metering/agent-logs/readers/members.ts";
import { FULL_DISK_BYTES, LOW_DISK_BYTES } from "../../core/operations/doctor/check-data.ts";
import { type SqliteConnection, StoreError, type StoreErrorReason } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import { readFreeBytes } from "../files/free-space.ts";
import { connect } from "../sqlite/open-sqlite.ts";
import { withScratchFolder } from "./scratch-folder.ts";

/** The largest database that is copied, in bytes. */
export const MAX_COPIED_BYTES = 8 * 1024 ** 3;

/** How often a database that changes while it is read is read again. */
const MAX_TRIES = 3;

/** A row, with its number and the value of the column that grows. */
export interface LogRow {
  readonly values: Readonly<Record<string, unknown>>;
  readonly line: number;
}

/** The options of reading a database. */
export interface RowReading {
  readonly queries: readonly LogQuery[];
  /** By table, the largest value of the column that grows in the rows that were read before. */
  readonly after: Readonly<Record<string, string | number>>;
  readonly now: Millis;
  /** A private folder for copies, which exists only while one is needed. */
  readonly scratchFolder: string;
  /** Returns the free space of a folder in bytes, for tests. */
  readonly freeBytes?: (folder: string) => number | null;
}

/** Why a database was not read. */
export type RowProblem =
  | { readonly reason: StoreErrorReason | "too_large" | "scratch_in_use" }
  | { readonly reason: "no_space"; readonly space: CopySpace };

/** The space that a copy needs, and what is free, in bytes. */
export interface CopySpace {
  readonly copyBytes: number;
  /** How much must stay free beside the copy. */
  readonly keptFreeBytes: number;
  readonly freeBytes: number;
}

/** The result of reading: the new `after`, or why nothing was read. */
export type RowResult =
  | { readonly ok: true; readonly after: Record<string, string | number> }
  | ({ readonly ok: false } & RowProblem);

/** How many rows are read before other work runs, such as a signal's. */
const ROWS_PER_TURN = 200;

/**
 * Reads the rows of an agent's database, and never changes the database or the files next to it. A database without a -wal is
 * opened as immutable, so that SQLite creates no -wal and -shm. Otherwise its latest rows are in the -wal, which SQLite reads
 * only with a -shm: it is copied to a private folder and read there, if the disk has room for that. If the database changes
 * meanwhile, its rows may be passed to `onRow` more than once.
 */
export async function readLogRows(
  path: string,
  reading: RowReading,
  onRow: (row: LogRow) => void,
): Promise<RowResult> {
  let result: RowResult = { ok: false, reason: "busy" };
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const before = await describe(path);
    const isPlain = before.every(({ end, size }) => end === "" || size === 0);
    const copyBytes = before.reduce((sum, { size }) => sum + size, 0);
    if (!isPlain && copyBytes > MAX_COPIED_BYTES) return { ok: false, reason: "too_large" };
    const found = isPlain
      ? await readPlain(path, reading, onRow)
      : await readCopy(path, copyBytes, reading, onRow);
    if (!found.ok && (found.reason === "no_space" || found.reason === "scratch_in_use")) return found;
    if (JSON.stringify(await describe(path)) === JSON.stringify(before)) return found;
    result = found.ok ? { ok: false, reason: "busy" } : found;
  }
  return result;
}

/** The database, and the files that can hold its latest rows. */
const ENDS = ["", "-wal", "-journal"] as const;

const describe = (path: string) =>
  Promise.all(
    ENDS.map(async (end) => {
      const found = await stat(path + end).catch(() => null);
      return { end, size: found?.size ?? 0, modifiedMs: found?.mtimeMs ?? 0 };
    }),
  );

const readPlain = (path: string, reading: RowReading, onRow: (row: LogRow) => void) =>
  readDatabase(`${pathToFileURL(path).href}?immutable=1`, reading, onRow);

async function readCopy(
  path: string,
  copyBytes: number,
  reading: RowReading,
  onRow: (row: LogRow) => void,
): Promise<RowResult> {
  const result = await withScratchFolder(reading.scratchFolder, async (folder): Promise<RowResult> => {
    const space = checkSpace(copyBytes, (reading.freeBytes ?? readFreeBytes)(folder));
    if (space !== null) return { ok: false, reason: "no_space", space };
    for (const end of ENDS)
      await copyFile(path + end, join(folder, `copy.db${end}`), constants.COPYFILE_FICLONE).catch((cause) => {
        if (end === "" || (cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
      });
    return await readDatabase(join(folder, "copy.db"), reading, onRow);
  });
  return result ?? { ok: false, reason: "scratch_in_use" };
}

/**
 * Returns the space if it is too small for a copy. As much as the copy takes must stay free, but no more than the doctor wants: other
 * programs write to the disk too.
 */
function checkSpace(copyBytes: number, freeBytes: number | null): CopySpace | null {
  const keptFreeBytes = Math.max(FULL_DISK_BYTES, Math.min(LOW_DISK_BYTES, copyBytes));
  if (freeBytes === null || freeBytes >= copyBytes + keptFreeBytes) return null;
  return { copyBytes, keptFreeBytes, freeBytes };
}

async function readDatabase(
  location: string,
  { queries, after, now }: RowReading,
  onRow: (row: LogRow) => void,
): Promise<RowResult> {
  let connection: SqliteConnection;
  try {
    connection = await connect(location, { readOnly: true });
  } catch (cause) {
    return problemOf(cause);
  }
  try {
    const found = Object.fromEntries(Object.entries(after).filter(([, changed]) => !isAhead(changed, now)));
    for (const query of queries) await readTable(connection, query, found, now, onRow);
    return { ok: true, after: found };
  } catch (cause) {
    return problemOf(cause);
  } finally {
    connection.close();
  }
}

function problemOf(cause: unknown): RowResult {
  if (cause instanceof StoreError) return { ok: false, reason: cause.reason };
  throw cause;
}

/** Whether a time is of a clock that was ahead. Rows that are changed after the clock is right again have earlier times. */
const isAhead = (changed: string | number, now: Millis): boolean => (readTime(changed) ?? 0) > now;

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;

async function readTable(
  connection: SqliteConnection,
  { table, columns, changedAt }: LogQuery,
  found: Record<string, string | number>,
  now: Millis,
  onRow: (row: LogRow) => void,
): Promise<void> {
  const names = new Set(
    connection
      .prepare<{ name: string }>(`SELECT name FROM pragma_table_info(?)`)
      .all([table])
      .map(({ name }) => name),
  );
  const selected = columns.filter((column) => names.has(column)).map(quote);
  if (selected.length === 0) return;
  const changes = names.has(changedAt);
  const last = found[table];
  // Rows of the last moment are read again, since others may have been written in it.
  const condition = changes && last !== undefined ? `WHERE ${quote(changedAt)} >= ?` : "";
  const rows = connection
    .prepare<Record<string, unknown>>(
      `SELECT ${selected.join(", ")}, rowid AS meter_line, ${changes ? quote(changedAt) : "NULL"} AS meter_changed
       FROM ${quote(table)} ${condition}`,
    )
    .iterate(condition === "" ? [] : [last as string | number]);
  let read = 0;
  for (const { meter_line: line, meter_changed: changed, ...values } of rows) {
    if (read++ % ROWS_PER_TURN === ROWS_PER_TURN - 1) await setImmediate();
    onRow({ values, line: Number(line) });
    if ((typeof changed !== "number" && typeof changed !== "string") || isAhead(changed, now)) continue;
    const latest = found[table];
    if (latest === undefined || changed > latest) found[table] = changed;
  }
}
