/**
 * What the store needs of SQLite. Everything but Kysely's asynchronous queries is synchronous, as SQLite is.
 *
 * ```ts
 * import { createSqliteOpener } from "../../adapters/sqlite/mod.ts";
 *
 * const connection = await createSqliteOpener().open(":memory:");
 * connection.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, n INTEGER) STRICT");
 * const insert = connection.prepare("INSERT INTO seen VALUES (?, ?)");
 * connection.transaction(() => insert.run(["a", 9007199254740993n]));
 * connection.prepare<{ n: number | bigint }>("SELECT n FROM seen").get([]); // { n: 9007199254740993n }
 * connection.close();
 * ```
 */

/**
 * What can be bound. Some runtimes bind a `number` as REAL: in a column of a STRICT table that makes no difference, in
 * an expression (`? / 1000`) pass a `bigint`. Text may hold U+0000, but Deno reads it only up to there: keep such text
 * as a blob.
 */
export type SqliteValue = null | number | bigint | string | Uint8Array;

/** A prepared statement. Integers are read as `number` where that is exact and as `bigint` beyond 2^53 - 1. */
export interface SqliteStatement<Row = unknown> {
  /** Runs it and says how many rows it changed. The array is read during the call only, so it may be used again. */
  run(parameters: readonly SqliteValue[]): number;
  all(parameters: readonly SqliteValue[]): Row[];
  /** The first row, or `null`. */
  get(parameters: readonly SqliteValue[]): Row | null;
  /** Reads row by row; several may run at once. The connection keeps its snapshot until the loop ends. */
  iterate(parameters: readonly SqliteValue[]): IterableIterator<Row>;
}

/** One connection. `TDialect` is Kysely's `Dialect`, which the core does not know. */
export interface SqliteConnection<TDialect = unknown> {
  /** For `new Kysely({ dialect })`. Kysely's `destroy()` leaves the connection open: call `close()`. */
  readonly dialect: TDialect;
  /** Prepares, or finds again what was prepared: call it as often as you like. */
  prepare<Row = unknown>(sql: string): SqliteStatement<Row>;
  /** Runs one or several statements without parameters. */
  execute(sql: string): void;
  /**
   * Runs the work between BEGIN IMMEDIATE and COMMIT and rolls back when it throws. Not nestable, not for `async` work,
   * and not while a transaction of Kysely is open on the same connection.
   */
  transaction<T>(work: () => T): T;
  /** Safe to call twice. */
  close(): void;
}

/** How a connection is opened. */
export interface SqliteOptions {
  /** Neither creates the file nor writes to it. Default: false. */
  readOnly?: boolean;
  /** How long a call blocks while another connection holds the lock, before `busy`. Default: 5,000. */
  busyTimeoutMs?: number;
  /** `full` syncs each commit to the disk; `normal` may lose the last commits in a power cut, never the file. Default: `full`. */
  synchronous?: "normal" | "full";
  /** A file that is only ever locked: it stays empty, so that no disk is too full for it. Default: false. */
  lockOnly?: boolean;
}

/** Opens files and moves broken ones away. */
export interface SqliteOpener<TDialect = unknown> {
  /**
   * Opens in WAL mode; creates file (0600) and folder (0700) unless `readOnly`. `:memory:` makes a database of its own.
   * Rejects with a `StoreError`: `missing`, `unsafe_file`, `corrupt`, `busy`, `cannot_open`, …
   */
  open(path: string, options?: SqliteOptions): Promise<SqliteConnection<TDialect>>;
  /** Says whether the file is another one than before (restored, copied); `null` where it can't be told. */
  fileIdentity(path: string): string | null;
  /** Whether the folder that the database lies in is there. */
  hasFolder(path: string): boolean;
  /**
   * Copies a -wal that is not as SQLite left it, of which SQLite would pass over the rest in silence, to `<path>-wal.corrupt…`
   * and returns that path; `null` where there is nothing wrong. For who has the database to itself.
   */
  keepDamagedLog(path: string): string | null;
  /** Renames the database with its -wal and -shm to `<path>.<suffix>…`, as evidence, and returns the new path. Idempotent. */
  setAside(path: string, suffix: string): string;
}

/** Why the store failed, in words that `status` shows. */
export type StoreErrorReason =
  /** Another connection holds the lock. */
  | "busy"
  | "disk_full"
  /** The disk refused to read or write. */
  | "io"
  | "corrupt"
  | "read_only"
  /** No such file, on a read-only open. */
  | "missing"
  /** It is there, but can't be opened: permissions, or a WAL database in a folder that can't be written. */
  | "cannot_open"
  /** A link, another owner, or a folder that others may write: refused. */
  | "unsafe_file"
  /** A UNIQUE, NOT NULL, CHECK, type or foreign key rule refused the row. */
  | "constraint"
  /** A value that can't be stored, such as an integer of more than 64 bits. */
  | "invalid_value"
  /** Written by a newer version. */
  | "newer_schema"
  /** Not migrated yet, and this open may not write. */
  | "older_schema"
  /** A migration did not do what it should have. */
  | "migration"
  /** Not ours. */
  | "not_a_store"
  | "other";

/** The one error of the store and its adapters; `cause` is the driver's. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly reason: StoreErrorReason;

  constructor(reason: StoreErrorReason, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}
