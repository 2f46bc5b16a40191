import { type Dialect, Kysely } from "kysely";
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
  /** Reads reports from a snapshot, while the others write. */
  reader: Kysely<Tables>;
  /** The same connection as `reader`, for several reads from one snapshot. */
  reads: SqliteConnection<Dialect>;
}

/** Names the connections, and adds the typed reader. */
export function createConnections(
  capture: SqliteConnection<Dialect>,
  state: SqliteConnection<Dialect>,
  reads: SqliteConnection<Dialect>,
): StoreConnections {
  return { capture, state, reader: new Kysely<Tables>({ dialect: reads.dialect }), reads };
}
