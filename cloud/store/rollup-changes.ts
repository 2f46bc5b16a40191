import { effectiveBilling } from "../../core/values/billing.ts";
import { NO_MACHINE, type ROLLUP_SUMS, TOKEN_SUMS } from "./rollups.ts";
import type { StoredRequest } from "./stored-request.ts";

type Sum = (typeof ROLLUP_SUMS)[number];

/** What requests add to one row of a rollup: its key, and the sums as text. */
export type RollupChange = RollupDimensions & { readonly time: string } & { readonly [Name in Sum]: string };

interface RollupDimensions {
  readonly machine_id: string;
  readonly user_id: string;
  readonly project: string;
  readonly provider: string;
  readonly model: string;
}

/** Requests that a transaction adds to the rollups, or (with -1) takes out of them. */
export interface SignedRequests {
  readonly sign: 1 | -1;
  readonly requests: readonly StoredRequest[];
}

interface Group {
  readonly key: RollupDimensions & { readonly hour: string };
  readonly sums: Record<Sum, bigint>;
}

/**
 * Computes what requests add to the rollups by hour and by day, as `contributions()` does in SQL. Rows whose sums stay the same are
 * left out.
 */
export function rollupChanges(changes: readonly SignedRequests[]): {
  readonly hours: readonly RollupChange[];
  readonly days: readonly RollupChange[];
} {
  const hours = new Map<string, Group>();
  for (const { sign, requests } of changes) {
    for (const request of requests) addRequest(hours, request, BigInt(sign));
  }
  const days = new Map<string, Group>();
  for (const { key, sums } of hours.values()) {
    addSums(groupOf(days, { ...key, hour: key.hour.slice(0, DATE_CHARACTERS) }), sums);
  }
  return { hours: toChanges(hours), days: toChanges(days) };
}

/** The length of `YYYY-MM-DD`, with which a time begins. */
const DATE_CHARACTERS = 10;

/** The length of `YYYY-MM-DDTHH`. */
const HOUR_CHARACTERS = 13;

function addRequest(groups: Map<string, Group>, request: StoredRequest, sign: bigint): void {
  const { sums } = groupOf(groups, {
    hour: `${request.requested_at.slice(0, HOUR_CHARACTERS)}:00:00Z`,
    machine_id: request.machine_id ?? NO_MACHINE,
    user_id: request.user_id,
    project: request.project ?? "",
    provider: request.provider,
    model: request.model,
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

function groupOf(groups: Map<string, Group>, key: Group["key"]): Group {
  const { hour, machine_id, user_id, project, provider, model } = key;
  const name = JSON.stringify([hour, machine_id, user_id, project, provider, model]);
  const found = groups.get(name);
  if (found !== undefined) return found;
  const group = { key, sums: emptySums() };
  groups.set(name, group);
  return group;
}

function addSums(group: Group, sums: Group["sums"]): void {
  for (const sum of Object.keys(sums) as Sum[]) group.sums[sum] += sums[sum];
}

function emptySums(): Group["sums"] {
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

function toChanges(groups: ReadonlyMap<string, Group>): RollupChange[] {
  const changed = [...groups.values()].filter(({ sums }) => Object.values(sums).some((sum) => sum !== 0n));
  return changed.map(({ key: { hour: time, ...key }, sums }) => {
    const texts = Object.entries(sums).map(([sum, value]) => [sum, value.toString()]);
    return { time, ...key, ...(Object.fromEntries(texts) as Record<Sum, string>) };
  });
}
