import type { Dialect } from "kysely";
import type { SqliteOpener } from "../../core/ports/sqlite.ts";
import { fileIdentity, prepareDatabaseFile, setAside } from "./database-file.ts";
import { createConnection } from "./driver.ts";

/** Opens with `bun:sqlite` on Bun and with `node:sqlite` on Node and Deno. */
export function createSqliteOpener(): SqliteOpener<Dialect> {
  return {
    open: async (path, options = {}) => {
      prepareDatabaseFile(path, options.readOnly ?? false);
      const driver =
        "Bun" in globalThis
          ? await (await import("./bun-sqlite.ts")).openBunSqlite(path, options)
          : (await import("./node-sqlite.ts")).openNodeSqlite(path, options);
      return createConnection(driver, options);
    },
    fileIdentity,
    setAside,
  };
}
