import type { Dialect } from "kysely";
import {
  type SqliteConnection,
  type SqliteOpener,
  type SqliteOptions,
  StoreError,
} from "../../core/ports/sqlite.ts";
import {
  fileIdentity,
  hasFolder,
  immutableAddress,
  isEmptyFile,
  prepareDatabaseFile,
  removeEmptyFile,
  setAside,
} from "./database-file.ts";
import { createConnection } from "./driver.ts";
import { saveDamagedLog, syncLog } from "./write-ahead-log.ts";

/** Opens a connection to a path or a `file:` URI with the runtime's driver. */
export async function connect(location: string, options: SqliteOptions): Promise<SqliteConnection<Dialect>> {
  if ("Bun" in globalThis) {
    const { openBunSqlite } = await import("./bun-sqlite.ts");
    return createConnection(await openBunSqlite(location, options), options);
  }
  const { openNodeSqlite } = await import("./node-sqlite.ts");
  return createConnection(openNodeSqlite(location, options), options);
}

/** Opens with `bun:sqlite` on Bun and with `node:sqlite` on Node and Deno. */
export function createSqliteOpener(): SqliteOpener<Dialect> {
  return {
    open: async (path, options = {}) => {
      const { readOnly = false, lockOnly = false } = options;
      const isNew = prepareDatabaseFile(path, readOnly);
      if (!isNew && !readOnly && !lockOnly && isEmptyFile(path))
        throw new StoreError("corrupt", `the database is empty: ${path}`);
      try {
        return await connect(path, options);
      } catch (error) {
        // The file is removed, because an empty file would look like a database that lost its data.
        const isBusy = error instanceof StoreError && error.reason === "busy";
        if (isNew && !lockOnly && !isBusy) removeEmptyFile(path);
        const still =
          options.readOnly === true && error instanceof StoreError && error.reason === "cannot_open";
        const address = still ? immutableAddress(path) : null;
        if (address === null) throw error;
        return await connect(address, options);
      }
    },
    fileIdentity,
    hasFolder,
    saveDamagedLog,
    syncLog,
    checkPages: async (path) => (await import("./page-check.ts")).checkPages(path),
    setAside,
  };
}
