import type { StoredCall } from "../../core/budgets/booked-call.ts";
import {
  type Budget,
  type CallFacts,
  matchesScope,
  type ScopeKey,
  sumKey,
  usedOf,
} from "../../core/budgets/budget.ts";
import { budgetPeriod, type PeriodBounds, rollingStepMs } from "../../core/budgets/budget-period.ts";
import { MAX_BUDGET_SESSIONS, type SumPart } from "../../core/budgets/budget-state.ts";
import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoreConnections } from "./connections.ts";
import type { BudgetAction, BudgetMark, BudgetStore, StoredSum, StoredWarning } from "./port/budgets.ts";
import { COST_HALF } from "./rollup-definition.ts";
import { requestsById } from "./rollups.ts";
import { inUsageSnapshot, partsOfQuery, sumPart } from "./usage-parts.ts";
import {
  type ColumnCondition,
  columnOfRequests,
  type Span,
  type SumQuery,
  type SumRow,
  sumRequestsByBucket,
  type UsageColumn,
} from "./usage-sums.ts";

/** The columns of facts. Machine and person are those of this installation. */
const FACT_COLUMNS = {
  project: "project",
  branch: "git_branch",
  provider: "provider",
  model: "model",
  client: "client",
  session: "session_id",
  agent: "agent_id",
  billing: "billing_mode",
} as const satisfies Partial<Record<ScopeKey, UsageColumn>>;
type FactColumn = keyof typeof FACT_COLUMNS;

const factColumns = Object.keys(FACT_COLUMNS) as FactColumn[];

/** The counts that are added up; those of the cache's hour are among those of its writes. */
const COUNTED_TOKENS = [
  ...([
    "prompt_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "completion_tokens",
    "thinking_tokens",
  ] as const),
];

/** A failed call without counts used nothing. */
const USED_NOTHING = "error_class IS NOT NULL AND prompt_tokens IS NULL AND completion_tokens IS NULL";
const COST = `CASE WHEN cost_pico_usd IS NULL AND ${USED_NOTHING} THEN 0 ELSE cost_pico_usd END`;
const TOKENS = `CASE WHEN prompt_tokens IS NULL AND completion_tokens IS NULL AND NOT (${USED_NOTHING}) THEN NULL
  ELSE ${COUNTED_TOKENS.map((name) => `coalesce(${name}, 0)`).join(" + ")} END`;

/** Refused calls and those of agents' logs do not count. */
const COUNTED: ColumnCondition = {
  columns: ["record_source", "blocked"],
  sql: (column) => `${column("record_source")} <> 'logs' AND ${column("blocked")} = 0`,
  values: [],
  isIndexed: false,
};

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
        forgetWarnings(state, name);
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
        // A damaged one may be given again. It must not keep the budget from being read.
        .filter(({ limit_amount }) => /^\d+$/.test(limit_amount))
        .map(
          ({ sum_key, threshold, limit_amount, fired_at }): StoredWarning => ({
            budget: name,
            key: sum_key,
            threshold,
            limit: BigInt(limit_amount),
            at: fired_at,
          }),
        ),
    forgetWarnings: (name) => state.transaction(() => forgetWarnings(state, name)),
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

const forgetWarnings = (state: SqliteConnection, name: string): void =>
  void state.prepare("DELETE FROM budget_warnings WHERE name = ?").run([name]);

function saveWarnings(connection: SqliteConnection, warnings: readonly StoredWarning[]): void {
  const insert = connection.prepare(
    `INSERT INTO budget_warnings (name, sum_key, threshold, limit_amount, fired_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (name, sum_key, threshold, limit_amount) DO UPDATE SET fired_at = excluded.fired_at`,
  );
  for (const { budget, key, threshold, limit, at } of warnings)
    insert.run([budget, key, threshold, `${limit}`, at]);
}

const ALL_FACTS = factColumns.map((name) => `${columnOfRequests(FACT_COLUMNS[name])} AS ${name}`).join(", ");

