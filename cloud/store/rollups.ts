import { CompiledQuery, type Transaction } from "kysely";
import { EFFECTIVE_BILLING_SQL } from "../../core/values/billing.ts";
import { expectRows } from "./affected-rows.ts";
import type { RollupChange, rollupChanges } from "./rollup-changes.ts";
import type { CloudSchema } from "./schema.ts";

/** The machine in a rollup's key for requests that came with an admin key. */
export const NO_MACHINE = "00000000-0000-0000-0000-000000000000";

/** The dimensions of a rollup's key besides workspace and time. */
export const ROLLUP_KEY = "machine_id, user_id, project, provider, model";

/** The disjoint kinds of tokens. Each has a sum. */
export const TOKEN_SUMS = [
  "prompt_tokens",
  "completion_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "thinking_tokens",
] as const;

/** The sums that reports show. */
export const USAGE_SUMS = [
  "requests",
  "failed_requests",
  "unpriced_requests",
  "incomplete_requests",
  ...TOKEN_SUMS,
  "cost_pico_usd",
  "spent_pico_usd",
  "plan_usage_pico_usd",
] as const;

/** All sums of a rollup. */
export const ROLLUP_SUMS = [...USAGE_SUMS, "reported_cost_pico_usd"] as const;

/** SQL for whether a row of `requests` failed; null if neither its class nor its status is known. */
export const FAILED = "(error_class is not null or http_status >= 400)";

/** SQL for whether a request used no tokens. If it also failed, it does not count as unpriced. */
export const USED_NOTHING = `${TOKEN_SUMS.map((sum) => `coalesce(${sum}, 0)`).join(" + ")} = 0`;

/** SQL for the parts of the cost, by their sums. The rest of the cost has unknown billing. */
const COST_PARTS: Readonly<Record<string, string>> = {
  spent_pico_usd: `case when ${EFFECTIVE_BILLING_SQL} in ('metered', 'credits', 'free') then cost_pico_usd end`,
  plan_usage_pico_usd: `case when ${EFFECTIVE_BILLING_SQL} = 'plan' then cost_pico_usd end`,
};

/**
 * Returns a select of what the rows of a common table expression add to the rollups or, with the sign -1, subtract from
 * them. `texts` are further columns, which the rollups do not have; an unknown text is empty.
 */
export function contributions(source: string, sign: 1 | -1, texts: readonly string[] = []): string {
  return `select
    date_trunc('hour', requested_at, 'UTC') as hour,
    coalesce(machine_id, '${NO_MACHINE}') as machine_id,
    user_id,
    coalesce(project, '') as project,
    provider,
    model,
    ${texts.map((column) => `coalesce(${column}, '') as ${column},`).join(" ")}
    ${sign} as requests,
    ${sign} * (${FAILED} is true)::integer as failed_requests,
    ${sign} * (cost_pico_usd is null and not (${FAILED} is true and ${USED_NOTHING}))::integer as unpriced_requests,
    ${sign} * (tokens_complete is false)::integer as incomplete_requests,
    ${ROLLUP_SUMS.slice(4)
      .map((sum) => `${sign} * coalesce(${COST_PARTS[sum] ?? sum}, 0)::numeric as ${sum}`)
      .join(",\n    ")}
  from ${source}`;
}

const CHANGE_COLUMNS = [
  "machine_id uuid, user_id text, project text, provider text, model text",
  ...ROLLUP_SUMS.map((sum) => `${sum} numeric`),
].join(", ");

/** The statements that add changes to a rollup: `$1` is the workspace, `$2` the changes as JSON. */
const ADD = {
  usage_hourly: additionTo("usage_hourly", "hour", "timestamptz"),
  usage_daily: additionTo("usage_daily", "day", "date"),
} as const;

function additionTo(table: string, time: string, type: string): string {
  const key = `${time}, ${ROLLUP_KEY}`;
  const sums = ROLLUP_SUMS.join(", ");
  return `insert into ${table} (workspace_id, ${key}, ${sums})
    select $1::uuid, "time", ${ROLLUP_KEY}, ${sums}
    from json_to_recordset($2::text::json) as changes ("time" ${type}, ${CHANGE_COLUMNS})
    order by "time", ${ROLLUP_KEY}
    on conflict (workspace_id, ${key}) do update set
      ${ROLLUP_SUMS.map((sum) => `${sum} = ${table}.${sum} + excluded.${sum}`).join(", ")}`;
}

/**
 * Adds changes to both rollups, in the caller's transaction. Each statement sorts its keys, so that parallel batches lock them in
 * the same order.
 */
export async function addToRollups(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { hours, days }: ReturnType<typeof rollupChanges>,
): Promise<void> {
  await addToRollup(trx, workspaceId, "usage_hourly", hours);
  await addToRollup(trx, workspaceId, "usage_daily", days);
}

async function addToRollup(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  table: keyof typeof ADD,
  changes: readonly RollupChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const statement = CompiledQuery.raw(ADD[table], [workspaceId, JSON.stringify(changes)]);
  expectRows((await trx.executeQuery(statement)).numAffectedRows, changes.length);
}
