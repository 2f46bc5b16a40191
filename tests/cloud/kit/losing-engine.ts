import type { CompiledQuery, DatabaseConnection, Dialect, Driver } from "kysely";
import { openCloudDatabase } from "../../../cloud/store/open-database.ts";
import type { Engine } from "./engines.ts";

/** Which statements are lost. A lost one is not run and reports that it affected no row. */
export interface Losses {
  /** Called with the text of each statement. */
  loses: (statement: string) => boolean;
}

/** An engine whose database loses statements without an error, as a cluster does while a shard moves. */
export function losingEngine(engine: Engine, losses: Losses): Engine {
  return {
    ...engine,
    open: async (options) => {
      const test = await engine.open(options);
      const database = { ...test.database, dialect: losingDialect(test.database.dialect, losses) };
      const db = openCloudDatabase(database);
      const close = async () => {
        await db.destroy();
        await test.close();
      };
      return { ...test, db, database, close };
    },
  };
}

function losingDialect(dialect: Dialect, losses: Losses): Dialect {
  const connections = new WeakMap<DatabaseConnection, DatabaseConnection>();
  const createDriver = (): Driver => {
    const driver = dialect.createDriver();
    const real = (connection: DatabaseConnection) => connections.get(connection) ?? connection;
    return {
      init: () => driver.init(),
      acquireConnection: async () => {
        const inner = await driver.acquireConnection();
        const outer = losingConnection(inner, losses);
        connections.set(outer, inner);
        return outer;
      },
      beginTransaction: (connection, settings) => driver.beginTransaction(real(connection), settings),
      commitTransaction: (connection) => driver.commitTransaction(real(connection)),
      rollbackTransaction: (connection) => driver.rollbackTransaction(real(connection)),
      releaseConnection: (connection) => driver.releaseConnection(real(connection)),
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

function losingConnection(inner: DatabaseConnection, losses: Losses): DatabaseConnection {
  return {
    executeQuery: async (query: CompiledQuery) =>
      losses.loses(query.sql) ? { rows: [], numAffectedRows: 0n } : await inner.executeQuery(query),
    streamQuery: () => {
      throw new Error("streaming queries are not supported");
    },
  };
}
