import type { RateSource } from "../values/record.ts";
import type { CalendarDate } from "../values/time.ts";
import type { PublishedRate, PublishedTier, PublishedTokenRates } from "../wire/pricing-rates.ts";
import { MAX_MODEL_NAME_LENGTH } from "./model-match.ts";
import { formatRateText, parseRateText } from "./money.ts";
import {
  type DailyWindow,
  NO_RATES,
  type RateRow,
  type Rates,
  type RateTier,
  type ServiceTierRates,
  type TokenRates,
} from "./rates.ts";
import { USAGE_EXTRAS, type UsageExtraName } from "./usage-extras.ts";

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
  const report: Report = (field, problem) => {
    problems.push({ provider: String(item.provider), model: String(item.model), field, problem });
  };
  for (const field of ["provider", "model"] as const) {
    if (!isName(item[field])) report(field, `must be a name of 1 to ${MAX_MODEL_NAME_LENGTH} characters`);
  }
  const effectiveFrom = item.effective_from ?? null;
  if (effectiveFrom !== null && !isCalendarDate(effectiveFrom)) {
    report("effective_from", `must be a date YYYY-MM-DD: current value is ${JSON.stringify(effectiveFrom)}`);
  }
  const rates: Rates = {
    ...NO_RATES,
    ...readTokenRates(item, "", report),
    tiers: readTiers(item.tiers, "", report),
    extras: readExtras(item, report),
    thinking: readRate(item.thinking, "thinking", report),
    perRequest: readRate(item.per_request, "per_request", report),
  };
  const serviceTiers = readServiceTiers(item, report);
  const daily = readDailyWindow(item, report);
  if (problems.length > 0) return { ok: false, problems };
  const row: RateRow = {
    provider: item.provider,
    model: item.model,
    source,
    match: null,
    effectiveFrom,
    effectiveTo: null,
    daily,
    provenanceDate,
    rates: serviceTiers === null ? rates : { ...rates, serviceTiers },
  };
  return { ok: true, row };
}

/** Writes a row in its published form. Fields that the row does not use are left out. */
export function toPublishedRate(row: RateRow): PublishedRate {
  const { rates, daily } = row;
  const extras = Object.entries(rates.extras);
  const services = Object.entries(rates.serviceTiers ?? {});
  return {
    provider: row.provider,
    model: row.model,
    ...writeTokenRates(rates),
    tiers: rates.tiers.map(writeTier),
    effective_from: row.effectiveFrom,
    ...(rates.thinking !== null && { thinking: formatRateText(rates.thinking) }),
    ...(rates.perRequest !== null && { per_request: formatRateText(rates.perRequest) }),
    ...(extras.length > 0 && {
      extras: Object.fromEntries(extras.map(([name, rate]) => [name, formatRateText(rate)])),
    }),
    ...(services.length > 0 && {
      service_tiers: Object.fromEntries(
        services.map(([name, tier]) => [
          name,
          { ...writeTokenRates(tier), tiers: tier.tiers.map(writeTier) },
        ]),
      ),
    }),
    ...(daily !== null && {
      daily: {
        from: timeOfSecond(daily.fromSecond),
        to: timeOfSecond(daily.toSecond),
        ...(daily.weekdaysOnly === true && { weekdays_only: true }),
      },
    }),
  };
}

type Report = (field: string, problem: string) => void;

function readTiers(
  tiers: readonly PublishedTier[] | null | undefined,
  where: string,
  report: Report,
): RateTier[] {
  let above = 0;
  return (tiers ?? []).map((tier) => {
    if (!Number.isSafeInteger(tier.above_tokens) || tier.above_tokens <= above) {
      report(
        `${where}tiers`,
        `above_tokens must be whole and ascending: current value is ${tier.above_tokens}`,
      );
    }
    above = tier.above_tokens;
    return { aboveTokens: above, ...readTokenRates(tier, `${where}above ${above} tokens: `, report) };
  });
}

/** Reads the extras that this version bills. An unknown name is ignored, because no count has it. */
function readExtras({ extras }: PublishedRate, report: Report): Rates["extras"] {
  const read: Partial<Record<UsageExtraName, number>> = {};
  for (const [name, text] of Object.entries(extras ?? {})) {
    if (!isBilledExtra(name)) continue;
    const rate = readRate(text, name, report);
    if (rate !== null) read[name] = rate;
  }
  return read;
}

function isBilledExtra(name: string): name is UsageExtraName {
  return Object.hasOwn(USAGE_EXTRAS, name) && USAGE_EXTRAS[name as UsageExtraName].partOf !== "flag";
}

const SERVICE_TIER_NAME = /^[a-z][a-z0-9_]{0,31}$/;

function readServiceTiers(item: PublishedRate, report: Report): Record<string, ServiceTierRates> | null {
  const entries = Object.entries(item.service_tiers ?? {});
  if (entries.length === 0) return null;
  return Object.fromEntries(
    entries.map(([name, tier]) => {
      if (!SERVICE_TIER_NAME.test(name)) report("service_tiers", "must have names in lower case");
      const rates = readTokenRates(tier, `${name}: `, report);
      return [name, { ...rates, tiers: readTiers(tier.tiers, `${name}: `, report) }];
    }),
  );
}

function readDailyWindow({ daily }: PublishedRate, report: Report): DailyWindow | null {
  if (daily === null || daily === undefined) return null;
  const [fromSecond, toSecond] = [secondOfTime(daily.from), secondOfTime(daily.to)];
  if (fromSecond !== null && toSecond !== null && fromSecond !== toSecond)
    return { fromSecond, toSecond, ...(daily.weekdays_only === true && { weekdaysOnly: true as const }) };
  report("daily", "must be two different times HH:MM:SS");
  return null;
}

function secondOfTime(text: string): number | null {
  const match = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d)$/.exec(text);
  return match === null ? null : Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3]);
}

function timeOfSecond(second: number): string {
  return [Math.floor(second / 3600), Math.floor(second / 60) % 60, second % 60]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
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

function readTokenRates(rates: PublishedTokenRates, where: string, report: Report): TokenRates {
  const read: TokenRates = {
    input: null,
    output: null,
    cacheRead: null,
    cacheWrite: null,
    cacheWrite1h: null,
  };
  for (const [field, name] of FIELDS) read[name] = readRate(rates[field], `${where}${field}`, report);
  return read;
}

/** Reads a rate; null if there is none, or if it is not an amount, which is reported. */
function readRate(text: unknown, field: string, report: Report): number | null {
  if (text === null || text === undefined) return null;
  const rate = typeof text === "string" ? parseRateText(text) : null;
  if (rate === null)
    report(field, `must be a decimal text from zero up: current value is ${JSON.stringify(text)}`);
  return rate;
}

function writeTier(tier: RateTier): PublishedTier {
  return { above_tokens: tier.aboveTokens, ...writeTokenRates(tier) };
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
