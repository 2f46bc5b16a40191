/**
 * The database of the cloud: PostgreSQL 15 or later, as a server or embedded. `TDialect` is Kysely's `Dialect`, which the
 * core does not import. All adapters convert values alike:
 *
 * | type | read as | sent as |
 * |---|---|---|
 * | `int8`, `numeric` | text, since neither fits a double | text or an integer |
 * | `timestamptz` | `Millis` | `Millis` or ISO 8601 |
 * | `date` | `YYYY-MM-DD` | the same |
 * | `bytea` | `Uint8Array` | the same |
 * | `json`, `jsonb` | the value | text with a cast: `$1::text::jsonb` |
 */
export interface PostgresDatabase<TDialect = unknown> {
  /** For `new Kysely({ dialect })`. Every error that it throws is a `DatabaseError`. Kysely's `destroy()` closes the database. */
  readonly dialect: TDialect;
  /** The state of the connection pool; absent without a pool. */
  readonly pool?: () => DatabasePool;
}

/** The current state of a connection pool. */
export interface DatabasePool {
  readonly open: number;
  readonly idle: number;
  readonly max: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

/** Why a statement failed. Each reason requires a different reaction. */
export type DatabaseErrorReason =
  /** No connection, no free connection in time, or the server is shutting down, full, or out of memory. Try again later. */
  | "unavailable"
  /** The statement took too long. */
  | "timeout"
  /** A deadlock, a serialization failure, or too few affected rows: the same transaction may succeed when run again. */
  | "conflict"
  /** A UNIQUE, NOT NULL, CHECK or foreign key rule refused the row. */
  | "constraint"
  /** A value that cannot be stored: too large, or with a character that the encoding lacks. */
  | "invalid_value"
  /** The role lacks a permission, because of a bug or a wrong setup. */
  | "forbidden"
  | "other";

/** The only error of the database. `cause` is the driver's error. The message contains no parameter. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  readonly reason: DatabaseErrorReason;
  /** The SQLSTATE, or the system's error code if no server answered; null if neither is known. */
  readonly code: string | null;
  /** The violated rule, for `constraint`. */
  readonly constraint: string | null;

  constructor(
    reason: DatabaseErrorReason,
    facts: { code?: string | null; constraint?: string | null; message?: string; cause?: unknown } = {},
  ) {
    const code = facts.code ?? null;
    super(facts.message ?? `the database failed: ${reason}${code === null ? "" : ` (${code})`}`, {
      cause: facts.cause,
    });
    this.reason = reason;
    this.code = code;
    this.constraint = facts.constraint ?? null;
  }
}
