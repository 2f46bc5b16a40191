import { type Dialect, Kysely } from "kysely";
import type { PostgresDatabase } from "../../core/ports/postgres.ts";
import type { CloudSchema } from "./schema.ts";

/** The cloud's database. `destroy()` closes it. */
export type CloudDatabase = Kysely<CloudSchema>;

/** Opens the cloud's database; connects with the first query. */
export function openCloudDatabase(database: PostgresDatabase<Dialect>): CloudDatabase {
  return new Kysely<CloudSchema>({ dialect: database.dialect });
}
