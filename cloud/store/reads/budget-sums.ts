import { type RawBuilder, sql, type Transaction } from "kysely";
import type { Budget } from "../../../core/budgets/budget.ts";
import type { PeriodBounds } from "../../../core/budgets/budget-period.ts";
import { billingModesSql } from "../../../core/pricing/cost-split.ts";
import { EFFECTIVE_BILLING_SQL } from "../../../core/values/billing.ts";
import { DAY_MS, type Millis } from "../../../core/values/time.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import type { StoredBudget } from "../budgets.ts";
import { NO_MACHINE, TOKEN_SUMS, UNPRICED } from "../rollups.ts";
import type { CloudSchema } from "../schema.ts";
import { type Span, usageSpans } from "./usage-spans.ts";

/** The sum of a budget in its period, in the unit of its amount. */
export interface BudgetTotals {
  /** What one machine used. */
  readonly here: bigint;
  /** What all others used. */
  readonly elsewhere: bigint;
  readonly calls: number;
  readonly unpricedCalls: number;
}

/** The sum of a budget in its period by machine, in the unit of its amount. */
export interface MachineSums {
  readonly byMachine: ReadonlyMap<string, bigint>;
  readonly calls: number;
  readonly unpricedCalls: number;
}

/** Splits a sum into the part of one machine and that of all others. For null, all of it is the others'. */
export function totalsFor(
  { byMachine, calls, unpricedCalls }: MachineSums,
  machineId: string | null,
): BudgetTotals {
  const here = machineId === null ? 0n : (byMachine.get(machineId) ?? 0n);
  let all = 0n;
  for (const amount of byMachine.values()) all += amount;
  return { here, elsewhere: all - here, calls, unpricedCalls };
}

/** How far ahead of the cloud's clock a request may be to count in a period without an end, milliseconds. */
const AHEAD_MS = 2 * DAY_MS;

/** SQL for the tokens of a row. */
const TOKENS = TOKEN_SUMS.map((sum) => `coalesce(${sum}, 0)`).join(" + ");

/** SQL for what a rollup adds, and what a request adds. A refused request adds nothing. */
const OF_ROLLUP = `requests, unpriced_requests as unpriced, ${TOKENS} as tokens, spent_pico_usd as spent`;
const OF_REQUEST = `(blocked_by is null)::integer as requests, (blocked_by is null and ${UNPRICED})::integer as unpriced, ${TOKENS} as tokens,
  case when ${EFFECTIVE_BILLING_SQL} in (${billingModesSql("spentPicoUsd")}) then coalesce(cost_pico_usd, 0) else 0 end as spent`;

/**
 * Sums what a budget counts, by machine. Almost all of it comes from the rollups of days and hours, so the cost
 * grows with the days, hours and dimensions of the period, not with its requests.
 */
export async function sumBudget(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { subject, target }: Pick<StoredBudget, "subject" | "target">,
  { unit }: Pick<Budget, "unit">,
  { from, to }: PeriodBounds,
  now: Millis,
): Promise<MachineSums> {
  const ended = Math.ceil((now + AHEAD_MS) / DAY_MS) * DAY_MS;
  const period = { from, to: to ?? ended };
  const { days, hours, rows } = usageSpans(period, "day");
  const matches = matchesOf(subject, target);
  const parts = [
    ...(days === null ? [] : [ofRollup(workspaceId, "daily", days, matches)]),
    ...hours.map((span) => ofRollup(workspaceId, "hourly", span, matches)),
    ...rows.map(({ sign, ...span }) => ofRequests(workspaceId, span, matches, sign)),
    ...refusedInRollups(workspaceId, [days, ...hours], matches),
  ];
  const { rows: found } = await sql<SumRow>`
    select machine_id::text, sum(requests)::text as requests,
      sum(unpriced)::text as unpriced, sum(tokens)::text as tokens, sum(spent)::text as spent
    from (${sql.join(parts, sql` union all `)}) parts group by 1`.execute(trx);
  const amount = (row: SumRow) =>
    BigInt({ usd: row.spent, tokens: row.tokens, requests: row.requests }[unit]);
  const count = (key: "requests" | "unpriced") => found.reduce((total, row) => total + Number(row[key]), 0);
  return {
    byMachine: new Map(found.map((row) => [row.machine_id, amount(row)])),
    calls: count("requests"),
    unpricedCalls: unit === "usd" ? count("unpriced") : 0,
  };
}

interface SumRow {
  readonly machine_id: string;
  readonly requests: string;
  readonly unpriced: string;
  readonly tokens: string;
  readonly spent: string;
}

function matchesOf(subject: StoredBudget["subject"], target: string | null): RawBuilder<unknown> {
  switch (subject) {
    case "workspace":
      return sql`true`;
    case "project":
      return sql`project = ${target}`;
    case "person":
      return sql`user_id = ${target}`;
    case "machine":
      return sql`machine_id = ${target}::uuid`;
  }
}

function ofRollup(
  workspaceId: string,
  table: "daily" | "hourly",
  { from, to }: Span,
  matches: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const time = sql.raw(table === "daily" ? "day" : "hour");
  const [first, end] =
    table === "daily"
      ? [sql`${formatInstant(from).slice(0, 10)}::date`, sql`${formatInstant(to).slice(0, 10)}::date`]
      : [sql`${from}::timestamptz`, sql`${to}::timestamptz`];
  return sql`select machine_id, ${sql.raw(OF_ROLLUP)} from ${sql.raw(`usage_${table}`)}
    where workspace_id = ${workspaceId}::uuid and ${time} >= ${first} and ${time} < ${end} and ${matches}`;
}

function ofRequests(
  workspaceId: string,
  { from, to }: Span,
  matches: RawBuilder<unknown>,
  sign: 1 | -1,
): RawBuilder<unknown> {
  return sql`select machine_id, ${sql.lit(sign)} * requests as requests, ${sql.lit(sign)} * unpriced as unpriced,
      ${sql.lit(sign)} * tokens as tokens, ${sql.lit(sign)} * spent as spent
    from (select coalesce(machine_id, ${NO_MACHINE}::uuid) as machine_id, ${sql.raw(OF_REQUEST)} from requests
      where workspace_id = ${workspaceId}::uuid and requested_at >= ${from}::timestamptz
        and requested_at < ${to}::timestamptz and ${matches}) edge`;
}

/** Subtracts the refused calls, which the rollups count as requests. */
function refusedInRollups(
  workspaceId: string,
  spans: readonly (Span | null)[],
  matches: RawBuilder<unknown>,
): RawBuilder<unknown>[] {
  return spans.flatMap((span) =>
    span === null
      ? []
      : [
          sql`select coalesce(machine_id, ${NO_MACHINE}::uuid) as machine_id, -1 as requests,
              -(${sql.raw(UNPRICED)})::integer as unpriced, 0 as tokens, 0 as spent
            from requests where workspace_id = ${workspaceId}::uuid and requested_at >= ${span.from}::timestamptz
              and requested_at < ${span.to}::timestamptz and blocked_by is not null and ${matches}`,
        ],
  );
}
