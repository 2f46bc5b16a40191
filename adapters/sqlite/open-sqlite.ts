import type { Dialect } from "kysely";
import {
  type SqliteConnection,
  type SqliteOpener,
  type SqliteOptions,
  StoreError,
} from "../../core/ports/sqlite.ts";
import { fileIdentity, immutableAddress, prepareDatabaseFile, setAside } from "./database-file.ts";
import { createConnection } from "./driver.ts";

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
      prepareDatabaseFile(path, options.readOnly ?? false);
      try {
        return await connect(path, options);
      } catch (error) {
        const still =
          options.readOnly === true && error instanceof StoreError && error.reason === "cannot_open";
        const address = still ? immutableAddress(path) : null;
        if (address === null) throw error;
        return await connect(address, options);
      }
    },
    fileIdentity,
    setAside,
  };
}
