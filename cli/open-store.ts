import { existsSync } from "node:fs";
import { createSqliteOpener } from "../adapters/sqlite/mod.ts";
import { StoreError } from "../core/ports/sqlite.ts";
import { openStore, type Store } from "../daemon/store/mod.ts";
import { databaseFile } from "./database-file.ts";
import { CommandFailure, exitCodes } from "./exit-codes.ts";

/** How long a command that writes waits for others that do, in milliseconds: several may be at work on a large database. */
const WRITER_WAITS_MS = 60_000;

/**
 * Opens the store for a command and closes it afterwards. Readers never wait for the daemon. Where there is no database yet,
 * one is made for a command that says `create`; for others nothing was metered.
 */
export async function withStore<T>(
  home: string,
  {
    create = false,
    busyTimeoutMs = WRITER_WAITS_MS,
    readOnly,
  }: { readOnly: boolean; create?: boolean; busyTimeoutMs?: number },
  work: (store: Store) => Promise<T>,
): Promise<T> {
  let store: Store;
  try {
    if (!create && !readOnly && !existsSync(databaseFile(home)))
      throw new StoreError("missing", "there is no database");
    store = await openStore(createSqliteOpener(), databaseFile(home), { readOnly, busyTimeoutMs });
  } catch (cause) {
    if (cause instanceof StoreError) throw new CommandFailure(inWords(cause, home), exitCodeOf(cause));
    throw cause;
  }
  try {
    return await work(store);
  } catch (cause) {
    if (cause instanceof StoreError) throw new CommandFailure(inWords(cause, home), exitCodeOf(cause));
    throw cause;
  } finally {
    store.close();
  }
}

function inWords(error: StoreError, home: string): string {
  switch (error.reason) {
    case "missing":
      return `nothing was metered yet: there is no database in ${home}. Start with: meter start`;
    case "older_schema":
      return "the database is from an older version: meter start brings it up to date";
    case "newer_schema":
      return "the database was written by a newer version of meter: update this one";
    case "busy":
      return `${databaseFile(home)}: another process keeps it locked; try again when that is done`;
    default:
      return `${databaseFile(home)}: ${error.message}`;
  }
}

const exitCodeOf = (error: StoreError): number =>
  error.reason === "missing" ? exitCodes.notFound : exitCodes.failed;
