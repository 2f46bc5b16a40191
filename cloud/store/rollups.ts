import { type RawBuilder, sql } from "kysely";

/** Stands in a rollup's key for a request of no machine, which came by an admin key. */
export const NO_MACHINE = "00000000-0000-0000-0000-000000000000";

const KEY = "machine_id, user_id, project, provider, model";

/** The disjoint kinds of tokens, of which each is a sum. */
export const TOKEN_SUMS = [
  "prompt_tokens",
  "completion_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "thinking_tokens",
] as const;

/** What the rollups add up and reports show. */
export const USAGE_SUMS = [
  "requests",
  "failed_requests",
  "unpriced_requests",
  "incomplete_requests",
  ...TOKEN_SUMS,
  "cost_pico_usd",
] as const;

const SUMS: readonly string[] = [...USAGE_SUMS, "reported_cost_pico_usd"];

/** Whether a row of `requests` failed; null where neither class nor status is known. */
export const FAILED = "(error_class is not null or http_status >= 400)";

/** What failed and used nothing has no cost to miss. */
const USED_NOTHING = `${TOKEN_SUMS.map((sum) => `coalesce(${sum}, 0)`).join(" + ")} = 0`;

/**
 * What rows of `requests` add to the rollups, or take from them with the sign -1: a select over a common table
 * expression of that name.
 */
export function contributions(source: string, sign: 1 | -1): string {
  return `select
    date_trunc('hour', requested_at, 'UTC') as hour,
    coalesce(machine_id, '${NO_MACHINE}') as machine_id,
    user_id,
    coalesce(project, '') as project,
    provider,
    model,
    ${sign} as requests,
    ${sign} * (${FAILED} is true)::integer as failed_requests,
    ${sign} * (cost_pico_usd is null and not (${FAILED} is true and ${USED_NOTHING}))::integer as unpriced_requests,
    ${sign} * (tokens_complete is false)::integer as incomplete_requests,
    ${SUMS.slice(4)
      .map((sum) => `${sign} * coalesce(${sum}, 0)::numeric as ${sum}`)
      .join(",\n    ")}
  from ${source}`;
}

/**
 * Adds the common table expression `contributed` to both rollups. The keys are sorted, so that parallel batches take
 * their locks in one order; the day's sums are made of the hour's rows in the same statement.
 */
export function addToRollups(workspaceId: string): RawBuilder<unknown> {
  const sums = SUMS.map((sum) => `sum(${sum})`).join(", ");
  const upsert = (table: string, time: string, expression: string) =>
    sql`${sql.raw(table)} as (
      insert into ${sql.raw(`usage_${table}`)} (workspace_id, ${sql.raw(`${time}, ${KEY}, ${SUMS.join(", ")}`)})
      select ${workspaceId}::uuid, ${sql.raw(`${expression}, ${KEY}, ${sums}`)}
      from contributed
      group by ${sql.raw(`${expression}, ${KEY}`)}
      order by ${sql.raw(`${expression}, ${KEY}`)}
      on conflict (workspace_id, ${sql.raw(`${time}, ${KEY}`)}) do update set
        ${sql.raw(SUMS.map((sum) => `${sum} = usage_${table}.${sum} + excluded.${sum}`).join(", "))}
    )`;
  return sql`${upsert("hourly", "hour", "hour")}, ${upsert("daily", "day", "(hour at time zone 'UTC')::date")}`;
}
