import { effectiveBilling } from "../../values/billing.ts";
import type { BillingMode, RequestRecord } from "../../values/record.ts";
import type { CalendarDate } from "../../values/time.ts";
import { formatCalendarDate } from "../../wire/instant.ts";
import { normaliseServiceTier } from "../factors.ts";
import type { PricedUsage } from "../price-usage.ts";
import { billModelOf } from "./bill-model.ts";
import type { PartCounts, TokenPart } from "./statement-line.ts";

/** Requests and their cost. */
export interface Share {
  requests: number;
  costPicoUsd: bigint;
}

/** What our records have for one model and one day in UTC. Sums are of calls billed by usage, unless stated otherwise. */
export interface OwnUsage extends Share {
  date: CalendarDate;
  /** The model of the first record. */
  model: string;
  tokens: Record<TokenPart, bigint>;
  /** The cost of each kind of tokens. */
  partCosts: Partial<Record<TokenPart, bigint>>;
  /** The part of the cost that is not for tokens, such as web searches. */
  fees: bigint;
  /** Requests without a cost, because no rate is known. */
  unpriced: number;
  /** Requests whose tokens the meter counted itself. */
  estimated: number;
  /** Requests whose tokens are missing or were cut off. */
  incomplete: number;
  /** The calls by service tier, without standard ones. */
  tiers: Map<string, Share>;
  /** The calls that began on this day and ended on the next. */
  pastMidnight: Share;
  /** The calls that are not billed by usage, or whose billing is unknown. No other sum contains them. */
  apart: Map<Exclude<BillingMode, "metered">, Share>;
}

/** Returns the sums of no calls. */
export const emptyUsage = (date: CalendarDate, model: string): OwnUsage => ({
  date,
  model,
  requests: 0,
  costPicoUsd: 0n,
  tokens: {
    input: 0n,
    "all input": 0n,
    "cache read": 0n,
    "cache write": 0n,
    "cache write 1h": 0n,
    output: 0n,
  },
  partCosts: {},
  fees: 0n,
  unpriced: 0,
  estimated: 0,
  incomplete: 0,
  tiers: new Map(),
  pastMidnight: { requests: 0, costPicoUsd: 0n },
  apart: new Map(),
});

/** The parts by the labels of cost lines, without their medium. A tier's suffix follows the label. */
const PART_OF_LABEL: readonly (readonly [label: string, part: TokenPart])[] = [
  ["input", "input"],
  ["cache read", "cache read"],
  ["cache write 1h", "cache write 1h"],
  ["cache write", "cache write"],
  ["output", "output"],
  ["thinking", "output"],
];

const MEDIUM = /^(?:audio|image|video) /;

/** Our records by day in UTC and model, as they are compared with a statement. */
export type OwnDays = Map<string, OwnUsage>;

/** The key of a day and a model, or of what the day has without a model. */
export const rowKey = (date: CalendarDate, model: string | null): string =>
  model === null ? date : `${date} ${billModelOf(model)}`;

/** Adds a record. `priced` is the calculation of its cost, from which the parts come. */
export function addOwnRecord(days: OwnDays, record: RequestRecord, priced: PricedUsage): void {
  const date = formatCalendarDate(record.requestedAt);
  const key = rowKey(date, record.model);
  let usage = days.get(key);
  if (usage === undefined) {
    usage = emptyUsage(date, record.model);
    days.set(key, usage);
  }
  const billing = effectiveBilling(record);
  if (billing === "metered") addMetered(usage, record, priced);
  else addShare(usage.apart, billing, record.costPicoUsd ?? 0n);
}

function addMetered(usage: OwnUsage, record: RequestRecord, priced: PricedUsage): void {
  const cost = record.costPicoUsd;
  usage.requests++;
  usage.costPicoUsd += cost ?? 0n;
  if (cost === null && record.errorClass === null) usage.unpriced++;
  if (record.costSource === "estimated") usage.estimated++;
  if (!record.tokensComplete && record.errorClass === null) usage.incomplete++;
  for (const [part, count] of Object.entries(partTokens(record)))
    usage.tokens[part as TokenPart] += count as bigint;
  const tier = normaliseServiceTier(record.serviceTier);
  if (tier !== null) addShare(usage.tiers, tier, cost ?? 0n);
  if (formatCalendarDate(record.requestedAt + record.latencyMs) !== usage.date) {
    usage.pastMidnight.requests++;
    usage.pastMidnight.costPicoUsd += cost ?? 0n;
  }
  // Lines that do not sum to the stored cost, such as one that the provider stated, say nothing about its parts.
  if (cost !== null && priced.computedPicoUsd === cost) addParts(usage, priced);
}

function addParts(usage: OwnUsage, { lines }: PricedUsage): void {
  for (const { label, costPicoUsd } of lines) {
    const name = label.replace(MEDIUM, "");
    const part = PART_OF_LABEL.find(([start]) => name.startsWith(start))?.[1];
    if (part === undefined) usage.fees += costPicoUsd;
    else usage.partCosts[part] = (usage.partCosts[part] ?? 0n) + costPicoUsd;
  }
}

function partTokens({ tokens }: Pick<RequestRecord, "tokens">): PartCounts {
  const count = (value: number | null) => BigInt(value ?? 0);
  const write1h = count(tokens.cacheWrite1hTokens);
  const written = count(tokens.cacheWriteTokens);
  const [input, read] = [count(tokens.promptTokens), count(tokens.cacheReadTokens)];
  return {
    input,
    "all input": input + read + written,
    "cache read": read,
    "cache write": written > write1h ? written - write1h : 0n,
    "cache write 1h": write1h,
    output: count(tokens.completionTokens) + count(tokens.thinkingTokens),
  };
}

function addShare<Name>(shares: Map<Name, Share>, name: Name, costPicoUsd: bigint): void {
  const share = shares.get(name) ?? { requests: 0, costPicoUsd: 0n };
  share.requests++;
  share.costPicoUsd += costPicoUsd;
  shares.set(name, share);
}
