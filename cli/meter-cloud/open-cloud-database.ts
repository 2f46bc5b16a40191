import type { Dialect } from "kysely";
import { systemClock } from "../../adapters/clock/mod.ts";
import { makeFolder } from "../../adapters/files/mod.ts";
import { openPgliteFolder, openPostgres } from "../../adapters/postgres/mod.ts";
import { type CloudDatabase, openCloudDatabase } from "../../cloud/mod.ts";
import { DatabaseError, type PostgresDatabase } from "../../core/ports/postgres.ts";
import { CommandFailure } from "../exit-codes.ts";
import type { CloudProgramConfig } from "./read-cloud-config.ts";

/** The database that the configuration names. */
export interface OpenedDatabase {
  readonly db: CloudDatabase;
  readonly database: PostgresDatabase<Dialect>;
  readonly engine: "pglite" | "postgres";
}

/** Opens the server that `DATABASE_URL` names, which connects with the first query, or the embedded database. */
export async function openConfiguredDatabase(config: CloudProgramConfig): Promise<OpenedDatabase> {
  const { max_connections, acquire_timeout_seconds, statement_timeout_seconds } = config.settings.database;
  if (config.databaseUrl !== null) {
    const database = openPostgres(config.databaseUrl, systemClock, {
      maxConnections: max_connections,
      acquireTimeoutMs: acquire_timeout_seconds * 1_000,
      statementTimeoutMs: statement_timeout_seconds * 1_000,
    });
    return { db: openCloudDatabase(database), database, engine: "postgres" };
  }
  const folder = config.databaseFolder;
  try {
    makeFolder(folder);
    const database = await openPgliteFolder(folder);
    return { db: openCloudDatabase(database), database, engine: "pglite" };
  } catch (cause) {
    if (cause instanceof DatabaseError && /another process/.test(cause.message)) {
      throw new CommandFailure(
        `${cause.message}. The embedded database is one process's: stop the server first, or use PostgreSQL (DATABASE_URL)`,
      );
    }
    throw new CommandFailure(`the database in ${folder} can't be opened: ${(cause as Error).message}`);
  }
}

/** Opens the database for one command and closes it again; a failure of it is told in words. */
export async function withConfiguredDatabase<T>(
  config: CloudProgramConfig,
  work: (opened: OpenedDatabase) => Promise<T>,
): Promise<T> {
  const opened = await openConfiguredDatabase(config);
  try {
    return await work(opened);
  } catch (cause) {
    throw inWords(cause);
  } finally {
    await opened.db.destroy();
  }
}

const WORDS: Readonly<Record<string, string>> = {
  unavailable: "the database can't be reached",
  timeout: "the database took too long",
  forbidden: "the database's login may not do that: use its owner's (see docs/hosting.md, PostgreSQL)",
};

/** SQLSTATE of relations that are not there. */
const UNDEFINED_TABLE = "42P01";

/** A failure of the database as a message for people; anything else as it is. */
export function inWords(cause: unknown): unknown {
  if (!(cause instanceof DatabaseError)) return cause;
  if (cause.code === UNDEFINED_TABLE) {
    return new CommandFailure("the database has no tables of this version: run meter-cloud migrate");
  }
  const words = WORDS[cause.reason];
  // The driver's message names host or role, never the password, and is what an operator needs.
  const detail = cause.cause instanceof Error ? cause.cause.message : cause.message;
  return words === undefined ? cause : new CommandFailure(`${words}: ${detail || cause.code}`);
}
