import type { Dialect } from "kysely";
import { PostgresJSDialect } from "kysely-postgres-js";
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
import { translatingDialect } from "./translating-dialect.ts";

/** How a server is used. */
export interface PostgresServerOptions {
  /** Most connections at once. Default: 10. */
  readonly maxConnections?: number;
  /** How long a caller waits for a free connection before `unavailable`. Default: 5,000. */
  readonly acquireTimeoutMs?: number;
  /** Longest statement, by the server's own watch. Default: 15,000. */
  readonly statementTimeoutMs?: number;
}

/**
 * A PostgreSQL server, by its address (`postgres://…`). Connects with the first query. Sessions are in UTC, so that times
 * are read alike whatever the server's setting.
 */
export function openPostgres(
  url: string,
  clock: Pick<Clock, "setTimer">,
  options: PostgresServerOptions = {},
): PostgresDatabase<Dialect> {
  const { maxConnections = 10, acquireTimeoutMs = 5_000, statementTimeoutMs = 15_000 } = options;
  const dialect = new PostgresJSDialect({
    postgres: () =>
      postgres(url, {
        max: maxConnections,
        // `fetch_types` stays on: without it, postgres.js 3.4 never hands out a reserved connection.
        onnotice: () => {},
        connect_timeout: Math.ceil(acquireTimeoutMs / 1_000),
        connection: {
          application_name: "meter-cloud",
          TimeZone: "UTC",
          statement_timeout: statementTimeoutMs,
          // A transaction whose client is gone must not keep its locks.
          idle_in_transaction_session_timeout: statementTimeoutMs,
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
      }),
  });
  const limit = { timeoutMs: acquireTimeoutMs, setTimer: clock.setTimer };
  return { dialect: translatingDialect(dialect, limit) };
}
