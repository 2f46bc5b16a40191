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
import { keepDamagedLog } from "./write-ahead-log.ts";

/** The runtime's connection to a path or a `file:` address. */
export async function connect(location: string, options: SqliteOptions): Promise<SqliteConnection<Dialect>> {
  const driver =
    "Bun" in globalThis
      ? await (await import("./bun-sqlite.ts")).openBunSqlite(location, options)
      : (await import("./node-sqlite.ts")).openNodeSqlite(location, options);
  return createConnection(driver, options);
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
        // Left behind it would pass for one that lost all it held.
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
    keepDamagedLog,
    setAside,
  };
}