/** The same as `bookedCallOf()`. */
const READ_CALLS = `SELECT request_id, requested_at, ${ALL_FACTS}, ${COST} AS cost, ${TOKENS} AS tokens
  FROM requests WHERE ${requestsById([]).sql} AND ${COUNTED.sql(columnOfRequests)}`;

interface CallRow extends Required<FactRow> {
  readonly request_id: string;
  readonly requested_at: Millis;
  readonly cost: number | bigint | null;
  readonly tokens: number | null;
}

function readCalls(connection: SqliteConnection, requestIds: readonly string[]): StoredCall[] {
  return connection
    .prepare<CallRow>(READ_CALLS)
    .all(requestsById(requestIds).values)
    .map((row) => ({
      requestId: row.request_id,
      at: row.requested_at,
      // By name: the rest of a row takes 2 µs.
      facts: {
        project: row.project,
        branch: row.branch,
        provider: row.provider,
        model: row.model,
        client: row.client,
        session: row.session,
        agent: row.agent,
        billing: row.billing,
      } satisfies Required<FactRow>,
      costPicoUsd: row.cost === null ? null : BigInt(row.cost),
      tokens: row.tokens,
    }));
}

/** The sums of calls that agree in the facts that a budget needs, and when their part of the period begins. */
type PartRow = SumRow & { readonly part: Millis };

/**
 * Sums the calls of a budget. A calendar period or a total is read from the rollups, unless its scope is about sessions or agents, which
 * they do not have. Otherwise the requests of the period are read, or those of the sessions.
 */
function sumCalls(
  reads: SqliteConnection,
  budget: Budget,
  bounds: PeriodBounds,
  key: string | null,
  place: CallFacts,
): StoredSum[] {
  const { period, scope, unit } = budget;
  const { from } = bounds;
  const span: Span = { from, to: Number.POSITIVE_INFINITY };
  const isSession = period.kind === "session";
  const sessions = isSession ? readSessions(reads, key) : new Map<string, Millis>();
  const query: SumQuery = {
    columns: [
      ...factColumns.filter((name) => name in scope).map((name) => FACT_COLUMNS[name]),
      ...(isSession ? (["session_id"] as const) : []),
      // They tell which token counts are unknown.
      ...(unit === "tokens" ? (["stated", "error_class"] as const) : []),
    ],
    filters: {},
    where: [COUNTED, ...(isSession ? [ofSessions([...sessions.keys()])] : namesOf(scope.session))],
  };
  if (period.kind === "rolling") {
    const grid = { from, widthMs: rollingStepMs(period.lengthMs) };
    const rows = sumRequestsByBucket(reads, span, query, grid);
    const parts = rows.map((row) => ({ ...row, part: grid.from + row.bucket * grid.widthMs }));
    return collectSums(budget, parts, place);
  }
  const parts = inUsageSnapshot(reads, (usage) =>
    periodsFrom(reads, budget, bounds).flatMap((own) =>
      partsOfQuery(usage, own, query)
        .flatMap((part) => sumPart(usage, part, query))
        .map((row) => ({ ...row, part: own.from })),
    ),
  );
  return collectSums(budget, parts, place).map((sum) => ({ ...sum, ...lastOf(sessions, sum.key) }));
}

const lastOf = (sessions: ReadonlyMap<string, Millis>, key: string): Pick<StoredSum, "lastAt"> => {
  const lastAt = sessions.get(key);
  return lastAt === undefined ? {} : { lastAt };
};

/** Returns when the latest call of sessions began: of one, or of those that may continue, which are held. */
function readSessions(reads: SqliteConnection, key: string | null): ReadonlyMap<string, Millis> {
  const rows = reads
    .prepare<{ id: string; at: Millis }>(
      `SELECT session_id AS id, max(requested_at) AS at FROM requests
       WHERE session_id ${key === null ? "IS NOT NULL" : "= ?"}
       GROUP BY session_id ORDER BY at DESC LIMIT ${MAX_BUDGET_SESSIONS}`,
    )
    .all(key === null ? [] : [key]);
  return new Map(rows.map(({ id, at }) => [id, at]));
}

