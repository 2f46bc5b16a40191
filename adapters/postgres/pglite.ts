import { existsSync } from "node:fs";
import type { PGlite, PGliteOptions } from "@electric-sql/pglite";
import { type Dialect, PGliteDialect } from "kysely";
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
  const dialect = new PGliteDialect({
    pglite: async () => {
      const pglite = await open();
      // The same settings as a server's connection parameters.
      await pglite.exec("set timezone = 'UTC'");
      return pglite;
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
