import {
  type BookedCall,
  type Budget,
  type CallFacts,
  matchesScope,
  type ScopeKey,
  sumKey,
  usedOf,
} from "../../core/budgets/budget.ts";
import { MAX_BUDGET_SESSIONS } from "../../core/budgets/budget-machine.ts";
import { type PeriodBounds, rollingStepMs } from "../../core/budgets/budget-period.ts";
import type { SumPart } from "../../core/budgets/budget-state.ts";
import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";
import { EFFECTIVE_BILLING_SQL } from "../../core/values/billing.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoreConnections } from "./connections.ts";
import type { BudgetAction, BudgetMark, BudgetStore, StoredSum, StoredWarning } from "./port/budgets.ts";
import { COST_HALF } from "./rollup-definition.ts";
import { requestsById } from "./rollups.ts";

/** The columns of facts. Machine and person are those of this installation. */
const FACT_COLUMNS = {
  project: "project",
  branch: "git_branch",
  provider: "provider",
  model: "model",
  client: "client",
  session: "session_id",
  agent: "agent_id",
  billing: EFFECTIVE_BILLING_SQL,
} as const satisfies Partial<Record<ScopeKey, string>>;
type FactColumn = keyof typeof FACT_COLUMNS;

const factColumns = Object.keys(FACT_COLUMNS) as FactColumn[];

/** A failed call without counts used nothing. */
const USED_NOTHING = "error_class IS NOT NULL AND prompt_tokens IS NULL AND completion_tokens IS NULL";
const COST = `CASE WHEN cost_pico_usd IS NULL AND ${USED_NOTHING} THEN 0 ELSE cost_pico_usd END`;
const TOKENS = `CASE WHEN prompt_tokens IS NULL AND completion_tokens IS NULL AND NOT (${USED_NOTHING}) THEN NULL
  ELSE coalesce(prompt_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_tokens, 0)
    + coalesce(completion_tokens, 0) + coalesce(thinking_tokens, 0) END`;

/** Refused calls and those of agents' logs do not count. */
const COUNTED = "record_source IS NOT 'logs' AND blocked_by IS NULL";

type FactRow = { readonly [Column in FactColumn]?: string | null };

/** The key of the version in `meta`. */
const VERSION_KEY = "budgets_version";

/** Tells the daemon that this program changed budgets, or changed or deleted records. The caller has begun a transaction. */
export function noteBudgetsChanged(state: SqliteConnection): void {
  state
    .prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, CAST(random() AS TEXT))")
    .run([VERSION_KEY]);
}

/** Implements `BudgetStore`. */
export function createBudgetStore({ capture, state, reads }: StoreConnections): BudgetStore {
  return {
    list: () =>
      state.prepare<{ name: string; input: string }>("SELECT name, input FROM budgets ORDER BY name").all([]),
    marks: () =>
      state
        .prepare<{ name: string; paused: number; lifted_until: Millis | null }>("SELECT * FROM budget_marks")
        .all([])
        .map(({ name, paused, lifted_until }) => ({
          name,
          isPaused: paused === 1,
          liftedUntil: lifted_until,
        })),
    save: (name, input, action) =>
      state.transaction(() => {
        state.prepare("INSERT OR REPLACE INTO budgets (name, input) VALUES (?, ?)").run([name, input]);
        addAction(state, name, action);
      }),
    remove: (name, action) =>
      state.transaction(() => {
        if (state.prepare("DELETE FROM budgets WHERE name = ?").run([name]) === 0) return false;
        state.prepare("DELETE FROM budget_marks WHERE name = ?").run([name]);
        addAction(state, name, action);
        return true;
      }),
    mark: (mark, action) => state.transaction(() => saveMark(state, mark, action)),
    actions: (name, limit) =>
      state
        .prepare<BudgetAction>(
          "SELECT at, action, actor, reason, until FROM budget_actions WHERE name = ? ORDER BY action_id DESC LIMIT ?",
        )
        .all([name, limit]),
    warnings: (name) =>
      state
        .prepare<{ sum_key: string; threshold: number; limit_amount: string; fired_at: Millis }>(
          "SELECT sum_key, threshold, limit_amount, fired_at FROM budget_warnings WHERE name = ?",
        )
        .all([name])
        .map(
          ({ sum_key, threshold, limit_amount, fired_at }): StoredWarning => ({
            budget: name,
            key: sum_key,
            threshold,
            limit: BigInt(limit_amount),
            at: fired_at,
          }),
        ),
    addWarnings: (warnings) => capture.transaction(() => saveWarnings(capture, warnings)),
    calls: (requestIds) => readCalls(capture, requestIds),
    sums: (budget, bounds, key, place) => sumCalls(reads, budget, bounds, key, place),
    version: () =>
      state.prepare<{ value: string }>("SELECT value FROM meta WHERE key = ?").get([VERSION_KEY])?.value ??
      "",
  };
}

function addAction(state: SqliteConnection, name: string, action: BudgetAction): void {
  const { at, action: what, actor, reason, until } = action;
  state
    .prepare("INSERT INTO budget_actions (name, at, action, actor, reason, until) VALUES (?, ?, ?, ?, ?, ?)")
    .run([name, at, what, actor, reason, until]);
  noteBudgetsChanged(state);
}

function saveMark(
  state: SqliteConnection,
  { name, isPaused, liftedUntil }: BudgetMark,
  action: BudgetAction,
): void {
  state
    .prepare("INSERT OR REPLACE INTO budget_marks (name, paused, lifted_until) VALUES (?, ?, ?)")
    .run([name, isPaused ? 1 : 0, liftedUntil]);
  addAction(state, name, action);
}

