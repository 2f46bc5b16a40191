import { type RawBuilder, sql } from "kysely";

/** SQL for a value of a `jsonb` column. */
export const toJson = (value: unknown): RawBuilder<unknown> => sql`${JSON.stringify(value)}::text::jsonb`;
