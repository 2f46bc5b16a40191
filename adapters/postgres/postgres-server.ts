import { type Dialect, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from "kysely";
import postgres from "postgres";
import type { Clock } from "../../core/ports/clock.ts";
import type { PostgresDatabase } from "../../core/ports/postgres.ts";
import {
  asText,
  DATE_OID,
  INT8_OID,
  readTimestamptz,
  TIMESTAMPTZ_OID,
  writeTimestamptz,
} from "./data-types.ts";
import { createSessionDriver, type SessionDriver } from "./session-pool.ts";

/** Options for a server. */
export interface PostgresServerOptions {
  /** Maximum number of connections. Default: 10. */
  readonly maxConnections?: number;
  /** How long a caller waits for a free connection before `unavailable`, in milliseconds. Default: 5,000. */
  readonly acquireTimeoutMs?: number;
  /** Maximum duration of a statement, enforced by the server, in milliseconds. Default: 15,000. */
  readonly statementTimeoutMs?: number;
  /**
   * Whether the URL leads to a pooler in transaction mode, such as PgBouncer. Then no statement is prepared, and each transaction
   * sets its own timeouts. Statements outside transactions use the timeouts of their role. Default: false.
   */
  readonly transactionPooler?: boolean;
}

/**
 * Opens a PostgreSQL server by its URL (`postgres://…`). Connects at the first query. Sessions use UTC, so that times do
 * not depend on the server's setting.
 */
export function openPostgres(
  url: string,
  clock: Pick<Clock, "setTimer">,
  options: PostgresServerOptions = {},
): PostgresDatabase<Dialect> {
  const { maxConnections = 10, acquireTimeoutMs = 5_000, statementTimeoutMs = 15_000 } = options;
  const { transactionPooler = false } = options;
  const settings = sessionSettings(statementTimeoutMs);
  const open = (onClose: () => void) =>
    postgres(url, {
      max: 1,
      onclose: onClose,
      // Off, since it could end a connection between two statements of a transaction.
      max_lifetime: null,
      // Skips reading the ids of array types, which are not used.
      fetch_types: false,
      onnotice: () => {},
      connect_timeout: Math.ceil(acquireTimeoutMs / 1_000),
      connection: {
        application_name: "meter-cloud",
        TimeZone: "UTC",
        // A pooler refuses parameters that it does not know.
        ...(transactionPooler ? {} : settings),
      },
      types: {
        int8: { to: INT8_OID, from: [INT8_OID], serialize: asText, parse: asText },
        date: { to: DATE_OID, from: [DATE_OID], serialize: asText, parse: asText },
        timestamptz: {
          to: TIMESTAMPTZ_OID,
          from: [TIMESTAMPTZ_OID],
          serialize: writeTimestamptz,
          parse: readTimestamptz,
        },
      },
    }) as unknown as postgres.Sql;
  let driver: SessionDriver | null = null;
  return {
    pool: () => driver?.pool() ?? { open: 0, idle: 0, max: maxConnections, waiting: 0 },
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () =>
        (driver = createSessionDriver({
          maxSessions: maxConnections,
          acquireTimeoutMs,
          setTimer: clock.setTimer,
          open,
          prepare: !transactionPooler,
          begin: transactionPooler ? beginWith(settings) : "begin",
        })),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  };
}

/** Returns the settings of a session, or of a transaction. */
function sessionSettings(statementTimeoutMs: number) {
  return {
    statement_timeout: statementTimeoutMs,
    // A generic plan overestimates its rows, and would be compiled for longer than it runs.
    jit: false,
    // A transaction of a client that disconnected must not keep its locks.
    idle_in_transaction_session_timeout: statementTimeoutMs,
  };
}

/** Returns the statements that begin a transaction and set its settings. They are sent as one message. */
function beginWith(settings: Readonly<Record<string, number | boolean>>): string {
  const set = Object.entries(settings).map(([name, value]) => `set local ${name} = ${value}`);
  return ["begin", ...set].join("; ");
}
