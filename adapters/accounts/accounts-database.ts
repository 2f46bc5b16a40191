import {
  CamelCasePlugin,
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from "kysely";

/** The tables of the schema `accounts`, in better-auth's spelling. */
export interface AccountsSchema {
  people: {
    id: string;
    name: string;
    email: string;
    emailVerified: boolean;
    image?: string | null;
    createdAt: Date;
    updatedAt: Date;
    deletedAt: Date | null;
  };
  sessions: { id: string; userId: string };
  credentials: {
    id: string;
    userId: string;
    providerId: string;
    accountId: string;
    password: string | null;
    createdAt: Date;
    updatedAt: Date;
  };
  /** For a password reset, `value` is the account's id. */
  verifications: { id: string; value: string; expiresAt: Date };
}

/**
 * Opens the accounts' view of the cloud's database. It uses the same connections under a role that can access only accounts,
 * and times are `Date`s, as better-auth expects. Closing it does not close the connections.
 */
export function openAccountsDatabase<Schema>(db: Kysely<Schema>): Kysely<AccountsSchema> {
  return new Kysely<AccountsSchema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => accountsDriver(db),
      createIntrospector: (own) => new PostgresIntrospector(own),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    plugins: [new CamelCasePlugin()],
  }).withSchema("accounts");
}

/** A transaction on a lent connection. */
interface Lease {
  /** Ends the transaction: commits it, or rolls it back if it is rejected. */
  readonly end: PromiseWithResolvers<void>;
  /** Settles once the transaction has ended. Rejected if it was rolled back. */
  readonly ended: Promise<void>;
}

/**
 * Each use of a connection is one transaction, and the role holds for it alone: behind a pooler, the next statement of a session
 * may run on another connection to the server, and others would find the role on the first.
 */
function accountsDriver<Schema>(db: Kysely<Schema>): Driver {
  const leases = new WeakMap<DatabaseConnection, Lease>();
  const commit = async (connection: DatabaseConnection) => {
    const lease = leases.get(connection);
    lease?.end.resolve();
    await lease?.ended;
  };
  return {
    init: async () => {},
    acquireConnection: () =>
      new Promise<DatabaseConnection>((resolve, reject) => {
        const end = Promise.withResolvers<void>();
        const ended = db.transaction().execute((trx) =>
          trx.getExecutor().provideConnection(async (inner) => {
            await inner.executeQuery(CompiledQuery.raw(SET_ROLE));
            const connection = connectionWithDates(inner);
            leases.set(connection, { end, ended });
            resolve(connection);
            await end.promise;
          }),
        );
        // No effect once the connection is handed out: whoever ends the transaction gets the error.
        ended.catch(reject);
      }),
    releaseConnection: commit,
    beginTransaction: async () => {},
    commitTransaction: commit,
    rollbackTransaction: async (connection) => {
      const lease = leases.get(connection);
      leases.delete(connection);
      lease?.end.reject(new Error("rolled back"));
      await lease?.ended.catch(() => {});
    },
    destroy: async () => {},
  };
}

const SET_ROLE = "select set_config('role', 'meter_accounts', true)";

function connectionWithDates(inner: DatabaseConnection): DatabaseConnection {
  return {
    async executeQuery<Row>(query: CompiledQuery) {
      const parameters = query.parameters.map((value) =>
        value instanceof Date ? value.toISOString() : value,
      );
      const result: QueryResult<Row> = await inner.executeQuery<Row>({ ...query, parameters });
      return { ...result, rows: result.rows.map(withDates) };
    },
    streamQuery: () => {
      throw new Error("streaming queries are not supported");
    },
  };
}

function withDates<Row>(row: Row): Row {
  const entries = Object.entries(row as Record<string, unknown>).map(([name, value]) => [
    name,
    name.endsWith("_at") && typeof value === "number" ? new Date(value) : value,
  ]);
  return Object.fromEntries(entries) as Row;
}
