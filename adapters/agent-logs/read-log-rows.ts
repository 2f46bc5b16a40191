import { constants, copyFile, mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { LogQuery } from "../../core/metering/agent-logs/log-formats.ts";
import { readTime } from "../../core/metering/agent-logs/readers/members.ts";
import { type SqliteConnection, StoreError, type StoreErrorReason } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import { connect } from "../sqlite/open-sqlite.ts";

/** The largest database that is copied, in bytes. */
const MAX_COPIED_BYTES = 8 * 1024 ** 3;

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
}

/** Why a database was not read. */
export type RowProblem = StoreErrorReason | "too_large";

/**
 * Reads the rows of an agent's database, and never changes the database or the files next to it. A database without a -wal is
 * opened as immutable, so that SQLite creates no -wal and -shm. Otherwise its latest rows are in the -wal, which SQLite reads
 * only with a -shm: it is copied to a private folder and read there. Returns the new `after`, or why nothing was read. If the
 * database changes meanwhile, its rows may be passed to `onRow` more than once.
 */
export async function readLogRows(
  path: string,
  reading: RowReading,
  onRow: (row: LogRow) => void,
): Promise<Record<string, string | number> | RowProblem> {
  let problem: RowProblem = "busy";
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const before = await describe(path);
    const isPlain = before.every(({ end, size }) => end === "" || size === 0);
    const total = before.reduce((sum, { size }) => sum + size, 0);
    if (!isPlain && total > MAX_COPIED_BYTES) return "too_large";
    const found = isPlain ? await readPlain(path, reading, onRow) : await readCopy(path, reading, onRow);
    if (JSON.stringify(await describe(path)) === JSON.stringify(before)) return found;
    problem = typeof found === "string" ? found : "busy";
  }
  return problem;
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

async function readCopy(path: string, reading: RowReading, onRow: (row: LogRow) => void) {
  const folder = reading.scratchFolder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    for (const end of ENDS)
      await copyFile(path + end, join(folder, `copy.db${end}`), constants.COPYFILE_FICLONE).catch((cause) => {
        if (end === "" || (cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
      });
    return await readDatabase(join(folder, "copy.db"), reading, onRow);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readDatabase(
  location: string,
  { queries, after, now }: RowReading,
  onRow: (row: LogRow) => void,
): Promise<Record<string, string | number> | RowProblem> {
  let connection: SqliteConnection;
  try {
    connection = await connect(location, { readOnly: true });
  } catch (cause) {
    return problemOf(cause);
  }
  try {
    const found = Object.fromEntries(Object.entries(after).filter(([, changed]) => !isAhead(changed, now)));
    for (const query of queries) readTable(connection, query, found, now, onRow);
    return found;
  } catch (cause) {
    return problemOf(cause);
  } finally {
    connection.close();
  }
}

function problemOf(cause: unknown): RowProblem {
  if (cause instanceof StoreError) return cause.reason;
  throw cause;
}

/** Whether a time is of a clock that was ahead. Rows that are changed after the clock is right again have earlier times. */
const isAhead = (changed: string | number, now: Millis): boolean => (readTime(changed) ?? 0) > now;

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;

function readTable(
  connection: SqliteConnection,
  { table, columns, changedAt }: LogQuery,
  found: Record<string, string | number>,
  now: Millis,
  onRow: (row: LogRow) => void,
): void {
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
  for (const { meter_line: line, meter_changed: changed, ...values } of rows) {
    onRow({ values, line: Number(line) });
    if ((typeof changed !== "number" && typeof changed !== "string") || isAhead(changed, now)) continue;
    const latest = found[table];
    if (latest === undefined || changed > latest) found[table] = changed;
  }
}
