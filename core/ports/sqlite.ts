/**
 * The SQLite interface that the store uses. Everything but Kysely's asynchronous queries is synchronous, as SQLite is.
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
 * A value for a parameter. Some runtimes bind a `number` as REAL. This makes no difference in a column of a STRICT table;
 * in an expression such as `? / 1000`, pass a `bigint`. Text may contain U+0000, but Deno reads only the part before it, so
 * store such text as a blob.
 */
export type SqliteValue = null | number | bigint | string | Uint8Array;

/** A prepared statement. Integers are read as `number` if that is exact, and as `bigint` beyond 2^53 - 1. */
export interface SqliteStatement<Row = unknown> {
  /** Runs the statement and returns the number of changed rows. The array is read only during the call and may be reused. */
  run(parameters: readonly SqliteValue[]): number;
  all(parameters: readonly SqliteValue[]): Row[];
  /** Returns the first row, or `null`. */
  get(parameters: readonly SqliteValue[]): Row | null;
  /** Reads row by row. Several iterations may run at once. The connection keeps its snapshot until the iteration ends. */
  iterate(parameters: readonly SqliteValue[]): IterableIterator<Row>;
}

/** A connection. `TDialect` is Kysely's `Dialect`, which the core does not import. */
export interface SqliteConnection<TDialect = unknown> {
  /**
   * Loads the dialect for `new Kysely({ dialect })` at the first call, since most commands do not need it. Kysely's `destroy()` leaves
   * the connection open: call `close()`.
   */
  dialect(): Promise<TDialect>;
  /** Prepares a statement. Statements are cached by their text, so repeated calls are cheap. */
  prepare<Row = unknown>(sql: string): SqliteStatement<Row>;
  /** Runs one or several statements without parameters. */
  execute(sql: string): void;
  /**
   * Runs the work between BEGIN IMMEDIATE and COMMIT. Rolls back if it throws. Cannot be nested, cannot run `async` work,
   * and cannot run while a Kysely transaction is open on the same connection.
   */
  transaction<T>(work: () => T): T;
  /**
   * Runs reads that all see the database as it is at the first of them, even if another connection commits in between. Cannot be
   * nested, and cannot run `async` work.
   */
  snapshot<T>(read: () => T): T;
  /** Safe to call twice. */
  close(): void;
}

/** Options for opening a connection. */
export interface SqliteOptions {
  /** Opens an existing file without writing to it. Default: false. */
  readOnly?: boolean;
  /**
   * How long a call waits for a lock of another connection before it fails with `busy`, in milliseconds. Default: 5,000.
   */
  busyTimeoutMs?: number;
  /**
   * `full` syncs each commit to disk. `normal` may lose the latest commits in a power failure, but does not damage the
   * file. Default: `full`.
   */
  synchronous?: "normal" | "full";
  /** Uses the file only for its lock. It stays empty, so that it can be locked on a full disk. Default: false. */
  lockOnly?: boolean;
}

/** Opens databases and sets damaged ones aside. */
export interface SqliteOpener<TDialect = unknown> {
  /**
   * Opens in WAL mode; creates file (0600) and folder (0700) unless `readOnly`. `:memory:` opens a new in-memory database.
   * Rejects with a `StoreError`: `missing`, `unsafe_file`, `corrupt`, `busy`, `cannot_open`, …
   */
  open(path: string, options?: SqliteOptions): Promise<SqliteConnection<TDialect>>;
  /** Returns an identity of the file that changes if the file is replaced (restored, copied); `null` if it is unknown. */
  fileIdentity(path: string): string | null;
  /** Whether the folder of the database exists. */
  hasFolder(path: string): boolean;
  /**
   * Copies a damaged -wal to `<path>-wal.corrupt…` and returns that path; `null` if it is not damaged. SQLite would
   * silently ignore everything after the damage. Call it only if no other process uses the database.
   */
  saveDamagedLog(path: string): string | null;
  /**
   * Syncs committed data to disk, on another thread than the one that uses the database. Resolves if there is no -wal.
   * Rejects if the disk reports an error.
   */
  syncLog(path: string): Promise<void>;
  /**
   * Reads every page, on another thread than the one that uses the database. Resolves with what is damaged; null if nothing is, or if
   * the file can't be read. Never rejects.
   */
  checkPages(path: string): Promise<string | null>;
  /**
   * Renames the database with its -wal and -shm to `<path>.<suffix>…`, to preserve it for analysis. Returns the new path.
   * Idempotent.
   */
  setAside(path: string, suffix: string): string;
}

/** Why the store failed. `status` shows these. */
export type StoreErrorReason =
  /** Another connection holds the lock. */
  | "busy"
  | "disk_full"
  /** The disk could not be read or written. */
  | "io"
  | "out_of_memory"
  | "corrupt"
  | "read_only"
  /** The file does not exist, and was opened read-only. */
  | "missing"
  /** The file exists but cannot be opened: permissions, or a WAL database in a read-only folder. */
  | "cannot_open"
  /** Refused: a symbolic link, a file of another owner, or a folder that others may write to. */
  | "unsafe_file"
  /** A row violates a UNIQUE, NOT NULL, CHECK, type or foreign key rule. */
  | "constraint"
  /** A value that cannot be stored, such as an integer of more than 64 bits. */
  | "invalid_value"
  /** Written by a newer version. */
  | "newer_schema"
  /** Not migrated yet, and opened read-only. */
  | "older_schema"
  /** A migration had an unexpected result. */
  | "migration"
  /** A database of another program. */
  | "not_a_store"
  | "other";

/** The error that the store and its adapters throw; `cause` is the driver's error. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly reason: StoreErrorReason;

  constructor(reason: StoreErrorReason, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}
