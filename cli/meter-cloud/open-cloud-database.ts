import type { Dialect } from "kysely";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { makeFolder } from "../../adapters/files/make-folder.ts";
import { MissingPackageError } from "../../adapters/optional-packages.ts";
import { openPgliteFolder } from "../../adapters/postgres/pglite.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import { WorkerError } from "../../cloud/store/cluster-node.ts";
import { type CloudDatabase, openCloudDatabase } from "../../cloud/store/open-database.ts";
import { DatabaseError, type PostgresDatabase } from "../../core/ports/postgres.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { cloudPackagesMissing } from "./cloud-packages.ts";
import type { CloudProgramConfig } from "./read-cloud-config.ts";

/** The database that the configuration names. */
export interface OpenedDatabase {
  readonly db: CloudDatabase;
  readonly database: PostgresDatabase<Dialect>;
  readonly engine: "pglite" | "postgres";
  /** Copies the embedded database; null for a server. */
  readonly dump: (() => Promise<Blob>) | null;
}

/** The failure of a command because another process has the embedded database open. */
export class DatabaseInUse extends CommandFailure {}

/**
 * Opens the server that `DATABASE_URL` names, which connects with the first query, or the embedded database. `snapshot` is a copy of
 * the latter to begin with.
 */
export async function openConfiguredDatabase(
  config: CloudProgramConfig,
  snapshot: Blob | null = null,
): Promise<OpenedDatabase> {
  const { max_connections, acquire_timeout_seconds, statement_timeout_seconds, transaction_pooler } =
    config.settings.database;
  if (config.databaseUrl !== null) {
    const database = openPostgres(config.databaseUrl, systemClock, {
      maxConnections: max_connections,
      acquireTimeoutMs: acquire_timeout_seconds * 1_000,
      statementTimeoutMs: statement_timeout_seconds * 1_000,
      transactionPooler: transaction_pooler,
    });
    return { db: openCloudDatabase(database), database, engine: "postgres", dump: null };
  }
  const folder = config.databaseFolder;
  try {
    makeFolder(folder);
    const database = await openPgliteFolder(folder, snapshot);
    return { db: openCloudDatabase(database), database, engine: "pglite", dump: database.dump };
  } catch (cause) {
    if (cause instanceof MissingPackageError) throw cloudPackagesMissing();
    if (cause instanceof DatabaseError && /another process/.test(cause.message)) {
      throw new DatabaseInUse(
        `${cause.message}. Only one process can open the embedded database. Stop the other process, or use PostgreSQL: set DATABASE_URL.`,
      );
    }
    throw new CommandFailure(`The database in ${folder} can't be opened: ${(cause as Error).message}.`);
  }
}

/** Opens the database for one command and closes it again. A database error becomes a `CommandFailure`. */
export async function withConfiguredDatabase<T>(
  config: CloudProgramConfig,
  work: (opened: OpenedDatabase) => Promise<T>,
): Promise<T> {
  const opened = await openConfiguredDatabase(config);
  try {
    return await work(opened);
  } catch (cause) {
    throw describeDatabaseError(cause);
  } finally {
    await opened.db.destroy();
  }
}

const MESSAGES: Readonly<Record<string, string>> = {
  unavailable: "The database can't be reached",
  timeout: "The database did not answer in time",
  forbidden:
    "The database role lacks a permission. Use the role that owns the tables (docs/hosting.md, PostgreSQL)",
};

export const NO_TABLES =
  "The database has no tables of this version.\nCreate or update them: meter-cloud migrate";

/** SQLSTATE of a query on a table that does not exist. */
const UNDEFINED_TABLE = "42P01";

/** PgBouncer's error for a connection that sets parameters of the session. */
const UNSUPPORTED_PARAMETER = /^unsupported startup parameter/;

const NEEDS_POOLER_SETTING =
  "DATABASE_URL is a pooler in transaction mode. Set METER_CLOUD_DATABASE_TRANSACTION_POOLER=true.";

/** Turns an error of the database into a failure whose message says what to do. Returns other errors unchanged. */
export function describeDatabaseError(cause: unknown): unknown {
  if (cause instanceof WorkerError) {
    return new CommandFailure(`${cause.message}\nSet DATABASE_URL to the coordinator's address.`);
  }
  if (!(cause instanceof DatabaseError)) return cause;
  if (cause.code === UNDEFINED_TABLE) {
    return new CommandFailure(NO_TABLES);
  }
  const message = MESSAGES[cause.reason];
  // The driver's message names the host or the role, never the password.
  const detail = cause.cause instanceof Error ? cause.cause.message : cause.message;
  if (UNSUPPORTED_PARAMETER.test(detail)) return new CommandFailure(NEEDS_POOLER_SETTING);
  if (message === undefined) return cause;
  const fix =
    cause.reason === "unavailable"
      ? '\nCheck DATABASE_URL and the server: pg_isready -d "$DATABASE_URL"'
      : "";
  return new CommandFailure(`${message}: ${detail || cause.code}.${fix}`);
}
