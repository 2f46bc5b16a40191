import type { Dialect, Driver } from "kysely";
import { openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { DatabaseError } from "../../../core/ports/postgres.ts";
import type { Engine } from "./engines.ts";

/** When a process dies: after how many more commits. Infinity: never. */
export interface Crash {
  commitsLeft: number;
  /** The commits since the last reset. */
  commits: number;
}

/** An engine whose connections fail after a number of commits, as those of a process that was killed. */
export function crashingEngine(engine: Engine, crash: Crash): Engine {
  return {
    ...engine,
    open: async (options) => {
      const test = await engine.open(options);
      const database = { ...test.database, dialect: crashingDialect(test.database.dialect, crash) };
      const db = openCloudDatabase(database);
      const close = async () => {
        await db.destroy();
        await test.close();
      };
      return { ...test, db, database, close };
    },
  };
}

function crashingDialect(dialect: Dialect, crash: Crash): Dialect {
  const createDriver = (): Driver => {
    const driver = dialect.createDriver();
    return {
      init: () => driver.init(),
      acquireConnection: () => driver.acquireConnection(),
      beginTransaction: async (connection, settings) => {
        if (crash.commitsLeft <= 0) throw new DatabaseError("unavailable", { message: "the process died" });
        await driver.beginTransaction(connection, settings);
      },
      commitTransaction: async (connection) => {
        await driver.commitTransaction(connection);
        crash.commits += 1;
        crash.commitsLeft -= 1;
      },
      rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
      releaseConnection: (connection) => driver.releaseConnection(connection),
      destroy: () => driver.destroy(),
    };
  };
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver,
  };
}
