import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from "kysely";
import type { Sql } from "postgres";
import { DatabaseError, type DatabasePool } from "../../core/ports/postgres.ts";
import { toDatabaseError } from "./database-errors.ts";

/** How many sessions there may be, and how long a caller waits for one. */
export interface SessionPoolOptions {
  readonly maxSessions: number;
  readonly acquireTimeoutMs: number;
  setTimer(delayMs: number, run: () => void): () => void;
  /** Makes a postgres.js client of exactly one connection; `onClose` is called in the turn in which it closes. */
  open(onClose: () => void): Sql;
}

/** The driver, and how its pool stands. */
export interface SessionDriver extends Driver {
  pool(): DatabasePool;
}

/** One connection to the server, from its opening to its end; never opened again. */
interface Session {
  readonly sql: Sql;
  isClosed: boolean;
}

interface Waiter {
  take(session: Session): void;
  fail(message: string): void;
}

/**
 * A driver of Kysely's with a pool of its own, over postgres.js clients of one connection each.
 *
 * Decision: postgres.js's own pool is not used. On a connection that was lost in the middle of a transaction it goes on
 * writing, to a socket that is null, in a callback of its own: the process ends when the server does (3.4.9,
 * `connection.js`, `nextWrite`). With one client for each connection, the loss is known before the next statement, which
 * then fails here; and a connection is never silently replaced within a transaction.
 */
export function createSessionDriver(options: SessionPoolOptions): SessionDriver {
  const idle: Session[] = [];
  const waiters: Waiter[] = [];
  const all = new Set<Session>();

  function openSession(): Session {
    const sql = options.open(() => discard(session));
    const session: Session = { sql, isClosed: false };
    all.add(session);
    return session;
  }

  /** Takes a session out of service; whoever waits gets a new one in its place. */
  function discard(session: Session): void {
    session.isClosed = true;
    if (!all.delete(session)) return;
    const at = idle.indexOf(session);
    if (at >= 0) idle.splice(at, 1);
    void session.sql.end({ timeout: 0 }).catch(() => {});
    waiters.shift()?.take(openSession());
  }

  function acquire(): Promise<Session> {
    const free = idle.pop();
    if (free !== undefined) return Promise.resolve(free);
    if (all.size < options.maxSessions) return Promise.resolve(openSession());
    return new Promise((resolve, reject) => {
      const cancel = options.setTimer(options.acquireTimeoutMs, () => {
        waiters.splice(waiters.indexOf(waiter), 1);
        waiter.fail("no connection became free in time");
      });
      const waiter: Waiter = {
        take: (session) => {
          cancel();
          resolve(session);
        },
        fail: (message) => {
          cancel();
          reject(new DatabaseError("unavailable", { message }));
        },
      };
      waiters.push(waiter);
    });
  }

  function release(session: Session): void {
    if (session.isClosed) return;
    const waiter = waiters.shift();
    if (waiter === undefined) idle.push(session);
    else waiter.take(session);
  }

  /** Runs a statement; a session whose connection failed is not used again, whatever it says of itself. */
  async function run<Row>(session: Session, query: CompiledQuery): Promise<QueryResult<Row>> {
    if (session.isClosed) throw new DatabaseError("unavailable", { code: "CONNECTION_CLOSED" });
    try {
      const parameters = [...query.parameters] as Parameters<Sql["unsafe"]>[1];
      const result = await session.sql.unsafe(query.sql, parameters, { prepare: true });
      const changes = ["INSERT", "UPDATE", "DELETE", "MERGE"].includes(result.command);
      return {
        rows: [...result] as unknown as Row[],
        ...(changes ? { numAffectedRows: BigInt(result.count) } : {}),
      };
    } catch (cause) {
      const error = toDatabaseError(cause);
      if (error.reason === "unavailable") discard(session);
      throw error;
    }
  }

  const sessions = new WeakMap<DatabaseConnection, Session>();
  const command = (text: string) => async (connection: DatabaseConnection) => {
    await connection.executeQuery(CompiledQuery.raw(text));
  };
  return {
    pool: () => ({
      open: all.size,
      idle: idle.length,
      max: options.maxSessions,
      waiting: waiters.length,
    }),
    init: async () => {},
    acquireConnection: async () => {
      const session = await acquire();
      const connection: DatabaseConnection = {
        executeQuery: (query) => run(session, query),
        streamQuery: () => {
          throw new Error("streaming queries are not supported");
        },
      };
      sessions.set(connection, session);
      return connection;
    },
    releaseConnection: async (connection) => {
      const session = sessions.get(connection);
      if (session !== undefined) release(session);
    },
    beginTransaction: command("begin"),
    commitTransaction: command("commit"),
    rollbackTransaction: command("rollback"),
    destroy: async () => {
      for (const waiter of waiters.splice(0)) waiter.fail("the database was closed");
      const open = [...all];
      all.clear();
      await Promise.all(open.map(({ sql }) => sql.end({ timeout: 5 })));
    },
  };
}
