import type { RequestRecord } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";

/**
 * How long the calls of a plan count as paid with credits after one that was, in milliseconds. Decision: a used-up budget then sends a call
 * once a minute, whose response states whether the plan pays again.
 */
const CREDITS_LAST_MS = 60_000;

/** Which providers' plans have reached their limit, so that credits pay. Only responses state that. */
export interface PlanCredits {
  isOnCredits(provider: string): boolean;
  /** Takes a record that was stored. */
  note(record: Pick<RequestRecord, "provider" | "billingMode" | "blockedBy" | "errorClass">): void;
}

/** Creates the state, in which all plans pay. */
export function createPlanCredits(now: () => Millis): PlanCredits {
  const paidAt = new Map<string, Millis>();
  return {
    isOnCredits(provider) {
      const at = paidAt.get(provider);
      return at !== undefined && Math.abs(now() - at) < CREDITS_LAST_MS;
    },
    note({ provider, billingMode, blockedBy, errorClass }) {
      if (billingMode === "credits") paidAt.set(provider, now());
      // Without a response, the billing mode is that of the credential.
      else if (billingMode === "plan" && blockedBy === null && errorClass === null) paidAt.delete(provider);
    },
  };
}
