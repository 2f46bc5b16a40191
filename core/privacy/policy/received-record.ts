import { fromMinorUnits } from "../../pricing/money.ts";
import type { Millis } from "../../values/time.ts";
import type { MetadataRecord } from "../../wire/metadata-record.ts";

/**
 * Returns the cost that the daemon computed, in pico-USD: the exact cost, or minor units × 10^7 if an older daemon sent
 * only those. Source: docs/specification.md#money-and-rates.
 */
export function readReportedCost(
  wire: Pick<MetadataRecord, "cost_pico_usd" | "cost_usd_minor_units">,
): bigint | null {
  if (wire.cost_pico_usd !== null) return BigInt(wire.cost_pico_usd);
  return wire.cost_usd_minor_units === null ? null : fromMinorUnits(wire.cost_usd_minor_units);
}

/** Largest clock difference of a sender before its records are flagged, milliseconds. Source: docs/specification.md#metadata-batch. */
export const CLOCK_SKEW_MAX_MS = 23 * 3_600_000;

/**
 * Whether a record's time proves that the sender's clock is wrong. Only a time in the future does: an old record may have
 * waited to be sent.
 */
export function isClockSkewed(requestedAt: Millis, receivedAt: Millis): boolean {
  return requestedAt - receivedAt > CLOCK_SKEW_MAX_MS;
}
