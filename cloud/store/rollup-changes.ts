import { CompiledQuery, type Transaction } from "kysely";
import { effectiveBilling } from "../../core/values/billing.ts";
import { expectRows } from "./affected-rows.ts";
import { NO_MACHINE, ROLLUP_SUMS, TOKEN_SUMS, USAGE_SUMS } from "./rollups.ts";
import { arrayColumns, columnArrays } from "./row-arrays.ts";
import type { CloudSchema } from "./schema.ts";
import type { StoredRequest } from "./stored-request.ts";

type Sum = (typeof ROLLUP_SUMS)[number];

/** What requests add to one row of a rollup: its key, and the sums as text. */
export type RollupChange<Key> = Key & { readonly [Name in Sum]: string };

interface RollupDimensions {
  readonly machine_id: string;
  readonly user_id: string;
  readonly project: string;
  readonly provider: string;
  readonly model: string;
}

/**
 * The key of the sums by branch: 1 for an hour and 24 for a day, and when it starts. The sums by model have -1 and -24, and no project and
 * branch.
 */
interface BranchKey {
  readonly span_hours: 1 | 24 | -1 | -24;
  readonly starts_at: string;
  readonly project: string;
  readonly git_branch: string;
  readonly provider: string;
  readonly model: string;
}

/** Requests that a transaction adds to the rollups, or (with -1) takes out of them. */
export interface SignedRequests {
  readonly sign: 1 | -1;
  readonly requests: readonly StoredRequest[];
}

interface Group<Key> {
  readonly key: Key;
  readonly sums: Record<Sum, bigint>;
}

type Groups<Key> = Map<string, Group<Key>>;

/** The key of requests that agree in everything that some rollup has. */
type FullKey = RollupDimensions & { readonly hour: string; readonly git_branch: string };

/**
 * Computes what requests add to the rollups by hour and by day and to the sums by branch and by model, as `contributions()` does in SQL. Rows whose
 * sums stay the same are left out.
 */
export function rollupChanges(changes: readonly SignedRequests[]): {
  readonly hours: readonly RollupChange<RollupDimensions & { readonly hour: string }>[];
  readonly days: readonly RollupChange<RollupDimensions & { readonly day: string }>[];
  readonly branches: readonly RollupChange<BranchKey>[];
} {
  const all: Groups<FullKey> = new Map();
  for (const { sign, requests } of changes) {
    for (const request of requests) addRequest(all, request, BigInt(sign));
  }
  const hours: Groups<RollupDimensions & { hour: string }> = new Map();
  const days: Groups<RollupDimensions & { day: string }> = new Map();
  const branches: Groups<BranchKey> = new Map();
  for (const { key, sums } of all.values()) {
    const { hour, git_branch, ...dimensions } = key;
    const day = hour.slice(0, DATE_CHARACTERS);
    const branch = { project: key.project, git_branch, provider: key.provider, model: key.model };
    addSums(groupOf(hours, { hour, ...dimensions }), sums);
    addSums(groupOf(days, { day, ...dimensions }), sums);
    addSums(groupOf(branches, { span_hours: 1, starts_at: hour, ...branch }), sums);
    addSums(groupOf(branches, { span_hours: 24, starts_at: `${day}T00:00:00Z`, ...branch }), sums);
    const total = { ...branch, project: "", git_branch: "" };
    addSums(groupOf(branches, { span_hours: -1, starts_at: hour, ...total }), sums);
    addSums(groupOf(branches, { span_hours: -24, starts_at: `${day}T00:00:00Z`, ...total }), sums);
  }
  return { hours: toChanges(hours), days: toChanges(days), branches: toChanges(branches) };
}

/** The length of `YYYY-MM-DD`, with which a time begins. */
const DATE_CHARACTERS = 10;

/** The length of `YYYY-MM-DDTHH`. */
const HOUR_CHARACTERS = 13;

function addRequest(groups: Groups<FullKey>, request: StoredRequest, sign: bigint): void {
  const { sums } = groupOf(groups, {
    hour: `${request.requested_at.slice(0, HOUR_CHARACTERS)}:00:00Z`,
    machine_id: request.machine_id ?? NO_MACHINE,
    user_id: request.user_id,
    project: request.project ?? "",
    provider: request.provider,
    model: request.model,
    git_branch: request.git_branch ?? "",
  });
  const failed = request.error_class !== null || (request.http_status ?? 0) >= 400;
  let tokens = 0;
  for (const token of TOKEN_SUMS) {
    const count = request[token];
    if (count === null) continue;
    tokens += count;
    sums[token] += sign * BigInt(count);
  }
  sums.requests += sign;
  if (failed) sums.failed_requests += sign;
  if (request.cost_pico_usd === null && !(failed && tokens === 0)) sums.unpriced_requests += sign;
  if (request.tokens_complete === false) sums.incomplete_requests += sign;
  if (request.reported_cost_pico_usd !== null)
    sums.reported_cost_pico_usd += sign * BigInt(request.reported_cost_pico_usd);
  if (request.cost_pico_usd === null) return;
  const cost = sign * BigInt(request.cost_pico_usd);
  sums.cost_pico_usd += cost;
  const billing = effectiveBilling({ billingMode: request.billing_mode, provider: request.provider });
  if (billing === "plan") sums.plan_usage_pico_usd += cost;
  else if (billing !== "unknown") sums.spent_pico_usd += cost;
}

