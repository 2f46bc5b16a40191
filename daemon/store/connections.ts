import type { Dialect, Kysely } from "kysely";
import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Tables } from "./tables.ts";

/**
 * The store's connections to one file: three, because their settings differ. A read-only or in-memory store has the same
 * connection three times. Transactions are synchronous, so they never wait for each other within a process.
 */
export interface StoreConnections {
  /** Inserts captured rows: `synchronous=NORMAL`, with a short wait for locks. */
  capture: SqliteConnection<Dialect>;
  /** Reads, and writes what must survive a power cut (cursors, `synced_at`, quarantine, settings): `synchronous=FULL`. */
  state: SqliteConnection<Dialect>;
  /** Loads the typed reader at the first call. */
  reader(): Promise<Kysely<Tables>>;
  /** The connection of `reader`. Reads reports from a snapshot, while the others write. */
  reads: SqliteConnection<Dialect>;
}

/** Names the connections, and adds the typed reader. */
export function createConnections(
  capture: SqliteConnection<Dialect>,
  state: SqliteConnection<Dialect>,
  reads: SqliteConnection<Dialect>,
): StoreConnections {
  let reader: Promise<Kysely<Tables>> | null = null;
  const load = async () => {
    // Kysely is more than half of the code that a report would load.
    const [{ Kysely }, dialect] = await Promise.all([import("kysely"), reads.dialect()]);
    return new Kysely<Tables>({ dialect });
  };
  return { capture, state, reader: () => (reader ??= load()), reads };
}
