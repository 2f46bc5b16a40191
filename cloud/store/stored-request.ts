import type { PriceBook } from "../../core/pricing/price-book.ts";
import { priceUsage } from "../../core/pricing/price-usage.ts";
import { isClockSkewed, readReportedCost } from "../../core/privacy/policy/received-record.ts";
import type { RequestKind } from "../../core/values/record.ts";
import type { RecordFields, WireField } from "../../core/values/record-fields.ts";
import type { Millis } from "../../core/values/time.ts";
import { formatInstant, isFormattedInstant, parseInstant } from "../../core/wire/instant.ts";
import type { MetadataRecord, WireValue } from "../../core/wire/metadata-record.ts";
import { type CloudColumn, FILLABLE_COLUMNS } from "./request-columns.ts";

/** The values that the sender stated, as they were on the wire. */
type StatedValues = {
  readonly [Name in keyof RecordFields as CloudColumn<Name>]: Name extends WireField
    ? WireValue<Name> | (RecordFields[Name] extends { readonly upload: "required" } ? never : null)
    : never;
};

/** A row of `requests` without its workspace, as JSON: counts are safe integers, money is text, times are ISO 8601. */
export interface StoredRequest extends StatedValues {
  readonly received_at: string;
  readonly clock_skewed: boolean;
  readonly machine_id: string | null;
  readonly user_id: string;
  readonly cost_pico_usd: string | null;
  readonly cost_source: string;
  readonly rates_source: string | null;
}

/** Who sent a record, and when it arrived. These facts never come from the record itself. */
export interface Sender {
  readonly machineId: string | null;
  readonly userId: string;
  readonly receivedAt: Millis;
}

/**
 * Returns a function that converts the sender's records to stored rows, with the cloud's own costs. The wire's schema has
 * accepted the records.
 */
export function createRowConverter(
  { machineId, userId, receivedAt }: Sender,
  book: PriceBook,
): (record: MetadataRecord) => StoredRequest {
  const receivedAtText = formatInstant(receivedAt);
  return (record) => {
    const requestedAt = parseInstant(record.requested_at);
    if (requestedAt === null) throw new RangeError(`requested_at is not a time: ${record.requested_at}`);
    const row = {
      // With `cost_usd_minor_units`, which has no column: leaving it out takes longer than the rest of the conversion.
      ...record,
      // PostgreSQL's spelling of a UUID, so that each has one spelling.
      request_id: record.request_id.toLowerCase(),
      requested_at: isFormattedInstant(record.requested_at)
        ? record.requested_at
        : formatInstant(requestedAt),
      received_at: receivedAtText,
      clock_skewed: isClockSkewed(requestedAt, receivedAt),
      machine_id: machineId,
      user_id: userId,
      cost_pico_usd: null,
      cost_source: "unpriced",
      rates_source: null,
      reported_cost_pico_usd: readReportedCost(record)?.toString() ?? null,
      reported_cost_source: record.cost_source,
      reported_rates_source: record.rates_source,
    };
    return Object.assign(row, priceRow(row, requestedAt, book));
  };
}

/** Returns the row with its nulls filled in from the same record sent again; null if that adds nothing. A known cost stays. */
export function fillNulls(stored: StoredRequest, sent: StoredRequest, book: PriceBook): StoredRequest | null {
  const filledColumns = FILLABLE_COLUMNS.filter(
    (column) =>
      stored[column] === null && sent[column] !== null && !describesAnotherHash(column, stored, sent),
  );
  if (filledColumns.length === 0) return null;
  const filled = { ...stored, ...Object.fromEntries(filledColumns.map((column) => [column, sent[column]])) };
  return stored.cost_pico_usd === null
    ? { ...filled, ...priceRow(filled, Date.parse(filled.requested_at), book) }
    : filled;
}

/** Whether the kind was sent with another hash than the stored one. It says how its hash was made, so it is not filled in. */
function describesAnotherHash(column: string, stored: StoredRequest, sent: StoredRequest): boolean {
  if (column !== "prompt_hash_kind" || stored.prompt_hash === null) return false;
  return stored.prompt_hash !== sent.prompt_hash;
}

/**
 * Decision: a record without a kind, whose usage is complete without an output count, is an embedding. Nothing else ends
 * without output, and otherwise embeddings would have no cost under a daemon's `minimal` preset.
 */
export function kindOf({
  request_kind,
  tokens_complete,
  completion_tokens,
}: {
  readonly request_kind: RequestKind | null;
  readonly tokens_complete: boolean | null;
  readonly completion_tokens: number | string | null;
}): RequestKind {
  if (request_kind !== null) return request_kind;
  return tokens_complete === true && completion_tokens === null ? "embedding" : "other";
}

/** The columns that the cloud computes from the others. */
type Cost = Pick<StoredRequest, "cost_pico_usd" | "cost_source" | "rates_source">;

function priceRow(row: StoredRequest, at: Millis, book: PriceBook): Cost {
  const found = priceUsage(
    {
      provider: row.provider,
      model: row.model,
      requestedModel: row.requested_model,
      at,
      tokens: {
        promptTokens: row.prompt_tokens,
        cacheReadTokens: row.cache_read_tokens,
        cacheWriteTokens: row.cache_write_tokens,
        cacheWrite1hTokens: row.cache_write_1h_tokens,
        completionTokens: row.completion_tokens,
        thinkingTokens: row.thinking_tokens,
      },
      extras: row.usage_extras,
      serviceTier: row.service_tier,
      providerCostPicoUsd: row.provider_cost_pico_usd === null ? null : BigInt(row.provider_cost_pico_usd),
      requestKind: kindOf(row),
      billingMode: row.billing_mode,
    },
    book,
  );
  return {
    cost_pico_usd: found.costPicoUsd?.toString() ?? null,
    cost_source: found.costSource,
    rates_source: found.ratesSource,
  };
}
