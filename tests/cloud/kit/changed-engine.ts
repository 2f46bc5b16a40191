import type { Dialect, Driver } from "kysely";
import { openCloudDatabase } from "../../../cloud/store/open-database.ts";
import type { Engine } from "./engines.ts";

/** An engine whose databases have a changed driver; `change` returns the methods that differ. */
export function changedEngine(engine: Engine, change: (driver: Driver) => Partial<Driver>): Engine {
  return {
    ...engine,
    open: async (options) => {
      const test = await engine.open(options);
      const database = { ...test.database, dialect: changedDialect(test.database.dialect, change) };
      const db = openCloudDatabase(database);
      const close = async () => {
        await db.destroy();
        await test.close();
      };
      return { ...test, db, database, close };
    },
  };
}

/** A dialect with a changed driver. */
export function changedDialect(dialect: Dialect, change: (driver: Driver) => Partial<Driver>): Dialect {
  const createDriver = (): Driver => {
    const driver = dialect.createDriver();
    return {
      init: () => driver.init(),
      acquireConnection: () => driver.acquireConnection(),
      beginTransaction: (connection, settings) => driver.beginTransaction(connection, settings),
      commitTransaction: (connection) => driver.commitTransaction(connection),
      rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
      releaseConnection: (connection) => driver.releaseConnection(connection),
      destroy: () => driver.destroy(),
      ...change(driver),
    };
  };
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver,
  };
}
