import { type SqliteConnection, StoreError } from "../../core/ports/sqlite.ts";
import { foldColumns } from "./fold-columns.ts";
import { applicationId, latestSchemaVersion, type Migration, migrations } from "./migrations.ts";

function pragmaNumber(connection: SqliteConnection, name: string): number {
  const row = connection.prepare<Record<string, number>>(`PRAGMA ${name}`).get([]);
  return Number(row?.[name] ?? 0);
}

/** Returns the schema version of the file. It is 0 for a new file. */
export function readSchemaVersion(connection: SqliteConnection): number {
  return pragmaNumber(connection, "user_version");
}

/** Returns the names of all indexes, and of all columns as `table.column`. */
function readNames(connection: SqliteConnection): Set<string> {
  const rows = connection
    .prepare<{ name: string }>(
      "SELECT t.name || '.' || c.name AS name FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c WHERE t.type = 'table' " +
        "UNION ALL SELECT name FROM sqlite_schema WHERE type = 'index'",
    )
    .all([]);
  return new Set(rows.map(({ name }) => name));
}

/** Throws if a step's tables, columns or indexes are missing. */
function verify(connection: SqliteConnection, steps: readonly Migration[]): void {
  const present = readNames(connection);
  for (const { to, expects } of steps) {
    const columns = Object.entries(expects.columns ?? {}).flatMap(([table, names]) =>
      names.map((name) => `${table}.${name}`),
    );
    const missing = [...columns, ...(expects.indexes ?? [])].filter((name) => !present.has(name));
    if (missing.length > 0)
      throw new StoreError("migration", `schema version ${to} lacks ${missing.join(", ")}`);
  }
}

/**
 * Throws if the file is not a meter database, is newer than this version, or has triggers. meter creates no triggers, and
 * one from elsewhere would run foreign code for each record.
 */
export function checkSchema(connection: SqliteConnection): void {
  const version = readSchemaVersion(connection);
  if (version > latestSchemaVersion) {
    throw new StoreError(
      "newer_schema",
      `the database was written by a newer meter (schema ${version}, this one knows ${latestSchemaVersion}): upgrade meter`,
    );
  }
  const objects = connection.prepare<{ type: string }>("SELECT DISTINCT type FROM sqlite_schema").all([]);
  const isNew = version === 0 && objects.length === 0;
  if (!isNew && (version < 1 || pragmaNumber(connection, "application_id") !== applicationId)) {
    throw new StoreError("not_a_store", "the file is not a meter database");
  }
  if (objects.some(({ type }) => type === "trigger")) {
    throw new StoreError("not_a_store", "the database contains triggers, which meter never creates");
  }
}

/** Throws if `migrate()` would have to change the database. For read-only connections. */
export function requireLatestSchema(connection: SqliteConnection): void {
  checkSchema(connection);
  const version = readSchemaVersion(connection);
  if (version < latestSchemaVersion) {
    throw new StoreError(
      "older_schema",
      `the database has schema ${version} of ${latestSchemaVersion}: start the daemon once, which migrates it`,
    );
  }
  verify(connection, migrations);
}

/**
 * Migrates the schema up to `target`. Each step is one transaction that checks its result before it sets `user_version`. A
 * step that fails is rolled back and stops the chain. A process killed in between leaves a complete version. Idempotent,
 * also if two processes migrate at once. Decision: a new database takes all steps in one transaction, because it has no rows to
 * keep, and each transaction waits for the disk.
 */
export function migrate(
  connection: SqliteConnection,
  target: number = latestSchemaVersion,
  chain: readonly Migration[] = migrations,
): void {
  checkSchema(connection);
  const steps = chain.filter(({ to }) => to <= target);
  if (readSchemaVersion(connection) === 0) runSteps(connection, 0, steps);
  for (const step of steps) {
    if (readSchemaVersion(connection) < step.to) runSteps(connection, step.to - 1, [step]);
  }
  verify(connection, steps);
}

/** Runs steps in one transaction, unless another process has run them in the meantime. */
function runSteps(connection: SqliteConnection, from: number, steps: readonly Migration[]): void {
  const last = steps.at(-1);
  if (last === undefined) return;
  const statements = steps.flatMap((step) => step.statements);
  try {
    connection.transaction(() => {
      // Read again under the lock.
      const version = readSchemaVersion(connection);
      if (version > from) return;
      if (version < from)
        throw new StoreError("migration", `no migration leads from ${version} to ${last.to}`);
      for (const statement of from === 0 ? foldColumns(statements) : statements)
        connection.execute(statement);
      verify(connection, steps);
      connection.execute(`PRAGMA user_version = ${last.to}`);
    });
  } catch (error) {
    if (error instanceof StoreError && error.reason !== "other" && error.reason !== "constraint") throw error;
    throw new StoreError(
      "migration",
      `the migration to schema version ${last.to} failed and was rolled back`,
      { cause: error },
    );
  }
}
