import type { Millis } from "../../core/values/time.ts";

/** Says that `meter prune` deleted records of a period that is compared. Null if it did not. */
export function describePruned(prunedBefore: Millis | null, from: Millis): string | null {
  if (prunedBefore === null || prunedBefore <= from) return null;
  const before = new Date(prunedBefore).toISOString();
  return `\`meter prune\` deleted the records from before ${before}. Earlier calls are missing here.`;
}

/** The same for programs. */
export const prunedBeforeOf = (prunedBefore: Millis | null): string | null =>
  prunedBefore === null ? null : new Date(prunedBefore).toISOString();
