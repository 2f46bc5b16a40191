import { CompiledQuery } from "kysely";
import { effectiveBilling } from "../../core/values/billing.ts";
import type { CheckedQuery } from "./affected-rows.ts";
import { NO_MACHINE, ROLLUP_SUMS, TOKEN_SUMS, USAGE_SUMS } from "./rollups.ts";
import { arrayColumns, columnArrays } from "./row-arrays.ts";
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

/** Sums in the order of `ROLLUP_SUMS`: numbers while these are exact, since big integers take ten times as long. */
type Sums = (number | bigint)[];

interface Group<Key> {
  readonly key: Key;
  readonly sums: Sums;
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
    for (const request of requests) addRequest(all, request, sign);
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

const placeOf = (sum: Sum): number => ROLLUP_SUMS.indexOf(sum);

/** The places of the sums in `Sums`. */
const REQUESTS = placeOf("requests");
const FAILED = placeOf("failed_requests");
const UNPRICED = placeOf("unpriced_requests");
const INCOMPLETE = placeOf("incomplete_requests");
const FIRST_TOKENS = placeOf(TOKEN_SUMS[0]);
const COST = placeOf("cost_pico_usd");
const SPENT = placeOf("spent_pico_usd");
const PLAN_USAGE = placeOf("plan_usage_pico_usd");
const REPORTED_COST = placeOf("reported_cost_pico_usd");

function addRequest(groups: Groups<FullKey>, request: StoredRequest, sign: 1 | -1): void {
  const { sums } = groupOfRequest(groups, request);
  const failed = request.error_class !== null || (request.http_status ?? 0) >= 400;
  let tokens = 0;
  for (const [at, token] of TOKEN_SUMS.entries()) {
    const count = request[token];
    if (count === null) continue;
    tokens += count;
    add(sums, FIRST_TOKENS + at, sign * count);
  }
  add(sums, REQUESTS, sign);
  if (failed) add(sums, FAILED, sign);
  if (request.cost_pico_usd === null && !(failed && tokens === 0)) add(sums, UNPRICED, sign);
  if (request.tokens_complete === false) add(sums, INCOMPLETE, sign);
  if (request.reported_cost_pico_usd !== null)
    add(sums, REPORTED_COST, readCost(request.reported_cost_pico_usd, sign));
  if (request.cost_pico_usd === null) return;
  const cost = readCost(request.cost_pico_usd, sign);
  add(sums, COST, cost);
  const billing = effectiveBilling({ billingMode: request.billing_mode, provider: request.provider });
  if (billing === "plan") add(sums, PLAN_USAGE, cost);
  else if (billing !== "unknown") add(sums, SPENT, cost);
}

/** Returns the group of a request. Most requests have their key in common with others, so the name of a group is made without it. */
function groupOfRequest(groups: Groups<FullKey>, request: StoredRequest): Group<FullKey> {
  const { machine_id, user_id, project, provider, model, git_branch } = request;
  const time = request.requested_at.slice(0, HOUR_CHARACTERS);
  // No text of the database has a U+0000.
  const name = `${time}\0${machine_id}\0${user_id}\0${project ?? ""}\0${provider}\0${model}\0${git_branch ?? ""}`;
  return (
    groups.get(name) ??
    addGroup(groups, name, {
      hour: `${time}:00:00Z`,
      machine_id: machine_id ?? NO_MACHINE,
      user_id,
      project: project ?? "",
      provider,
      model,
      git_branch: git_branch ?? "",
    })
  );
}

/** Returns the group of a key. Keys of one map have the same properties in the same order. */
function groupOf<Key extends object>(groups: Groups<Key>, key: Key): Group<Key> {
  const name = Object.values(key).join("\0");
  return groups.get(name) ?? addGroup(groups, name, key);
}

function addGroup<Key>(groups: Groups<Key>, name: string, key: Key): Group<Key> {
  const group = { key, sums: ROLLUP_SUMS.map(() => 0) };
  groups.set(name, group);
  return group;
}

function addSums(group: Group<unknown>, sums: Sums): void {
  for (const [at, sum] of sums.entries()) add(group.sums, at, sum);
}

function add(sums: Sums, at: number, value: number | bigint): void {
  const sum = sums[at] ?? 0;
  if (typeof sum === "number" && typeof value === "number") {
    const next = sum + value;
    if (Number.isSafeInteger(next)) {
      sums[at] = next;
      return;
    }
  }
  sums[at] = BigInt(sum) + BigInt(value);
}

function readCost(digits: string, sign: 1 | -1): number | bigint {
  const cost = Number(digits);
  return Number.isSafeInteger(cost) ? sign * cost : BigInt(sign) * BigInt(digits);
}

function toChanges<Key extends object>(groups: Groups<Key>): RollupChange<Key>[] {
  // biome-ignore lint/suspicious/noDoubleEquals: a sum can be 0n.
  const changed = [...groups.values()].filter(({ sums }) => sums.some((sum) => sum != 0));
  return changed.map(({ key, sums }) => {
    const texts = { ...NO_SUMS };
    for (const [at, sum] of ROLLUP_SUMS.entries()) texts[sum] = String(sums[at]);
    return { ...key, ...texts };
  });
}

const NO_SUMS = Object.fromEntries(ROLLUP_SUMS.map((sum) => [sum, ""])) as Record<Sum, string>;

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
 * Returns the statements that add changes to the rollups. Each sorts its keys, so that parallel batches lock them in the same order.
 */
export function rollupAdditions(
  workspaceId: string,
  changes: ReturnType<typeof rollupChanges>,
): readonly CheckedQuery[] {
  return (["hours", "days", "branches"] as const).flatMap((rollup) => {
    const rows: readonly object[] = changes[rollup];
    if (rows.length === 0) return [];
    const { statement, columns } = ADD[rollup];
    const query = CompiledQuery.raw(statement, [workspaceId, ...columnArrays(rows, columns)]);
    return [{ query, rows: rows.length }];
  });
}
