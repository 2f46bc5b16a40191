import { loadBundledRates } from "../../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import { priceUsage } from "../../../../core/pricing/price-usage.ts";
import { addOwnRecord, type OwnDays } from "../../../../core/pricing/statements/own-usage.ts";
import type { RequestRecord } from "../../../../core/values/record.ts";
import { sampleRecord } from "../../privacy/policy/sample-record.rig.ts";

const book = createPriceBook(loadBundledRates());
const price = (record: RequestRecord) =>
  priceUsage({ ...record, at: record.requestedAt, extras: record.usageExtras }, book);

/** An hour of a day in May 2026, in UTC. */
export const aDay = (day: number, hour = 0): number => Date.UTC(2026, 4, day, hour);

/** A call of a million input and 100,000 output tokens that costs $1.00 and $0.50, unless stated otherwise. */
export function aRecord(given: Partial<RequestRecord> = {}): RequestRecord {
  const record: RequestRecord = {
    ...sampleRecord,
    ...{ requestedAt: aDay(12, 12), latencyMs: 1_200, provider: "anthropic" },
    ...{ model: "claude-haiku-4-5-20251001", requestedModel: null, billingMode: "metered" },
    ...{ serviceTier: null, usageExtras: null, providerCostPicoUsd: null, errorClass: null },
    tokens: {
      ...{ promptTokens: 1_000_000, cacheReadTokens: null, cacheWriteTokens: null },
      ...{ cacheWrite1hTokens: null, completionTokens: 100_000, thinkingTokens: null },
    },
    ...given,
  };
  return "costPicoUsd" in given ? record : { ...record, costPicoUsd: price(record).costPicoUsd };
}

/** Sums records, with the parts of their costs. */
export function ownOf(records: readonly RequestRecord[]): OwnDays {
  const days: OwnDays = new Map();
  for (const record of records) addOwnRecord(days, record, price(record));
  return days;
}
