import { isUrlAuthority } from "../values/text/url-authority.ts";
import type { Millis } from "../values/time.ts";
import type { PublishedRate, RatePull } from "../wire/pricing-rates.ts";
import { formatRateText } from "./money.ts";
import type { PriceBook } from "./price-book.ts";
import { type RateProblem, readPublishedRate } from "./published-rates.ts";
import type { RateRow, TokenRates } from "./rates.ts";
import type { UsageExtraName } from "./usage-extras.ts";

/** Maximum rate that a pull may contain, in micro-USD per million tokens. Source: docs/specification.md#limits. */
export const RATE_CEILING_MICRO_USD = 1_000_000_000;

/**
 * Maximum fee that a pull may contain for a million searches, pages, hours or requests, in micro-USD: 100 USD each.
 * Decision: the specification limits only rates of tokens.
 */
const FEE_CEILING_MICRO_USD = 100_000_000_000_000;

/** Maximum factor by which a pull may raise or lower a rate. Source: docs/specification.md#limits. */
export const MAX_RATE_MOVE = 10;

/** Default interval between pulls, in milliseconds. Source: docs/specification.md#limits. */
export const DEFAULT_PULL_INTERVAL_MS = 6 * 3_600_000;

/** Minimum interval between pulls, in milliseconds. Source: docs/specification.md#limits. */
export const MIN_PULL_INTERVAL_MS = 3_600_000;

/**
 * How far in the future a pull may be dated, in milliseconds. A later date would take precedence over all future bundled
 * rates.
 */
const MAX_CLOCK_LEAD_MS = 86_400_000;

/** A date, or a time with a UTC offset. A time without an offset would be parsed as local time. */
const INSTANT = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/;

/** The result of judging a pull: all of its rows, or all of its problems. */
export type PullVerdict =
  | { ok: true; rows: readonly RateRow[] }
  | { ok: false; problems: readonly RateProblem[] };

/** Returns the interval between pulls: at least the minimum, or the default if the configured interval is not a number. */
export function clampPullInterval(intervalMs: number): number {
  return Number.isFinite(intervalMs) ? Math.max(intervalMs, MIN_PULL_INTERVAL_MS) : DEFAULT_PULL_INTERVAL_MS;
}

/** Whether rates may be pulled from a URL: https, without credentials, on any host. */
export function isPullUrlAllowed(url: string): boolean {
  const [, authority = ""] = /^https:\/\/([^\s/?#@\\]+)(?:[/?#][^\s\\]*)?$/i.exec(url) ?? [];
  return isUrlAuthority(authority);
}

/**
 * Accepts or rejects a pull as a whole. It is rejected if any rate is malformed, above the ceiling, listed twice, or too
 * far from the rate that applies without the operator's rates. Accepted rows have the source `auto` and the day of
 * publication as their provenance date. Rates that the pull omits (one-hour writes, context tiers) stay as they are.
 *
 * Decision: removing a rate of a known model is rejected in the same way as setting it to zero, because the fallback rate
 * for those tokens may be ten times as high.
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
      `must not be in the future: current value is ${JSON.stringify(pull.published_at)}`,
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
    if (seen.has(key)) problems.push({ provider, model, field: "model", problem: "is listed twice" });
    seen.add(key);
    const at = effectiveFrom === null ? now : Math.max(now, Date.parse(`${effectiveFrom}T00:00:00Z`));
    const current = book.findPublished({ provider, model, requestedModel: null, at });
    const row = current === null ? read.row : fillOmittedRates(item, read.row, current);
    problems.push(...judgeRow(row, current));
    rows.push(row);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, rows };
}

function fillOmittedRates(item: PublishedRate, row: RateRow, current: RateRow): RateRow {
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
  problems.push(...judgeExtras(row, current));
  return problems;
}

/** Judges what is billed besides text tokens. Older clouds do not publish it, so that a missing rate is no change. */
function judgeExtras({ provider, model, rates }: RateRow, current: RateRow | null): RateProblem[] {
  const known = current?.rates;
  const offered: [string, number | null, number | null | undefined, boolean][] = [
    ["thinking", rates.thinking, known?.thinking, false],
    ["per_request", rates.perRequest, known?.perRequest, true],
    ...Object.entries(rates.extras).map(
      ([name, rate]): [string, number | null, number | null | undefined, boolean] => [
        name,
        rate,
        known?.extras[name as UsageExtraName],
        true,
      ],
    ),
  ];
  for (const [name, service] of Object.entries(rates.serviceTiers ?? {})) {
    const before = known?.serviceTiers?.[name];
    for (const field of ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h"] as const)
      offered.push([`${name}: ${field}`, service[field], before?.[field], false]);
  }
  return offered.flatMap(([field, rate, before, isFee]) => {
    const problem = rate === null ? null : judgeMove(rate, before ?? null, isFee);
    return problem === null ? [] : [{ provider, model, field, problem }];
  });
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

/** Returns why a rate may not change from `known` to `offered`, or `null` if it may. */
function judgeRate(offered: number | null, known: number | null, isKnownModel: boolean): string | null {
  if (offered !== null && (!isKnownModel || known !== null)) return judgeMove(offered, known);
  if (offered === known) return null;
  const move = describeMove(known, offered);
  if (offered !== null && offered > RATE_CEILING_MICRO_USD)
    return aboveCeiling(offered, RATE_CEILING_MICRO_USD);
  return known === null
    ? `would be added to a known model: ${move}`
    : `would be removed from a known model: ${move}`;
}

/**
 * Returns why a rate may not be `offered`, or `null` if it may: it is above the ceiling, moves between free and paid, or
 * moves too far. A rate that was not `known` passes under the ceiling alone.
 */
export function judgeMove(offered: number, known: number | null, isFee = false): string | null {
  const ceiling = isFee ? FEE_CEILING_MICRO_USD : RATE_CEILING_MICRO_USD;
  if (offered > ceiling) return aboveCeiling(offered, ceiling);
  if (known === null || offered === known) return null;
  const move = describeMove(known, offered);
  if (known === 0 || offered === 0) return `would change between free and paid: ${move}`;
  const isTooFar = offered > known * MAX_RATE_MOVE || offered * MAX_RATE_MOVE < known;
  return isTooFar ? `would change by more than a factor of ${MAX_RATE_MOVE}: ${move}` : null;
}

function aboveCeiling(offered: number, ceiling: number): string {
  return `is above the ceiling of ${formatRateText(ceiling)} USD: ${formatRateText(offered)}`;
}

function describeMove(known: number | null, offered: number | null): string {
  const text = (rate: number | null) => (rate === null ? "none" : formatRateText(rate));
  return `${text(known)} to ${text(offered)}`;
}
