import { PGlite, type PGliteOptions } from "@electric-sql/pglite";
import { type Dialect, PGliteDialect } from "kysely";
import { DatabaseError, type PostgresDatabase } from "../../core/ports/postgres.ts";
import { takeExclusiveLock } from "../lock/mod.ts";
import { createSqliteOpener } from "../sqlite/mod.ts";
import {
  asText,
  DATE_OID,
  INT8_OID,
  readTimestamptz,
  TIMESTAMPTZ_OID,
  writeTimestamptz,
} from "./data-types.ts";
import { translatingDialect } from "./translating-dialect.ts";

const typeOptions = {
  parsers: { [INT8_OID]: asText, [DATE_OID]: asText, [TIMESTAMPTZ_OID]: readTimestamptz },
  serializers: { [TIMESTAMPTZ_OID]: writeTimestamptz, [DATE_OID]: asText, [INT8_OID]: asText },
} satisfies PGliteOptions;

/** PostgreSQL in this process, in memory; `snapshot` is what `PGlite.dumpDataDir` gave. */
export function openPgliteInMemory(snapshot: Blob | null = null): PostgresDatabase<Dialect> & {
  dump(): Promise<Blob>;
} {
  let pglite: Promise<PGlite> | null = null;
  const open = () =>
    (pglite ??= PGlite.create({ ...typeOptions, ...(snapshot === null ? {} : { loadDataDir: snapshot }) }));
  return {
    dialect: pgliteDialect(open, () => {}),
    dump: async () => await (await open()).dumpDataDir("none"),
  };
}

/**
 * PostgreSQL in this process, in a folder. PGlite itself lets two processes write the same folder and destroy it, so a
 * lock that the system lets go of with the process stands before it. Held by another: `DatabaseError`, `unavailable`.
 */
export async function openPgliteFolder(folder: string): Promise<PostgresDatabase<Dialect>> {
  const lock = await takeExclusiveLock(createSqliteOpener(), `${folder}/lock.db`);
  if (lock === null) {
    throw new DatabaseError("unavailable", { message: `another process uses the database in ${folder}` });
  }
  try {
    const pglite = await PGlite.create({ ...typeOptions, dataDir: `${folder}/data` });
    return { dialect: pgliteDialect(() => Promise.resolve(pglite), lock.release) };
  } catch (cause) {
    lock.release();
    throw new DatabaseError("unavailable", { message: `can't open the database in ${folder}`, cause });
  }
}

function pgliteDialect(open: () => Promise<PGlite>, closed: () => void): Dialect {
  const dialect = new PGliteDialect({
    pglite: async () => {
      const pglite = await open();
      // What a server's connection parameters say.
      await pglite.exec("set timezone = 'UTC'");
      return pglite;
    },
  });
  // One connection: callers queue in Kysely, behind work of milliseconds, so their wait needs no bound.
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
