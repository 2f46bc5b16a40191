import type { Dialect } from "kysely";
import type { SqliteConnection } from "../../core/ports/sqlite.ts";

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
  reads: SqliteConnection<Dialect>;
}
