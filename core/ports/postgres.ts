/**
 * What the cloud needs of PostgreSQL 15 or later, be it a server or embedded. `TDialect` is Kysely's `Dialect`, which the
 * core does not know. Values are read alike from every adapter:
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
  /** How its connections stand; absent where there is no pool of them. */
  readonly pool?: () => DatabasePool;
}

/** How a pool of connections stands at the moment. */
export interface DatabasePool {
  readonly open: number;
  readonly idle: number;
  readonly max: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

/** Why a statement failed, in as many kinds as somebody can act on. */
export type DatabaseErrorReason =
  /** No connection, none free in time, or the server is going down, full, or out of memory: try again later. */
  | "unavailable"
  /** The statement took too long. */
  | "timeout"
  /** A deadlock or a serialization failure: the same transaction may succeed when run again. */
  | "conflict"
  /** A UNIQUE, NOT NULL, CHECK or foreign key rule refused the row. */
  | "constraint"
  /** A value that can't be stored: too large, or a character that the encoding lacks. */
  | "invalid_value"
  /** The role may not do that: a fault of ours. */
  | "forbidden"
  | "other";

/** The one error of the database; `cause` is the driver's. The message holds no parameter. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  readonly reason: DatabaseErrorReason;
  /** SQLSTATE, or the system's error code where no server answered; null where neither is known. */
  readonly code: string | null;
  /** The rule that refused, for `constraint`. */
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
