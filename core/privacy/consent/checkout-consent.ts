import type { Sha256 } from "../../values/hash.ts";
import { hashText } from "../../values/hash-text.ts";
import type { Plan } from "../../values/plan.ts";
import type { Millis } from "../../values/time.ts";
import { toStorableText } from "../../wire/characters.ts";
import type { BillingPeriod, CheckoutConsent } from "../../wire/consent.ts";
import { formatInstant } from "../../wire/instant.ts";

/** Maximum length of a stored user agent, in characters (code points). Source: docs/specification.md#limits. */
export const USER_AGENT_MAX_CHARACTERS = 512;

/** One row of `checkout_consent_records`. Source: docs/specification.md#consent. */
export interface ConsentRecord {
  readonly user_id: string;
  readonly plan: Plan;
  readonly period: BillingPeriod;
  readonly wording_hash: string;
  readonly ip: string | null;
  readonly user_agent: string | null;
  readonly timestamp: string;
}

/** Facts about the consenting person from the session and the server, not from the payload. */
export interface ConsentFacts {
  readonly userId: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly now: Millis;
  /** The hashes of all wordings that were ever shown. */
  readonly knownWordings: ReadonlySet<string>;
}

/** The row to store, or why the consent is invalid (422). */
type ConsentVerdict =
  | { readonly ok: true; readonly record: ConsentRecord }
  | { readonly ok: false; readonly reason: "tick_missing" | "wording_unknown" };

/**
 * Hashes the exact strings of the subscribe page, in order: SHA-256 of their JSON array in UTF-8 without spaces, so that
 * moving a word from one string to the next changes the hash.
 */
export function wordingHash(strings: readonly string[], sha256: Sha256): string {
  return hashText(JSON.stringify(strings), sha256);
}

/** Decides on a checkout consent: both boxes must be ticked, and the wording must be one that was shown. */
export function decideConsent(consent: CheckoutConsent, facts: ConsentFacts): ConsentVerdict {
  if (!consent.agreed_terms || !consent.agreed_immediate) return { ok: false, reason: "tick_missing" };
  if (!facts.knownWordings.has(consent.wording_hash)) return { ok: false, reason: "wording_unknown" };
  const record: ConsentRecord = {
    user_id: facts.userId,
    plan: consent.plan,
    period: consent.period,
    wording_hash: consent.wording_hash,
    ip: facts.ip,
    user_agent: truncateUserAgent(facts.userAgent),
    timestamp: formatInstant(facts.now),
  };
  return { ok: true, record };
}

/** Truncates a user agent to its stored length. */
export function truncateUserAgent(userAgent: string | null): string | null {
  return userAgent === null ? null : toStorableText(userAgent, USER_AGENT_MAX_CHARACTERS);
}
