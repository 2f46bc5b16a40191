import type { CompiledQuery, DatabaseConnection } from "kysely";
import { changedEngine } from "./changed-engine.ts";
import type { Engine } from "./engines.ts";

/** Which statements are lost. A lost one is not run and reports that it affected no row. */
export interface Losses {
  /** Called with the text of each statement, which waits for the result. */
  loses: (statement: string) => boolean | Promise<boolean>;
}

/** An engine whose database loses statements without an error, as a cluster does while a shard moves. */
export function losingEngine(engine: Engine, losses: Losses): Engine {
  return changedEngine(engine, (driver) => {
    const connections = new WeakMap<DatabaseConnection, DatabaseConnection>();
    const real = (connection: DatabaseConnection) => connections.get(connection) ?? connection;
    return {
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
    };
  });
}

function losingConnection(inner: DatabaseConnection, losses: Losses): DatabaseConnection {
  return {
    executeQuery: async (query: CompiledQuery) =>
      (await losses.loses(query.sql)) ? { rows: [], numAffectedRows: 0n } : await inner.executeQuery(query),
    streamQuery: () => {
      throw new Error("streaming queries are not supported");
    },
  };
}
