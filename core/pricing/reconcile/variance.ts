/** Differences below this share of the daemon's cost are tolerated: 0.5%. Source: docs/specification.md#command-line. */
export const VARIANCE_TOLERANCE_PER_MILLE = 5n;

/** The verdict on a cost difference: none, tolerated, or to be investigated. */
export type VarianceVerdict = "good" | "tolerance" | "investigate";

/**
 * Compares the cloud's cost with the daemon's, both in pico-USD. `good` means no difference, `tolerance` less than 0.5%.
 */
export function judgeVariance(localPicoUsd: bigint, cloudPicoUsd: bigint): VarianceVerdict {
  const difference = magnitude(cloudPicoUsd - localPicoUsd);
  if (difference === 0n) return "good";
  return difference * 1000n < VARIANCE_TOLERANCE_PER_MILLE * magnitude(localPicoUsd)
    ? "tolerance"
    : "investigate";
}

/** Decimal places of the percentage. */
const PERCENT_PLACES = 4;

/**
 * Returns the cloud's cost minus the daemon's, in percent of the daemon's. Digits after the fourth place are cut off, so
 * that a tolerated difference never appears as 0.5%. Returns `null` if the daemon's cost is zero and the cloud's is not.
 */
export function variancePercent(localPicoUsd: bigint, cloudPicoUsd: bigint): string | null {
  const difference = cloudPicoUsd - localPicoUsd;
  if (difference === 0n) return "0";
  if (localPicoUsd === 0n) return null;
  const sign = difference < 0n ? "-" : "+";
  const scale = 10n ** BigInt(PERCENT_PLACES);
  const cut = (magnitude(difference) * 100n * scale) / magnitude(localPicoUsd);
  if (cut === 0n) return `${sign}<0.${"1".padStart(PERCENT_PLACES, "0")}`;
  return `${sign}${cut / scale}.${String(cut % scale).padStart(PERCENT_PLACES, "0")}`;
}

/** Returns the absolute value. */
export function magnitude(amount: bigint): bigint {
  return amount < 0n ? -amount : amount;
}
