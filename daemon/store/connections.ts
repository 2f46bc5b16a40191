import { type Dialect, Kysely } from "kysely";
import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/time.ts";
import type { Tables } from "./tables.ts";

/**
 * The store's connections to one file. They are three because their promises differ; a read-only store and one in
 * memory have the same one three times. Transactions are synchronous on all of them, so none spans a turn of the event
 * loop and they never wait for each other within a process.
 */
export interface StoreConnections {
  /** Captured rows: `synchronous=NORMAL`, and busy at once rather than blocking. */
  capture: SqliteConnection<Dialect>;
  /** What must survive a power cut (cursors, `synced_at`, quarantine, settings): `synchronous=FULL`. */
  state: SqliteConnection<Dialect>;
  /** Reports: reads only, from a snapshot, while the others write. */
  reader: Kysely<Tables>;
}

/** Half-open, `[from, to)`; `null` for no bound. */
export interface Period {
  from: Millis | null;
  to: Millis | null;
}

/** Makes the typed reader of a connection. */
export function createReader(connection: SqliteConnection<Dialect>): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: connection.dialect });
}
