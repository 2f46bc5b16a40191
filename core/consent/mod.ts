/**
 * The checkout consent: one row for each subscription that a person confirms, tied by hash to the words that were shown.
 * The words themselves are regulated copy and come from the caller.
 *
 * ```ts
 * import { createHash } from "node:crypto";
 * import { decideConsent, wordingHash } from "./mod.ts";
 *
 * const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();
 * const shown = wordingHash(["I agree to the Terms.", "I ask for immediate performance."], sha256);
 * const verdict = decideConsent(
 *   { plan: "team", period: "annual", wording_hash: shown, agreed_terms: true, agreed_immediate: false },
 *   { userId: "u1", ip: null, userAgent: null, now: 0, knownWordings: new Set([shown]) },
 * );
 * console.log(verdict); // { ok: false, reason: "tick_missing" }
 * ```
 *
 * @module
 */
export {
  type ConsentFacts,
  type ConsentRecord,
  type ConsentVerdict,
  cutUserAgent,
  decideConsent,
  USER_AGENT_MAX_CHARACTERS,
  wordingHash,
} from "./checkout-consent.ts";
