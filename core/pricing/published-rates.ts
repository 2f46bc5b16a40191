import type { RateSource } from "../values/record.ts";
import type { CalendarDate } from "../values/time.ts";
import type { PublishedRate, PublishedTokenRates } from "../wire/pricing-rates.ts";
import { MAX_MODEL_NAME_LENGTH } from "./model-match.ts";
import { formatRateText, parseRateText } from "./money.ts";
import { NO_RATES, type RateRow, type RateTier, type TokenRates } from "./rates.ts";

/** A problem of a published rate: the field and a description. */
export interface RateProblem {
  provider: string;
  model: string;
  field: string;
  problem: string;
}

/** The published fields and their names in a row. */
const FIELDS = [
  ["input", "input"],
  ["output", "output"],
  ["cache_read", "cacheRead"],
  ["cache_write", "cacheWrite"],
  ["cache_write_1h", "cacheWrite1h"],
] as const satisfies readonly (readonly [keyof PublishedTokenRates, keyof TokenRates])[];

/** Reads a published rate into a row, or lists all its problems. Nothing is guessed or repaired. */
export function readPublishedRate(
  item: PublishedRate,
  source: Exclude<RateSource, "bundled">,
  provenanceDate: CalendarDate,
): { ok: true; row: RateRow } | { ok: false; problems: readonly RateProblem[] } {
  const problems: RateProblem[] = [];
  const report = (field: string, problem: string): void => {
    problems.push({ provider: String(item.provider), model: String(item.model), field, problem });
  };
  for (const field of ["provider", "model"] as const) {
    if (!isName(item[field])) report(field, `must be a name of 1 to ${MAX_MODEL_NAME_LENGTH} characters`);
  }
  const effectiveFrom = item.effective_from ?? null;
  if (effectiveFrom !== null && !isCalendarDate(effectiveFrom)) {
    report("effective_from", `must be a date YYYY-MM-DD: current value is ${JSON.stringify(effectiveFrom)}`);
  }
  const base = readTokenRates(item, "", report);
  const tiers: RateTier[] = [];
  let above = 0;
  for (const tier of item.tiers ?? []) {
    if (!Number.isSafeInteger(tier.above_tokens) || tier.above_tokens <= above) {
      report("tiers", `above_tokens must be whole and ascending: current value is ${tier.above_tokens}`);
    }
    above = tier.above_tokens;
    tiers.push({ aboveTokens: above, ...readTokenRates(tier, `above ${above} tokens: `, report) });
  }
  if (problems.length > 0) return { ok: false, problems };
  const row: RateRow = {
    provider: item.provider,
    model: item.model,
    source,
    match: null,
    effectiveFrom,
    effectiveTo: null,
    daily: null,
    provenanceDate,
    rates: { ...NO_RATES, ...base, tiers },
  };
  return { ok: true, row };
}

/** Writes a row in its published form, which leaves out extras and fees. */
export function toPublishedRate(row: RateRow): PublishedRate {
  return {
    provider: row.provider,
    model: row.model,
    ...writeTokenRates(row.rates),
    tiers: row.rates.tiers.map((tier) => ({ above_tokens: tier.aboveTokens, ...writeTokenRates(tier) })),
    effective_from: row.effectiveFrom,
  };
}

/** Whether the text is a date `YYYY-MM-DD` that exists. */
function isCalendarDate(text: unknown): text is CalendarDate {
  if (typeof text !== "string" || !/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "" && value.length <= MAX_MODEL_NAME_LENGTH;
}

function readTokenRates(
  rates: PublishedTokenRates,
  where: string,
  report: (field: string, problem: string) => void,
): TokenRates {
  const read: TokenRates = {
    input: null,
    output: null,
    cacheRead: null,
    cacheWrite: null,
    cacheWrite1h: null,
  };
  for (const [field, name] of FIELDS) {
    const text: unknown = rates[field] ?? null;
    if (text === null) continue;
    const rate = typeof text === "string" ? parseRateText(text) : null;
    if (rate === null) {
      report(
        `${where}${field}`,
        `must be a decimal text from zero up: current value is ${JSON.stringify(text)}`,
      );
    }
    read[name] = rate;
  }
  return read;
}

function writeTokenRates(rates: TokenRates): PublishedTokenRates {
  const text = (rate: number | null): string | null => (rate === null ? null : formatRateText(rate));
  return {
    input: text(rates.input),
    output: text(rates.output),
    cache_read: text(rates.cacheRead),
    cache_write: text(rates.cacheWrite),
    cache_write_1h: text(rates.cacheWrite1h),
  };
}
