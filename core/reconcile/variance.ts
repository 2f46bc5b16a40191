/** Below half a percent of the daemon's cost a difference is tolerated. Source: contract, "Command-line". */
export const VARIANCE_TOLERANCE_PER_MILLE = 5n;

/** What a difference in cost means: none, one that is tolerated, one to look into. */
export type VarianceVerdict = "good" | "tolerance" | "investigate";

/** Judges the cloud's cost against the daemon's, both in pico-USD: zero is good, under 0.5% tolerated. */
export function judgeVariance(localPicoUsd: bigint, cloudPicoUsd: bigint): VarianceVerdict {
  const difference = magnitude(cloudPicoUsd - localPicoUsd);
  if (difference === 0n) return "good";
  return difference * 1000n < VARIANCE_TOLERANCE_PER_MILLE * magnitude(localPicoUsd)
    ? "tolerance"
    : "investigate";
}

/** An amount without its sign. */
export function magnitude(amount: bigint): bigint {
  return amount < 0n ? -amount : amount;
}
