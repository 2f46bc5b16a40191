import { existsSync } from "node:fs";
import type { PGlite, PGliteOptions, Results } from "@electric-sql/pglite";
import { type Dialect, PGliteDialect, type PGliteDialectConfig } from "kysely";
import { DatabaseError, type PostgresDatabase } from "../../core/ports/postgres.ts";
import { takeExclusiveLock } from "../lock/exclusive-lock.ts";
import { importOptional, MissingPackageError } from "../optional-packages.ts";
import { createSqliteOpener } from "../sqlite/open-sqlite.ts";
import {
  asText,
  DATE_OID,
  INT8_OID,
  readTimestamptz,
  TIMESTAMPTZ_OID,
  writeTimestamptz,
} from "./data-types.ts";
import { addFileSync, syncingParameters, syncTree } from "./synced-folder.ts";
import { translatingDialect } from "./translating-dialect.ts";

const typeOptions = {
  parsers: { [INT8_OID]: asText, [DATE_OID]: asText, [TIMESTAMPTZ_OID]: readTimestamptz },
  serializers: { [TIMESTAMPTZ_OID]: writeTimestamptz, [DATE_OID]: asText, [INT8_OID]: asText },
} satisfies PGliteOptions;

/** Loads PGlite, which is 26 MB and not installed with the meter. */
async function createPglite(options: PGliteOptions): Promise<PGlite> {
  const { PGlite } = await loadPglite();
  return await PGlite.create(options);
}

const loadPglite = () =>
  importOptional("@electric-sql/pglite", "The embedded database", () => import("@electric-sql/pglite"));

/** Opens PGlite's file system on a folder, with the `fsync` that PGlite's own lacks. */
async function openSyncedFolder(folder: string): Promise<NonNullable<PGliteOptions["fs"]>> {
  const { NodeFS } = await import("@electric-sql/pglite/nodefs");
  return new (class extends NodeFS {
    override async init(...[pglite, options]: Parameters<InstanceType<typeof NodeFS>["init"]>) {
      const { emscriptenOpts } = await super.init(pglite, options);
      const preRun = [addFileSync, ...(emscriptenOpts.preRun ?? [])];
      return { emscriptenOpts: { ...emscriptenOpts, preRun } };
    }
  })(folder);
}

/** Opens a database that is on the disk when a commit is confirmed, as PostgreSQL's own server has it. */
async function createSyncedPglite(folder: string, snapshot: Blob | null = null): Promise<PGlite> {
  const { PGlite } = await loadPglite();
  const isNew = !existsSync(`${folder}/PG_VERSION`);
  const pglite = await PGlite.create({
    ...typeOptions,
    fs: await openSyncedFolder(folder),
    startParams: syncingParameters(PGlite.defaultStartParams),
    ...(snapshot === null ? {} : { loadDataDir: snapshot }),
  });
  if (isNew) syncTree(folder);
  return pglite;
}

/** Opens PostgreSQL in this process, in memory. `snapshot` is a result of `PGlite.dumpDataDir`. */
export function openPgliteInMemory(snapshot: Blob | null = null): PostgresDatabase<Dialect> & {
  dump(): Promise<Blob>;
} {
  let pglite: Promise<PGlite> | null = null;
  const open = () =>
    (pglite ??= createPglite({ ...typeOptions, ...(snapshot === null ? {} : { loadDataDir: snapshot }) }));
  return {
    dialect: pgliteDialect(open, () => {}),
    dump: async () => await (await open()).dumpDataDir("none"),
  };
}

/**
 * Opens PostgreSQL in this process, in a folder. PGlite lets two processes write to the same folder and destroy it, so this
 * takes a lock first, which the system releases when the process ends. A confirmed commit survives a power cut. Rejects with a `DatabaseError`, `unavailable`, if
 * another process holds it. `snapshot` is a result of `dump()`, for a folder without a database.
 */
