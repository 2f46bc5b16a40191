import { existsSync } from "node:fs";
import { createSqliteOpener } from "../../adapters/sqlite/open-sqlite.ts";
import { StoreError } from "../../core/ports/sqlite.ts";
import { openStore } from "../../daemon/store/open-store.ts";
import type { Store } from "../../daemon/store/port/store.ts";
import { CommandFailure, exitCodes } from "../program/exit-codes.ts";
import { databaseFile } from "./database-file.ts";

/** How long a writing command waits for other writers, in milliseconds; several may be working on a large database. */
const WRITER_TIMEOUT_MS = 60_000;

/**
 * Opens the store, passes it to `work`, and closes it. Readers never wait for the daemon. If there is no database yet, `create` decides:
 * `true` creates it, and `"memory"` uses an empty one in memory. Otherwise the command fails, because nothing has been metered.
 */
export async function withStore<T>(
  home: string,
  {
    create = false,
    busyTimeoutMs = WRITER_TIMEOUT_MS,
    readOnly,
  }: { readOnly: boolean; create?: boolean | "memory"; busyTimeoutMs?: number },
  work: (store: Store) => Promise<T>,
): Promise<T> {
  let store: Store;
  try {
    if (!create && !readOnly && !existsSync(databaseFile(home)))
      throw new StoreError("missing", "there is no database");
    const isMissing = create === "memory" && !existsSync(databaseFile(home));
    // Only the daemon replaces a damaged database, because it then reports the damage until it is stopped.
    store = await openStore(createSqliteOpener(), isMissing ? ":memory:" : databaseFile(home), {
      ...{ readOnly, busyTimeoutMs, keepDamaged: true },
    });
  } catch (cause) {
    if (cause instanceof StoreError)
      throw new CommandFailure(describeStoreError(cause, home), exitCodeOf(cause));
    throw cause;
  }
  try {
    return await work(store);
  } catch (cause) {
    if (cause instanceof StoreError)
      throw new CommandFailure(describeStoreError(cause, home), exitCodeOf(cause));
    throw cause;
  } finally {
    store.close();
  }
}

function describeStoreError(error: StoreError, home: string): string {
  switch (error.reason) {
    case "missing":
      return `Nothing has been metered yet: there is no database in ${home}.\nStart metering: meter start`;
    case "older_schema":
      // A daemon of the older version may still run.
      return "The database was written by an older version of meter.\nUpdate it: meter stop && meter start";
    case "newer_schema":
      return "The database was written by a newer version of meter.\nUpdate meter as it was installed; in a clone: git pull && npm ci";
    case "busy":
      return `${databaseFile(home)} is locked by another process. Try again when it has finished.`;
    case "corrupt":
      return `${databaseFile(home)} is damaged: ${error.message}. It was not changed.\nTo keep a copy of it and start a new database: meter start`;
    default:
      return `${databaseFile(home)} can't be used: ${error.message}.\nCheck it: meter doctor`;
  }
}

const exitCodeOf = (error: StoreError): number =>
  error.reason === "missing" ? exitCodes.notFound : exitCodes.failed;
