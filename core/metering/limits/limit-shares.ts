import type { Millis } from "../../values/time.ts";
import { classifyChange, isNewWindow, type LimitPoint } from "./limit-change.ts";

/** A call that may have used a part of a window. */
export interface CreditedCall {
  /** What the shares are grouped by, such as a project. */
  readonly key: string;
  readonly endedAt: Millis;
  readonly model: string;
  /** The cost at API prices, as an approximation of what the call used; null if it is unknown. */
  readonly costPicoUsd: bigint | null;
  readonly totalTokens: number | null;
}

/** How the use of a window is divided, in millionths of the window. */
export interface WindowShares {
  /** By key, the largest first; of equal ones, the one that was used first. */
  readonly shares: readonly { readonly key: string; readonly usedPpm: number }[];
  /** The rises while no call of this installation ended. */
  readonly elsewherePpm: number;
  /** What had been used before the first reading that can be divided. */
  readonly earlierPpm: number;
}

/**
 * Divides the use of the current window: each rise between two readings is credited to the calls that ended in between, by their
 * cost. That is an estimate. Windows count all use of an account, including that of other machines and of the provider's website,
 * which is credited to the calls of the same interval; shares are rounded, and a call whose use is not stated yet is missing.
 * `points` and `calls` are in order of time.
 */
export function divideWindow(
  points: readonly LimitPoint[],
  calls: readonly CreditedCall[],
  { windowMs, scope }: { readonly windowMs: number | null; readonly scope: string | null },
): WindowShares {
  const own = currentWindow(points, windowMs);
  const candidates = scope === null ? calls : calls.filter(({ model }) => isOfScope(model, scope));
  const sums = new Map<string, number>();
  let elsewherePpm = 0;
  let highestPpm = own[0]?.usedPpm ?? 0;
  let at = 0;
  for (let index = 1; index < own.length; index++) {
    const [before, after] = [own[index - 1] as LimitPoint, own[index] as LimitPoint];
    while (at < candidates.length && candidates[at]!.endedAt <= before.seenAt) at++;
    const from = at;
    while (at < candidates.length && candidates[at]!.endedAt <= after.seenAt) at++;
    // If a share falls and rises again, the rise is counted once.
    const rise = Math.max(0, after.usedPpm! - highestPpm);
    highestPpm += rise;
    if (at === from) elsewherePpm += rise;
    else credit(sums, candidates.slice(from, at), rise);
  }
  const shares = [...sums]
    .map(([key, usedPpm]) => ({ key, usedPpm }))
    .sort((one, other) => other.usedPpm - one.usedPpm);
  return { shares, elsewherePpm, earlierPpm: own[0]?.usedPpm ?? 0 };
}

/**
 * Returns the readings since the window began. Where the reading before the reset is known, or the window's length, the window
 * starts with a reading of 0.
 */
function currentWindow(points: readonly LimitPoint[], windowMs: number | null): readonly LimitPoint[] {
  const known = points.filter(({ usedPpm }) => usedPpm !== null);
  const last = known.at(-1);
  if (last === undefined) return [];
  let first = known.length - 1;
  while (first > 0 && isSameRun(known[first - 1]!, known[first]!, windowMs)) first--;
  const own = known.slice(first);
  const before = known[first - 1];
  const { resetAt } = own[0] as LimitPoint;
  const start = resetAt === null || windowMs === null ? null : resetAt - windowMs;
  const since = Math.max(before?.seenAt ?? Number.NEGATIVE_INFINITY, start ?? Number.NEGATIVE_INFINITY);
  return Number.isFinite(since) && since < own[0]!.seenAt
    ? [{ usedPpm: 0, resetAt, seenAt: since }, ...own]
    : own;
}

function isSameRun(before: LimitPoint, after: LimitPoint, windowMs: number | null): boolean {
  const change = classifyChange(before, after, windowMs);
  return change !== "unknown" && !isNewWindow(change);
}

/** Whether a model belongs to a scope such as `opus`. A scope that no model's name contains (`overage_included`) takes all. */
const isOfScope = (model: string, scope: string): boolean =>
  scope === "overage_included" || model.toLowerCase().includes(scope);

/** Adds a rise to the keys of the calls, by cost, else by tokens, else evenly. The parts sum to the rise. */
function credit(sums: Map<string, number>, calls: readonly CreditedCall[], rise: number): void {
  const weights = weigh(calls);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let before = 0;
  let credited = 0;
  calls.forEach(({ key }, index) => {
    before += weights[index]!;
    const upTo = Math.round((rise * before) / total);
    sums.set(key, (sums.get(key) ?? 0) + upTo - credited);
    credited = upTo;
  });
}

function weigh(calls: readonly CreditedCall[]): readonly number[] {
  const costs = calls.map(({ costPicoUsd }) => (costPicoUsd === null ? null : Number(costPicoUsd)));
  return positive(costs) ?? positive(calls.map(({ totalTokens }) => totalTokens)) ?? calls.map(() => 1);
}

/** Returns the weights if all are known and not all are 0. */
function positive(weights: readonly (number | null)[]): readonly number[] | null {
  const known = weights.filter((weight) => weight !== null);
  return known.length === weights.length && known.some((weight) => weight > 0) ? known : null;
}