export async function openPgliteFolder(
  folder: string,
  snapshot: Blob | null = null,
): Promise<PostgresDatabase<Dialect> & { dump(): Promise<Blob> }> {
  const lock = await takeExclusiveLock(createSqliteOpener(), `${folder}/lock.db`);
  if (lock === null) {
    throw new DatabaseError("unavailable", { message: `another process uses the database in ${folder}` });
  }
  try {
    const pglite = await createSyncedPglite(`${folder}/data`, snapshot);
    return {
      dialect: pgliteDialect(() => Promise.resolve(pglite), lock.release),
      dump: () => pglite.dumpDataDir("none"),
    };
  } catch (cause) {
    lock.release();
    if (cause instanceof MissingPackageError) throw cause;
    throw new DatabaseError("unavailable", { message: `can't open the database in ${folder}`, cause });
  }
}

function pgliteDialect(open: () => Promise<PGlite>, closed: () => void): Dialect {
  // Drivers that share a PGlite share its prepared statements.
  let preparing: KyselyPglite | null = null;
  const dialect = new PGliteDialect({
    pglite: async () => {
      const pglite = await open();
      const module = await loadPglite();
      // The same settings as a server's connection parameters.
      await pglite.exec("set timezone = 'UTC'");
      return (preparing ??= preparingPglite(pglite, module));
    },
  });
  // One connection: callers queue in Kysely, behind work of milliseconds, so their wait needs no limit.
  const translating = translatingDialect(dialect);
  return {
    ...translating,
    createDriver: () => {
      const driver = translating.createDriver();
      return {
        ...driver,
        destroy: async (options) => {
          await driver.destroy(options);
          closed();
        },
      };
    },
  };
}

type PgliteModule = Pick<typeof import("@electric-sql/pglite"), "parse" | "protocol">;
/** What Kysely calls of PGlite. */
type KyselyPglite = Exclude<PGliteDialectConfig["pglite"], (...options: never[]) => unknown>;
type KyselyTransaction = Parameters<Parameters<KyselyPglite["transaction"]>[0]>[0];
type Messages = Awaited<ReturnType<PGlite["execProtocol"]>>["messages"];

/** A prepared statement keeps its plan in memory. Above this number, the least recently used one is closed. */
const MAX_STATEMENTS = 128;
/** A longer text inserts many rows: its plan is large, and it is rarely used again. In UTF-16 code units. */
const MAX_PREPARED_LENGTH = 8_000;

/** Statements that are prepared. */
const PREPARED = /^\s*(?:select|insert|update|delete|with)\b/i;
/** Statements after which prepared statements are still valid. Any other may change or restore the schema, or deallocate. */
const HARMLESS =
  /^\s*(?:set(?!.*\bsearch_path\b)|begin|commit|savepoint|release|lock|truncate|vacuum|analyze|explain)\b/is;

interface Statement {
  readonly name: string;
  readonly parameterTypes: readonly number[];
  /** The description of its columns; empty for a statement that returns no rows. */
  readonly columns: Messages;
}

interface Connection {
  readonly pglite: PGlite;
  readonly module: PgliteModule;
  /** By text, the least recently used first. */
  readonly statements: Map<string, Statement>;
  /** The number of statements that were ever prepared. */
  prepared: number;
  /** Whether the open transaction may have changed the schema, which its end can restore. */
  hasChanged: boolean;
}

/**
 * Returns PGlite with a cache of prepared statements, as postgres.js has. `PGlite.query()` parses and plans a statement
 * each time, and calls the engine six times. A prepared statement takes one call, and half of the CPU time or less.
 */
function preparingPglite(pglite: PGlite, module: PgliteModule): KyselyPglite {
  const connection: Connection = { pglite, module, statements: new Map(), prepared: 0, hasChanged: false };
  // Several drivers can share a PGlite, and its own queue for transactions is not public.
  let queue: Promise<unknown> = Promise.resolve();
  function takeTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work);
    queue = done.catch(() => {});
    return done;
  }
  return {
    close: () => pglite.close(),
    get closed() {
      return pglite.closed;
    },
    get ready() {
      return pglite.ready;
    },
    waitReady: pglite.waitReady,
    query: (text, values) => takeTurn(() => query(connection, pglite, text, values)),
    transaction: <T>(work: (transaction: KyselyTransaction) => Promise<T>) =>
      takeTurn(async () => {
        connection.hasChanged = false;
        try {
          return await pglite.transaction((transaction) =>
            work({
              query: (text, values) => query(connection, transaction, text, values),
              rollback: () => transaction.rollback(),
            }),
          );
        } finally {
          if (connection.hasChanged) await closeAll(connection);
        }
      }),
  };
}

