import type { Millis } from "../time.ts";
import { formatRateText } from "./money.ts";
import type { PriceBook } from "./price-book.ts";
import { type PublishedRate, type RateProblem, readPublishedRate } from "./published-rates.ts";
import type { RateRow, TokenRates } from "./rates.ts";

/** Highest rate that a pull may bring, in micro-USD per million tokens. Source: contract, "Limits". */
export const RATE_CEILING_MICRO_USD = 1_000_000_000;

/** How many times larger or smaller a pull may make a rate. Source: contract, "Limits". */
export const MAX_RATE_MOVE = 10;

/** How often rates are pulled unless configured. Source: contract, "Limits". */
export const DEFAULT_PULL_INTERVAL_MS = 6 * 3_600_000;

/** Never more often than this. Source: contract, "Limits". */
export const MIN_PULL_INTERVAL_MS = 3_600_000;

/** How far ahead of our clock a pull may be dated: a later date would win over every bundled row to come. */
const MAX_CLOCK_LEAD_MS = 86_400_000;

/** A date, or a time that says its zone: without one it would be read in ours. */
const INSTANT = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/;

/** Published rates, as the cloud or a configured address answers. Source: decisions, "Reading". */
export interface RatePull {
  published_at: string;
  unit: string;
  rates: readonly PublishedRate[];
}

/** What became of a pull: all of its rows, or none of them and every reason. */
export type PullVerdict =
  | { ok: true; rows: readonly RateRow[] }
  | { ok: false; problems: readonly RateProblem[] };

/** The interval between pulls: never below the floor; the default where the configured one is no number. */
export function clampPullInterval(intervalMs: number): number {
  return Number.isFinite(intervalMs) ? Math.max(intervalMs, MIN_PULL_INTERVAL_MS) : DEFAULT_PULL_INTERVAL_MS;
}

/** Whether rates may be pulled from this address: https with a host and no credentials, loopback too. */
export function isPullUrlAllowed(url: string): boolean {
  return /^https:\/\/[^\s/?#@\\]+(?:[/?#][^\s\\]*)?$/i.test(url);
}

/**
 * Judges a pull as a whole: one rate that is malformed, above the ceiling, twice in the pull or too far from the rate
 * that applies without the operator's rejects all of it. Rows that pass have the source `auto` and the day of
 * publication as their provenance. What the pull does not speak of (one-hour writes, context tiers) stays as it was.
 *
 * Decision: a rate that vanishes from a known model is rejected like one that becomes zero, since the fallback that
 * would price those tokens then may be ten times as high.
 */
export function judgePull(pull: RatePull, book: PriceBook, now: Millis): PullVerdict {
  const problems: RateProblem[] = [];
  const refuse = (field: string, problem: string): void => {
    problems.push({ provider: "", model: "", field, problem });
  };
  if (pull.unit !== "usd_per_million_tokens") {
    refuse("unit", `must be usd_per_million_tokens: current value is ${JSON.stringify(pull.unit)}`);
  }
  const publishedAt = INSTANT.test(pull.published_at) ? Date.parse(pull.published_at) : Number.NaN;
  if (!(publishedAt <= now + MAX_CLOCK_LEAD_MS)) {
    refuse(
      "published_at",
      `must be a time that has come: current value is ${JSON.stringify(pull.published_at)}`,
    );
    return { ok: false, problems };
  }
  const provenanceDate = new Date(publishedAt).toISOString().slice(0, 10);

  const rows: RateRow[] = [];
  const seen = new Set<string>();
  for (const item of pull.rates) {
    const read = readPublishedRate(item, "auto", provenanceDate);
    if (!read.ok) {
      problems.push(...read.problems);
      continue;
    }
    const { provider, model, effectiveFrom } = read.row;
    const key = JSON.stringify([provider.trim().toLowerCase(), model.trim().toLowerCase(), effectiveFrom]);
    if (seen.has(key))
      problems.push({ provider, model, field: "model", problem: "stands in the pull twice" });
    seen.add(key);
    const at = effectiveFrom === null ? now : Math.max(now, Date.parse(`${effectiveFrom}T00:00:00Z`));
    const current = book.findPublished({ provider, model, requestedModel: null, at });
    const row = current === null ? read.row : keepUnsaid(item, read.row, current);
    problems.push(...judgeRow(row, current));
    rows.push(row);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, rows };
}

function keepUnsaid(item: PublishedRate, row: RateRow, current: RateRow): RateRow {
  const rates = { ...row.rates };
  if (item.cache_write_1h === undefined) rates.cacheWrite1h = current.rates.cacheWrite1h;
  if (item.tiers === undefined) rates.tiers = current.rates.tiers;
  return { ...row, rates };
}

function judgeRow(row: RateRow, current: RateRow | null): RateProblem[] {
  const { provider, model, rates } = row;
  const problems: RateProblem[] = [];
  const judge = (field: string, offered: number | null, known: number | null): void => {
    const problem = judgeRate(offered, known, current !== null);
    if (problem !== null) problems.push({ provider, model, field, problem });
  };
  judgeRates(rates, current?.rates ?? null, "", judge);
  const knownTiers = new Map(current?.rates.tiers.map((tier) => [tier.aboveTokens, tier]));
  for (const tier of rates.tiers) {
    const known = knownTiers.get(tier.aboveTokens) ?? null;
    knownTiers.delete(tier.aboveTokens);
    judgeRates(tier, known, `above ${tier.aboveTokens} tokens: `, judge);
  }
  for (const [above, known] of knownTiers) judgeRates(null, known, `above ${above} tokens: `, judge);
  return problems;
}

function judgeRates(
  offered: TokenRates | null,
  known: TokenRates | null,
  where: string,
  judge: (field: string, offered: number | null, known: number | null) => void,
): void {
  for (const field of ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h"] as const) {
    judge(`${where}${field}`, offered?.[field] ?? null, known?.[field] ?? null);
  }
}

/** What is wrong with moving a rate from `known` to `offered`; `null` when nothing is. */
function judgeRate(offered: number | null, known: number | null, isKnownModel: boolean): string | null {
  if (offered !== null && offered > RATE_CEILING_MICRO_USD) {
    return `is above the ceiling of ${formatRateText(RATE_CEILING_MICRO_USD)} USD: ${formatRateText(offered)}`;
  }
  if (!isKnownModel || offered === known) return null;
  const move = `${known === null ? "none" : formatRateText(known)} to ${offered === null ? "none" : formatRateText(offered)}`;
  if (known === null) return `would appear on a known model: ${move}`;
  if (offered === null) return `would vanish from a known model: ${move}`;
  if (known === 0 || offered === 0) return `would move between free and paid: ${move}`;
  const isTooFar = offered > known * MAX_RATE_MOVE || offered * MAX_RATE_MOVE < known;
  return isTooFar ? `would move more than ${MAX_RATE_MOVE} times: ${move}` : null;
}
