import { type Kysely, sql } from "kysely";
import type { CloudSchema } from "./schema.ts";

/** Thrown if the schema is to be changed through a worker of a cluster. */
export class WorkerError extends Error {
  override name = "WorkerError";
  constructor() {
    super("The database is a worker of a cluster. The schema is changed on the coordinator.");
  }
}

/** Whether the database is a node of a cluster other than its coordinator. */
export async function isOnWorker(db: Kysely<CloudSchema>): Promise<boolean> {
  if (!(await hasTable(db, "pg_dist_local_group"))) return false;
  const { rows } = await sql<{ groupid: number }>`select groupid from pg_dist_local_group`.execute(db);
  return rows.some(({ groupid }) => groupid !== 0);
}

/** Whether the database has a table of this name. */
export async function hasTable(db: Kysely<CloudSchema>, table: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`select to_regclass(${table}) is not null as found`.execute(
    db,
  );
  return rows[0]?.found === true;
}