/** Runs a statement on `engine`, which is PGlite or its open transaction. */
async function query<T>(
  connection: Connection,
  engine: Pick<PGlite, "query">,
  text: string,
  values: unknown[] = [],
): Promise<Results<T>> {
  const { pglite } = connection;
  if (!PREPARED.test(text)) {
    if (!HARMLESS.test(text)) {
      connection.hasChanged = true;
      await closeAll(connection);
    }
    return await engine.query<T>(text, values);
  }
  const syncToFs = engine === pglite;
  try {
    return await pglite.runExclusive(() => execute<T>(connection, text, values, syncToFs));
  } catch (error) {
    throw Object.assign(error as Error, { query: text, params: values });
  }
}

async function execute<T>(
  connection: Connection,
  text: string,
  values: readonly unknown[],
  syncToFs: boolean,
): Promise<Results<T>> {
  const { pglite, module, statements } = connection;
  const { serialize } = module.protocol;
  const { name, parameterTypes, columns } = statements.get(text) ?? (await prepare(connection, text));
  const bound = values.map((value, at) => toText(value, pglite.serializers[parameterTypes[at] ?? 0]));
  const parts = [serialize.bind({ statement: name, values: bound }), serialize.execute({})];
  const messages = await send(connection, parts, syncToFs);
  const found = statements.get(text);
  if (found !== undefined) {
    statements.delete(text);
    statements.set(text, found);
  }
  const [results] = module.parse.parseResults([...columns, ...messages], pglite.parsers);
  return results as Results<T>;
}

/** Prepares a statement: under a name of its own, or as the unnamed one, which the next one replaces. */
async function prepare(connection: Connection, text: string): Promise<Statement> {
  const { module, statements } = connection;
  const { serialize } = module.protocol;
  const isKept = text.length <= MAX_PREPARED_LENGTH;
  if (isKept && statements.size >= MAX_STATEMENTS) {
    await close(connection, [...statements.keys()].slice(0, 1));
  }
  const name = isKept ? `s${++connection.prepared}` : "";
  const describe = serialize.describe(isKept ? { type: "S", name } : { type: "S" });
  const messages = await send(connection, [serialize.parse({ name, text }), describe]);
  const statement = {
    name,
    parameterTypes: module.parse.parseDescribeStatementResults(messages),
    columns: messages.filter((message) => message.name === "rowDescription"),
  };
  if (isKept) statements.set(text, statement);
  return statement;
}

/** Closes all prepared statements. */
const closeAll = (connection: Connection): Promise<void> =>
  connection.pglite.runExclusive(() => close(connection, [...connection.statements.keys()]));

/** Closes prepared statements. PostgreSQL accepts names of statements that it does not have. */
async function close(connection: Connection, texts: readonly string[]): Promise<void> {
  const { module, statements } = connection;
  const names = texts.map((text) => statements.get(text)?.name ?? "");
  for (const text of texts) statements.delete(text);
  await send(
    connection,
    names.map((name) => module.protocol.serialize.close({ type: "S", name })),
  );
}

/** Sends messages and a sync, so that the engine is ready again after an error. Throws the error. */
async function send(
  { pglite, module }: Connection,
  parts: readonly Uint8Array[],
  syncToFs = false,
): Promise<Messages> {
  const message = Buffer.concat([...parts, module.protocol.serialize.sync()]);
  return (await pglite.execProtocol(new Uint8Array(message), { syncToFs })).messages;
}

/** Returns a parameter in PostgreSQL's text format. */
function toText(value: unknown, serialize: ((value: unknown) => string) | undefined): string | null {
  if (value === null || value === undefined) return null;
  return serialize === undefined ? String(value) : serialize(value);
}
