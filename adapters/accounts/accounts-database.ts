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

function accountsDriver<Schema>(db: Kysely<Schema>): Driver {
  const releases = new WeakMap<DatabaseConnection, () => void>();
  const command = (text: string) => async (connection: DatabaseConnection) => {
    await connection.executeQuery(CompiledQuery.raw(text));
  };
  const setAccountsRole = command("set role meter_accounts");
  const resetRole = command("reset role");
  return {
    init: async () => {},
    acquireConnection: () =>
      new Promise<DatabaseConnection>((resolve, reject) => {
        db.getExecutor()
          .provideConnection(async (inner) => {
            await setAccountsRole(inner);
            const released = new Promise<void>((release) => {
              const connection = connectionWithDates(inner);
              releases.set(connection, release);
              resolve(connection);
            });
            await released;
            await resetRole(inner);
          })
          // No effect once the connection is handed out: its user gets the error of a broken connection.
          .catch(reject);
      }),
    releaseConnection: async (connection) => releases.get(connection)?.(),
    beginTransaction: command("begin"),
    commitTransaction: command("commit"),
    rollbackTransaction: command("rollback"),
    destroy: async () => {},
  };
}

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
