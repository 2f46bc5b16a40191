import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from "kysely";
import type { Sql } from "postgres";
import { DatabaseError, type DatabasePool } from "../../core/ports/postgres.ts";
import { toDatabaseError } from "./database-errors.ts";

/** The limits of a pool, and how it opens sessions. */
interface SessionPoolOptions {
  readonly maxSessions: number;
  /** How long a caller waits for a session, milliseconds. */
  readonly acquireTimeoutMs: number;
  setTimer(delayMs: number, run: () => void): () => void;
  /** Creates a postgres.js client of exactly one connection, which calls `onClose` in the turn in which it closes. */
  open(onClose: () => void): Sql;
  /** Whether sessions keep prepared statements. */
  readonly prepare: boolean;
  /** The SQL that begins a transaction. */
  readonly begin: string;
}

/** A Kysely driver that reports the state of its pool. */
export interface SessionDriver extends Driver {
  pool(): DatabasePool;
}

/** One connection to the server, never opened again once it is closed. */
interface Session {
  readonly sql: Sql;
  isClosed: boolean;
  /** Whether a statement has succeeded, so that the connection stands. */
  isConnected: boolean;
  /** The statements with parameters that the session has prepared. */
  readonly prepared: Set<string>;
  /** The end of a statement with parameters that is sent for the first time; null without one. */
  preparing: Promise<void> | null;
  /** The beginning of a transaction, until its first statement. */
  beginning: Promise<unknown> | null;
}

/** A caller that waits for a session. */
interface Waiter {
  take(session: Session): void;
  fail(message: string): void;
}

/** The state of a pool. */
interface SessionPool {
  readonly options: SessionPoolOptions;
  /** All sessions that are open. */
  readonly all: Set<Session>;
  /** The sessions that no caller uses. */
  readonly idle: Session[];
  readonly waiters: Waiter[];
}

/**
 * Creates a Kysely driver with its own pool, over postgres.js clients of one connection each.
 *
 * Decision: postgres.js's own pool is not used. If a connection is lost in the middle of a transaction, that pool writes to a
 * socket that is null, in a callback of its own, and the process ends when the server does (3.4.9, `connection.js`,
 * `nextWrite`). With one client per connection, the loss is known before the next statement, which then fails here, and a
 * connection is never silently replaced within a transaction.
 */
export function createSessionDriver(options: SessionPoolOptions): SessionDriver {
  const pool: SessionPool = { options, all: new Set(), idle: [], waiters: [] };
  const lent = new WeakMap<DatabaseConnection, Session>();
  const command = (text: string) => async (connection: DatabaseConnection) => {
    await connection.executeQuery(CompiledQuery.raw(text));
  };
  return {
    pool: () => ({
      open: pool.all.size,
      idle: pool.idle.length,
      max: options.maxSessions,
      waiting: pool.waiters.length,
    }),
    init: async () => {},
    acquireConnection: async () => {
      const session = await acquire(pool);
      const connection: DatabaseConnection = {
        async executeQuery<Row>(query: CompiledQuery) {
          const { beginning } = session;
          session.beginning = null;
          const [result] = await Promise.all([send<Row>(pool, session, query), beginning]);
          return result;
        },
        streamQuery: () => {
          throw new Error("streaming queries are not supported");
        },
      };
      lent.set(connection, session);
      return connection;
    },
    releaseConnection: async (connection) => {
      const session = lent.get(connection);
      if (session !== undefined) release(pool, session);
    },
    // Sent with the transaction's first statement, which reports an error of either. A new connection is waited for: its error says
    // why there is none, and if it were lost, postgres.js would run the statement on another one.
    beginTransaction: async (connection) => {
      const beginning = connection.executeQuery(CompiledQuery.raw(options.begin));
      const session = lent.get(connection);
      if (session?.isConnected !== true) return void (await beginning);
      beginning.catch(() => {});
      session.beginning = beginning;
    },
    commitTransaction: command("commit"),
    rollbackTransaction: command("rollback"),
    destroy: () => close(pool),
  };
}

function openSession(pool: SessionPool): Session {
  const sql = pool.options.open(() => discard(pool, session));
  const session: Session = {
    sql,
    isClosed: false,
    isConnected: false,
    prepared: new Set(),
    preparing: null,
    beginning: null,
  };
  pool.all.add(session);
  return session;
}

/** Takes a session out of service. A caller that waits gets a new one in its place. */
function discard(pool: SessionPool, session: Session): void {
  session.isClosed = true;
  if (!pool.all.delete(session)) return;
  const at = pool.idle.indexOf(session);
  if (at >= 0) pool.idle.splice(at, 1);
  void session.sql.end({ timeout: 0 }).catch(() => {});
  pool.waiters.shift()?.take(openSession(pool));
}

function acquire(pool: SessionPool): Promise<Session> {
  const { options, waiters } = pool;
  const free = pool.idle.pop();
  if (free !== undefined) return Promise.resolve(free);
  if (pool.all.size < options.maxSessions) return Promise.resolve(openSession(pool));
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

function release(pool: SessionPool, session: Session): void {
  if (session.isClosed) return;
  const waiter = pool.waiters.shift();
  if (waiter === undefined) pool.idle.push(session);
  else waiter.take(session);
}

/**
 * Sends a statement without waiting for the results of earlier ones, which come in the same order. But it waits while a statement with
 * parameters runs for the first time: postgres.js keeps what follows such a statement in a queue, and would run it on a new connection, outside
 * of the transaction, if this one were lost.
 */
async function send<Row>(
  pool: SessionPool,
  session: Session,
  query: CompiledQuery,
): Promise<QueryResult<Row>> {
  while (session.preparing !== null) await session.preparing;
  const result = run<Row>(pool, session, query);
  if (query.parameters.length === 0 || session.prepared.has(query.sql)) return await result;
  const remember = () => void (pool.options.prepare && session.prepared.add(query.sql));
  session.preparing = result
    .then(remember, () => {})
    .then(() => {
      session.preparing = null;
    });
  return await result;
}

/** Runs a statement. A session whose connection failed is not used again, even if postgres.js still offers it. */
async function run<Row>(
  pool: SessionPool,
  session: Session,
  query: CompiledQuery,
): Promise<QueryResult<Row>> {
  if (session.isClosed) throw new DatabaseError("unavailable", { code: "CONNECTION_CLOSED" });
  try {
    const parameters = [...query.parameters] as Parameters<Sql["unsafe"]>[1];
    const result = await session.sql.unsafe(query.sql, parameters, {
      prepare: pool.options.prepare,
    });
    session.isConnected = true;
    const changes = ["INSERT", "UPDATE", "DELETE", "MERGE"].includes(result.command);
    return {
      rows: [...result] as unknown as Row[],
      ...(changes ? { numAffectedRows: BigInt(result.count) } : {}),
    };
  } catch (cause) {
    const error = toDatabaseError(cause);
    if (error.reason === "unavailable") discard(pool, session);
    throw error;
  }
}

async function close(pool: SessionPool): Promise<void> {
  for (const waiter of pool.waiters.splice(0)) waiter.fail("the database was closed");
  const open = [...pool.all];
  pool.all.clear();
  await Promise.all(open.map(({ sql }) => sql.end({ timeout: 5 })));
}