/** Returns the group of a key. Keys of one map have the same properties in the same order. */
function groupOf<Key extends object>(groups: Groups<Key>, key: Key): Group<Key> {
  const name = JSON.stringify(Object.values(key));
  const found = groups.get(name);
  if (found !== undefined) return found;
  const group = { key, sums: emptySums() };
  groups.set(name, group);
  return group;
}

function addSums(group: Group<unknown>, sums: Record<Sum, bigint>): void {
  for (const sum of Object.keys(sums) as Sum[]) group.sums[sum] += sums[sum];
}

function emptySums(): Record<Sum, bigint> {
  return {
    requests: 0n,
    failed_requests: 0n,
    unpriced_requests: 0n,
    incomplete_requests: 0n,
    prompt_tokens: 0n,
    completion_tokens: 0n,
    cache_read_tokens: 0n,
    cache_write_tokens: 0n,
    thinking_tokens: 0n,
    cost_pico_usd: 0n,
    spent_pico_usd: 0n,
    plan_usage_pico_usd: 0n,
    reported_cost_pico_usd: 0n,
  };
}

function toChanges<Key>(groups: Groups<Key>): RollupChange<Key>[] {
  const changed = [...groups.values()].filter(({ sums }) => Object.values(sums).some((sum) => sum !== 0n));
  return changed.map(({ key, sums }) => {
    const texts = Object.entries(sums).map(([sum, value]) => [sum, value.toString()]);
    return { ...key, ...(Object.fromEntries(texts) as Record<Sum, string>) };
  });
}

/** What a rollup's statements differ in. */
interface RollupTable {
  readonly table: string;
  /** The columns of its key besides the workspace, with their types. */
  readonly key: Readonly<Record<string, string>>;
  readonly sums: readonly string[];
}

const KEY = { machine_id: "uuid", user_id: "text", project: "text", provider: "text", model: "text" };

/** The statements that add changes to a rollup, and their arrays. Each reads the workspace's row as the insert of requests does. */
const ADD = {
  hours: additionTo({
    table: "usage_hourly",
    key: { hour: "timestamptz", ...KEY },
    sums: ROLLUP_SUMS,
  }),
  days: additionTo({ table: "usage_daily", key: { day: "date", ...KEY }, sums: ROLLUP_SUMS }),
  branches: additionTo({
    table: "usage_branches",
    key: {
      span_hours: "smallint",
      starts_at: "timestamptz",
      project: "text",
      git_branch: "text",
      provider: "text",
      model: "text",
    },
    sums: USAGE_SUMS,
  }),
} as const;

/** Returns the statement that adds changes to a rollup, `$1` is the workspace, and the columns whose arrays follow. */
function additionTo({ table, key, sums }: RollupTable): { statement: string; columns: readonly string[] } {
  const keys = Object.keys(key).join(", ");
  const types = { ...key, ...Object.fromEntries(sums.map((sum) => [sum, "numeric"])) };
  const statement = `insert into ${table} (workspace_id, ${keys}, ${sums.join(", ")})
    select w.workspace_id, ${keys}, ${sums.join(", ")}
    from workspaces w cross join (select ${arrayColumns(types, 2)}) as changes
    where w.workspace_id = $1::uuid
    order by ${keys}
    on conflict (workspace_id, ${keys}) do update set
      ${sums.map((sum) => `${sum} = ${table}.${sum} + excluded.${sum}`).join(", ")}`;
  return { statement, columns: Object.keys(types) };
}

/**
 * Adds changes to the rollups, in the caller's transaction. Each statement sorts its keys, so that parallel batches lock them in
 * the same order.
 */
export async function addToRollups(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  changes: ReturnType<typeof rollupChanges>,
): Promise<void> {
  for (const rollup of ["hours", "days", "branches"] as const) {
    const rows: readonly object[] = changes[rollup];
    if (rows.length === 0) continue;
    const { statement, columns } = ADD[rollup];
    const addition = CompiledQuery.raw(statement, [workspaceId, ...columnArrays(rows, columns)]);
    expectRows((await trx.executeQuery(addition)).numAffectedRows, rows.length);
  }
}
