import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";

/** The most rows that a connection remembers: about 3 MB. The overview of a month reads 3,000. */
const MAX_ROWS = 8_000;

/** Rows that were read from the sums of whole hours and days, while these have one version. */
interface SummedRows {
  version: number;
  /** How many rows all queries have, where each counts as one more. */
  size: number;
  /** By SQL and values, the one that was used last at the end. */
  readonly queries: Map<string, readonly object[]>;
}

const remembered = new WeakMap<SqliteConnection, SummedRows>();

/** Notes that sums of whole hours or days are stored or deleted. The caller has begun a transaction. */
export function changeSums(connection: SqliteConnection): void {
  connection.prepare("UPDATE usage_sums_version SET version = version + 1").run([]);
}

/**
 * Reads rows that depend only on the sums of whole hours and days. These change once an hour, so the rows are remembered
 * until they do, whichever process changes them. Callers must not change the rows, and a transaction that changes sums must
 * read them before: after a rollback, the same version would mean other rows.
 */
export function readSummedRows<Row extends object>(
  connection: SqliteConnection,
  sql: string,
  values: readonly SqliteValue[],
): readonly Row[] {
  const read = () => connection.prepare<Row>(sql).all(values);
  const version = connection
    .prepare<{ version: number }>("SELECT version FROM usage_sums_version")
    .get([])?.version;
  if (version === undefined) return read();
  const known = findRemembered(connection, version);
  const key = `${sql}\0${values.map((value) => `${typeof value}:${value}`).join("\0")}`;
  const rows = known.queries.get(key) ?? read();
  if (known.queries.delete(key)) known.size -= rows.length + 1;
  known.queries.set(key, rows);
  known.size += rows.length + 1;
  for (const [oldest, { length }] of known.queries) {
    if (known.size <= MAX_ROWS) break;
    known.queries.delete(oldest);
    known.size -= length + 1;
  }
  return rows as readonly Row[];
}

function findRemembered(connection: SqliteConnection, version: number): SummedRows {
  const known = remembered.get(connection);
  if (known?.version === version) return known;
  const empty: SummedRows = { version, size: 0, queries: new Map() };
  remembered.set(connection, empty);
  return empty;
}