function saveWarnings(connection: SqliteConnection, warnings: readonly StoredWarning[]): void {
  const insert = connection.prepare(
    `INSERT INTO budget_warnings (name, sum_key, threshold, limit_amount, fired_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (name, sum_key, threshold, limit_amount) DO UPDATE SET fired_at = max(fired_at, excluded.fired_at)`,
  );
  for (const { budget, key, threshold, limit, at } of warnings)
    insert.run([budget, key, threshold, `${limit}`, at]);
}

const ALL_FACTS = factColumns.map((name) => `${FACT_COLUMNS[name]} AS ${name}`).join(", ");

const READ_CALLS = `SELECT request_id, requested_at, ${ALL_FACTS}, ${COST} AS cost, ${TOKENS} AS tokens
  FROM requests WHERE ${requestsById([]).sql} AND ${COUNTED}`;

interface CallRow extends FactRow {
  readonly request_id: string;
  readonly requested_at: Millis;
  readonly cost: number | bigint | null;
  readonly tokens: number | null;
}

function readCalls(
  connection: SqliteConnection,
  requestIds: readonly string[],
): (BookedCall & { readonly requestId: string })[] {
  return connection
    .prepare<CallRow>(READ_CALLS)
    .all(requestsById(requestIds).values)
    .map(({ request_id, requested_at, cost, tokens, ...facts }) => ({
      requestId: request_id,
      at: requested_at,
      facts,
      costPicoUsd: cost === null ? null : BigInt(cost),
      tokens,
    }));
}

/** The sums of calls that agree in the facts that a budget needs. */
interface SumRow extends FactRow {
  readonly part: Millis;
  readonly calls: number;
  readonly costs: number;
  readonly cost_high: number | bigint | null;
  readonly cost_low: number | bigint | null;
  readonly token_counts: number;
  readonly tokens: number | bigint | null;
}

function sumCalls(
  reads: SqliteConnection,
  budget: Budget,
  { from }: PeriodBounds,
  key: string | null,
  place: CallFacts,
): StoredSum[] {
  const { period, scope } = budget;
  const isSession = period.kind === "session";
  const needed = factColumns.filter(
    (name) => name in scope || name === "billing" || (isSession && name === "session"),
  );
  const step = period.kind === "rolling" ? BigInt(rollingStepMs(period.lengthMs)) : null;
  const columns = needed.map((name) => `${FACT_COLUMNS[name]} AS ${name}`);
  const values: SqliteValue[] = step === null ? [from] : [step, step, from];
  // Only the sessions that may continue are held.
  const latest = `session_id IN (SELECT session_id FROM requests WHERE session_id IS NOT NULL
    GROUP BY session_id ORDER BY max(requested_at) DESC LIMIT ${MAX_BUDGET_SESSIONS})`;
  const session = isSession ? `AND ${key === null ? latest : "session_id = ?"}` : "";
  if (isSession && key !== null) values.push(key);
  const rows = reads
    .prepare<SumRow>(
      `SELECT ${step === null ? `${from}` : "requested_at / ? * ?"} AS part, ${columns.join(", ")}, count(*) AS calls,
         count(${COST}) AS costs, sum((${COST}) / ${COST_HALF}) AS cost_high, sum((${COST}) % ${COST_HALF}) AS cost_low,
         count(${TOKENS}) AS token_counts, sum(${TOKENS}) AS tokens
       FROM requests WHERE requested_at >= ? ${session} AND ${COUNTED}
       GROUP BY ${[1, ...needed.map((_, index) => index + 2)].join(", ")}`,
    )
    .all(values);
  return collectSums(budget, rows, place);
}

/** Adds up the rows that a budget counts, by session and part. */
function collectSums(budget: Budget, rows: readonly SumRow[], place: CallFacts): StoredSum[] {
  const sums = new Map<string, Map<Millis, SumPart>>();
  for (const row of rows) {
    const facts: CallFacts = { ...place, ...pickFacts(row) };
    if (matchesScope(budget, facts) !== true) continue;
    const key = sumKey(budget, facts);
    const parts = sums.get(key) ?? new Map<Millis, SumPart>();
    sums.set(key, parts);
    const part = parts.get(row.part) ?? { at: row.part, used: 0n, calls: 0, unknown: 0 };
    const { used, known } = usedOfRow(budget, facts, row);
    parts.set(row.part, {
      at: row.part,
      used: part.used + used,
      calls: part.calls + row.calls,
      unknown: part.unknown + row.calls - known,
    });
  }
  return [...sums].map(([key, parts]) => ({
    key,
    parts: [...parts.values()].sort((one, other) => one.at - other.at),
  }));
}

const pickFacts = (row: SumRow): CallFacts =>
  Object.fromEntries(factColumns.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])));

/** Returns what the calls of a row used, and of how many that is known. */
function usedOfRow(budget: Budget, facts: CallFacts, row: SumRow): { used: bigint; known: number } {
  if (budget.unit === "requests") return { used: BigInt(row.calls), known: row.calls };
  if (budget.unit === "tokens") return { used: BigInt(row.tokens ?? 0), known: row.token_counts };
  const cost = BigInt(row.cost_high ?? 0) * COST_HALF + BigInt(row.cost_low ?? 0);
  // Whether the budget counts the cost depends on the billing mode, which all calls of a row share.
  const used = usedOf(budget, { facts, costPicoUsd: cost, tokens: null });
  return used === null ? { used: 0n, known: 0 } : { used, known: row.costs };
}
