import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { RepeatSearch } from "../../core/pricing/savings/answer-savings.ts";
import type { RepeatedPrompts } from "../../core/pricing/savings/find-savings.ts";
import type { SamePromptCall } from "../../core/pricing/savings/same-prompt.ts";
import type { UsagePlan } from "../../core/pricing/view/usage-plan.ts";
import { EFFECTIVE_BILLING_SQL } from "../../core/values/billing.ts";
import type { Millis } from "../../core/values/time.ts";
import type { Turn } from "./port/values.ts";
import { toCondition } from "./usage-dimensions.ts";
import { columnOfRequests, matches } from "./usage-sums.ts";

/** How many requests one slice reads: measured 2 ms per slice at a million requests on two busy cores. */
const SLICE_ROWS = 1_000;

/** How many requests with a repeated prompt one slice reads, with all that is summed up of them. */
const DETAIL_ROWS = 500;

interface Prompt {
  readonly requested_at: Millis;
  readonly seq: number;
  readonly prompt_hash: string | null;
}

interface Row {
  readonly requested_at: Millis;
  readonly request_id: string;
  readonly provider: string;
  readonly model: string;
  readonly project: string | null;
  readonly prompt_hash: string;
  readonly cost_pico_usd: number | bigint | null;
  readonly billing: string;
  readonly failed: number;
}

/**
 * Searches the newest requests of a plan's period and filters for prompts that were sent before, at most `limit`, in slices with
 * `turn` in between. Requests that failed, or that a plan covers, do not count.
 */
export async function findRepeats(
  connection: SqliteConnection,
  plan: UsagePlan,
  limit: number,
  turn: Turn,
): Promise<RepeatSearch> {
  const { bySeq, searched, since } = await readPrompts(connection, plan, limit, turn);
  const found = new Map<string, RepeatedPrompts>();
  /** The oldest request so far with each prompt. If an older one is found, it was a repetition. */
  const oldest = new Map<string, Row>();
  for (const row of await readRows(connection, bySeq, turn)) {
    if (row.failed === 1 || row.billing === "plan") continue;
    const key = JSON.stringify([row.provider, row.model, row.project, row.prompt_hash]);
    const newer = oldest.get(key);
    if (newer !== undefined) addRepeat(found, newer);
    oldest.set(key, row);
  }
  return { repeated: [...found.values()], searched, since };
}

/** Finds the requests whose prompt occurs more than once. Most prompts do not, so nothing else is read of them. */
async function readPrompts(
  connection: SqliteConnection,
  { query, period }: UsagePlan,
  limit: number,
  turn: Turn,
): Promise<{ readonly bySeq: readonly number[]; readonly searched: number; readonly since: Millis | null }> {
  const where = matches({ filters: {}, where: query.filters.map(toCondition) }, columnOfRequests);
  // The first slice ends before `to`, and each other slice before the last row of the one before it.
  const statement = connection.prepare<Prompt>(
    `SELECT requested_at, seq, prompt_hash FROM requests
     WHERE requested_at >= ? AND requested_at <= ? AND (requested_at, seq) < (?, ?)${where.sql}
     ORDER BY requested_at DESC, seq DESC LIMIT ?`,
  );
  const first = new Map<string, number>();
  const repeated = new Set<number>();
  let searched = 0;
  let end: readonly [Millis, number] = [period.to, 0];
  for (;;) {
    const size = Math.min(SLICE_ROWS, limit - searched);
    const rows = size === 0 ? [] : statement.all([period.from, end[0], ...end, ...where.values, size]);
    for (const { seq, prompt_hash: hash } of rows) {
      if (hash === null) continue;
      const known = first.get(hash);
      if (known === undefined) first.set(hash, seq);
      else repeated.add(known).add(seq);
    }
    searched += rows.length;
    const last = rows.at(-1);
    if (last !== undefined) end = [last.requested_at, last.seq];
    if (rows.length < size || size === 0) break;
    await turn();
  }
  return { bySeq: [...repeated], searched, since: searched < limit ? null : end[0] };
}

/** Finds the calls with a prompt among the `limit` before a call, with the call itself, and the `limit` after it. */
export function findSamePrompt(
  connection: SqliteConnection,
  { requestedAt, promptHash }: { readonly requestedAt: Millis; readonly promptHash: string },
  limit: number,
): SamePromptCall[] {
  const search = (condition: string) =>
    connection
      .prepare<SamePromptCall & { readonly same: number }>(
        `SELECT request_id AS requestId, requested_at AS requestedAt, prompt_hash IS ? AS same FROM requests
         WHERE requested_at ${condition} LIMIT ?`,
      )
      .all([promptHash, requestedAt, limit])
      .filter(({ same }) => same === 1);
  const found = [...search("<= ? ORDER BY requested_at DESC"), ...search("> ? ORDER BY requested_at")];
  return found.map(({ requestId, requestedAt: at }) => ({ requestId, requestedAt: at }));
}

/** Reads requests, the newest first. */
async function readRows(
  connection: SqliteConnection,
  bySeq: readonly number[],
  turn: Turn,
): Promise<readonly Row[]> {
  const statement = connection.prepare<Row>(
    `SELECT requested_at, request_id, provider, model, project, prompt_hash, cost_pico_usd,
       ${EFFECTIVE_BILLING_SQL} AS billing, (error_class IS NOT NULL OR coalesce(http_status >= 400, 0)) AS failed
     FROM requests WHERE seq IN (SELECT value FROM json_each(?))`,
  );
  const rows: Row[] = [];
  for (let at = 0; at < bySeq.length; at += DETAIL_ROWS) {
    rows.push(...statement.all([JSON.stringify(bySeq.slice(at, at + DETAIL_ROWS))]));
    await turn();
  }
  return rows.sort(
    (one, other) => other.requested_at - one.requested_at || (one.request_id < other.request_id ? 1 : -1),
  );
}

function addRepeat(found: Map<string, RepeatedPrompts>, row: Row): void {
  const { provider, model } = row;
  const project = row.project === "" ? null : row.project;
  const key = JSON.stringify([provider, model, project]);
  const { requests = 0, costPicoUsd = 0n, unknownBillingPicoUsd = 0n } = found.get(key) ?? {};
  const cost = BigInt(row.cost_pico_usd ?? 0);
  const isUnknown = row.billing === "unknown";
  found.set(key, {
    ...{ provider, model, project, requests: requests + 1 },
    costPicoUsd: isUnknown ? costPicoUsd : costPicoUsd + cost,
    unknownBillingPicoUsd: isUnknown ? unknownBillingPicoUsd + cost : unknownBillingPicoUsd,
  });
}
