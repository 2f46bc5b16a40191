import type { Sha256 } from "../hash.ts";
import { hashText } from "../hash-text.ts";
import type { Plan } from "../plans/mod.ts";
import type { Millis } from "../time.ts";
import { type BillingPeriod, type CheckoutConsent, formatInstant, toStorableText } from "../wire/mod.ts";

/** Most characters (code points) of a stored user agent. Source: contract, "Limits". */
export const USER_AGENT_MAX_CHARACTERS = 512;

/** One row of `checkout_consent_records`. Source: contract, "Checkout consent record". */
export interface ConsentRecord {
  readonly user_id: string;
  readonly plan: Plan;
  readonly period: BillingPeriod;
  readonly wording_hash: string;
  readonly ip: string | null;
  readonly user_agent: string | null;
  readonly timestamp: string;
}

/** Who consents, as session and server know it; nothing of it is taken from the payload. */
export interface ConsentFacts {
  readonly userId: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly now: Millis;
  /** The hashes of all wordings that were ever shown. */
  readonly knownWordings: ReadonlySet<string>;
}

/** The row to store, or why there is none; both reasons are a 422. */
export type ConsentVerdict =
  | { readonly ok: true; readonly record: ConsentRecord }
  | { readonly ok: false; readonly reason: "tick_missing" | "wording_unknown" };

/**
 * The hash of the exact strings that the subscribe page shows, in their order: SHA-256 of the UTF-8 bytes of their JSON
 * array without blanks, so that moving a word from one string to the next changes it too.
 */
export function wordingHash(strings: readonly string[], sha256: Sha256): string {
  return hashText(JSON.stringify(strings), sha256);
}

/** Decides on a checkout consent: both boxes ticked, and a wording that we have shown. */
export function decideConsent(consent: CheckoutConsent, facts: ConsentFacts): ConsentVerdict {
  if (!consent.agreed_terms || !consent.agreed_immediate) return { ok: false, reason: "tick_missing" };
  if (!facts.knownWordings.has(consent.wording_hash)) return { ok: false, reason: "wording_unknown" };
  const record: ConsentRecord = {
    user_id: facts.userId,
    plan: consent.plan,
    period: consent.period,
    wording_hash: consent.wording_hash,
    ip: facts.ip,
    user_agent: cutUserAgent(facts.userAgent),
    timestamp: formatInstant(facts.now),
  };
  return { ok: true, record };
}

/** A user agent as it is stored. */
export function cutUserAgent(userAgent: string | null): string | null {
  return userAgent === null ? null : toStorableText(userAgent, USER_AGENT_MAX_CHARACTERS);
}
