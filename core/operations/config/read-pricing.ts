import {
  clampPullInterval,
  DEFAULT_PULL_INTERVAL_MS,
  isPullUrlAllowed,
  MIN_PULL_INTERVAL_MS,
} from "../../pricing/guard.ts";
import { readPublishedRate } from "../../pricing/published-rates.ts";
import type { RateRow } from "../../pricing/rates.ts";
import { PRICE_SOURCES } from "../../pricing/sources/price-sources.ts";
import { parseDuration } from "../../values/duration.ts";
import type { CalendarDate } from "../../values/time.ts";
import type { PublishedRate } from "../../wire/pricing-rates.ts";
import type { Config } from "./config.ts";
import { MAX_PULL_INTERVAL_MS } from "./numbers.ts";
import type { SectionReader } from "./section-reader.ts";

/** The values of `[pricing] source`. */
const PULL_SOURCES = [...PRICE_SOURCES.map(({ name }) => name as string), "cloud"];

/** Reads where rates come from, and the operator's own. */
export function readPricing(section: SectionReader, today: CalendarDate): Config["pricing"] {
  const configuredMs = section.value(
    "pull_interval",
    (value) => (typeof value === "string" ? parseDuration(value) : null),
    'a duration such as "6h"',
  );
  const pullIntervalMs = Math.min(
    clampPullInterval(configuredMs ?? DEFAULT_PULL_INTERVAL_MS),
    MAX_PULL_INTERVAL_MS,
  );
  if (configuredMs !== null && pullIntervalMs !== configuredMs) {
    const [min, max] = [`${MIN_PULL_INTERVAL_MS / 3_600_000}h`, `${MAX_PULL_INTERVAL_MS / 86_400_000}d`];
    const used = pullIntervalMs === MIN_PULL_INTERVAL_MS ? min : max;
    section.warn("pull_interval", `is outside ${min} to ${max}; ${used} is used`);
  }
  return {
    autoPull: section.boolean("auto_pull", false),
    pullIntervalMs,
    pullUrl: section.value(
      "pull_url",
      (value) => (typeof value === "string" && isPullUrlAllowed(value) ? value : null),
      "a public https URL",
    ),
    source: section.value(
      "source",
      (value) => (typeof value === "string" && PULL_SOURCES.includes(value) ? value : null),
      `one of ${PULL_SOURCES.join(", ")}`,
    ),
    operator: section.tables("operator").flatMap((each) => readOperatorRate(each, today)),
  };
}

const rateFields = ["input", "output", "cache_read", "cache_write", "cache_write_1h"] as const;

/** Reads a rate as decimal text. The shortest text of a number is what the user wrote. */
function rateText(section: SectionReader, key: string): string | null {
  return section.value(
    key,
    (value) => (typeof value === "string" ? value : typeof value === "number" ? String(value) : null),
    "a price in USD per million tokens",
  );
}

function readOperatorRate(section: SectionReader, today: CalendarDate): RateRow[] {
  const rates = (from: SectionReader) =>
    Object.fromEntries(rateFields.map((field) => [field, rateText(from, field)])) as Record<
      (typeof rateFields)[number],
      string | null
    >;
  const item: PublishedRate = {
    provider: section.text("provider", "") as string,
    model: section.text("model", "") as string,
    ...rates(section),
    tiers: section.tables("tiers").map((tier) => ({
      ...rates(tier),
      above_tokens: tier.integer("above_tokens", 0, { min: 0, max: 1e9 }),
    })),
    effective_from: section.text("effective_from", null),
  };
  const read = readPublishedRate(item, "operator", today);
  if (read.ok) return [read.row];
  for (const { field, problem } of read.problems) section.warn(field, `${problem}; this rate is ignored`);
  return [];
}
