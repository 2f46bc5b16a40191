import { sql } from "kysely";
import type { CalendarDate } from "../../core/values/time.ts";
import type { DaemonTotals } from "../../core/wire/daemon-totals.ts";
import type { AuthenticatedKey } from "./keys.ts";
import type { CloudDatabase } from "./open-database.ts";
import { NO_MACHINE, TOKEN_SUMS } from "./rollups.ts";
import { inScope } from "./transaction.ts";

type Delivered = DaemonTotals["totals"];

/** A group's sums as text, since they may exceed a double's integers. */
type Sums = Record<keyof Delivered, string>;

/**
 * Reads what the key's machine delivered, by UTC day (both dates included) and model. Days without requests are left out. An
 * admin key reads what its owner sent with admin keys.
 */
export async function readDaemonTotals(
  db: CloudDatabase,
  key: AuthenticatedKey,
  fromDate: CalendarDate,
  toDate: CalendarDate,
): Promise<DaemonTotals> {
  const { workspaceId, machine, userId } = key;
  const rows = await inScope(db, { workspaceId }, async (trx) => {
    const { rows } = await sql<{ day: CalendarDate; provider: string; model: string } & Sums>`
      select day, provider, model, sum(requests) as requests,
        ${sql.raw(TOKEN_SUMS.map((token) => `sum(${token}) as ${token}`).join(", "))},
        sum(cost_pico_usd) as cost_pico_usd, sum(reported_cost_pico_usd) as reported_cost_pico_usd
      from usage_daily
      where workspace_id = ${workspaceId}::uuid
        and day between ${fromDate}::date and ${toDate}::date
        and machine_id = ${machine?.id ?? NO_MACHINE}::uuid
        ${machine === null ? sql`and user_id = ${userId}` : sql``}
      group by day, provider, model
      having sum(requests) > 0
      order by day, provider, model`.execute(trx);
    return rows;
  });
  const byDay = Map.groupBy(rows, ({ day }) => day);
  return {
    from_date: fromDate,
    to_date: toDate,
    days: [...byDay].map(([date, models]) => ({
      date,
      ...sumOf(models),
      models: models.map((row) => ({ provider: row.provider, model: row.model, ...sumOf([row]) })),
    })),
    totals: sumOf(rows),
  };
}

function sumOf(rows: readonly Sums[]): Delivered {
  const total = (field: keyof Delivered) => rows.reduce((sum, row) => sum + BigInt(row[field]), 0n);
  // The wire has no number beyond 2^53.
  const count = (field: keyof Delivered) => Math.min(Number(total(field)), Number.MAX_SAFE_INTEGER);
  return {
    requests: count("requests"),
    prompt_tokens: count("prompt_tokens"),
    completion_tokens: count("completion_tokens"),
    cache_read_tokens: count("cache_read_tokens"),
    cache_write_tokens: count("cache_write_tokens"),
    thinking_tokens: count("thinking_tokens"),
    cost_pico_usd: total("cost_pico_usd").toString(),
    reported_cost_pico_usd: total("reported_cost_pico_usd").toString(),
  };
}