/** Returns the period, and later ones that have records: those of calls from before the clock was set back. */
function periodsFrom(reads: SqliteConnection, budget: Budget, { from, to }: PeriodBounds): Span[] {
  const periods: Span[] = [{ from, to: to ?? Number.POSITIVE_INFINITY }];
  const findNext = reads.prepare<{ at: Millis | null }>(
    "SELECT min(requested_at) AS at FROM requests WHERE requested_at >= ?",
  );
  for (let end = to; end !== null; ) {
    const at = findNext.get([end])?.at ?? null;
    if (at === null) break;
    const next = budgetPeriod(budget, at);
    periods.push({ from: next.from, to: next.to ?? Number.POSITIVE_INFINITY });
    end = next.to;
  }
  return periods;
}

/** The condition on sessions, which finds them by their index. */
const ofSessions = (names: readonly string[]): ColumnCondition => ({
  columns: ["session_id"],
  sql: (column) => `${column("session_id")} IN (SELECT value FROM json_each(?))`,
  values: [JSON.stringify(names)],
  isIndexed: true,
});

/** The condition on the sessions of a scope, if it has only whole names. */
const namesOf = (sessions: readonly string[] = ["*"]): ColumnCondition[] =>
  sessions.some((name) => name.endsWith("*")) ? [] : [ofSessions(sessions)];

/** Adds up the rows that a budget counts, by session and part. */
function collectSums(budget: Budget, rows: readonly PartRow[], place: CallFacts): StoredSum[] {
  const sums = new Map<string, Map<Millis, SumPart>>();
  for (const row of rows) {
    const facts: CallFacts = { ...place, ...factsOf(row) };
    if (matchesScope(budget, facts) !== true) continue;
    const key = sumKey(budget, facts);
    const parts = sums.get(key) ?? new Map<Millis, SumPart>();
    sums.set(key, parts);
    const part = parts.get(row.part) ?? { at: row.part, used: 0n, calls: 0, unknown: 0 };
    const { used, known } = usedOfRow(budget, facts, row);
    parts.set(row.part, {
      at: row.part,
      used: part.used + used,
      calls: part.calls + row.requests,
      unknown: part.unknown + row.requests - known,
    });
  }
  return [...sums].map(([key, parts]) => ({
    key,
    parts: [...parts.values()].sort((one, other) => one.at - other.at),
  }));
}

const factsOf = (row: SumRow): CallFacts =>
  Object.fromEntries(
    factColumns.flatMap((name) => {
      const value = row[FACT_COLUMNS[name]];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** Returns what the calls of a row used, and of how many that is known. */
function usedOfRow(budget: Budget, facts: CallFacts, row: SumRow): { used: bigint; known: number } {
  const { requests } = row;
  if (budget.unit === "requests") return { used: BigInt(requests), known: requests };
  if (budget.unit === "tokens") {
    // The calls of a row agree in which counts are known. A failed call without counts used nothing.
    if (row.prompt_tokens === null && row.completion_tokens === null && row.error_class === null)
      return { used: 0n, known: 0 };
    return { used: COUNTED_TOKENS.reduce((sum, name) => sum + BigInt(row[name] ?? 0), 0n), known: requests };
  }
  const cost = BigInt(row.cost_high ?? 0) * COST_HALF + BigInt(row.cost_low ?? 0);
  // Whether the budget counts the cost depends on the billing mode, which all calls of a row share.
  const used = usedOf(budget, { facts, costPicoUsd: cost, tokens: null });
  return used === null ? { used: 0n, known: 0 } : { used, known: requests - row.unpriced_requests };
}
