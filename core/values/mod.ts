/**
 * The plain values that every other room uses: the request record and its token counts, times and dates, ids and hashes,
 * project slugs, and the shape of a state machine. It imports no other room.
 *
 * ```ts
 * import { normaliseSlug, uuidV7 } from "./mod.ts";
 *
 * console.log(normaliseSlug("  My Shop (EU) ")); // my-shop-eu
 * console.log(uuidV7(Date.UTC(2026, 0, 1), new Uint8Array(10)).slice(0, 8)); // 019b76da
 * ```
 *
 * @module
 */

export type { Sha256 } from "./hash.ts";
export type {
  ClearTimerEffect,
  SetTimerEffect,
  Step,
  Transition,
} from "./machine.ts";
export { isPlan, PLANS, type Plan } from "./plan.ts";
export type {
  BillingMode,
  CostSource,
  ErrorClass,
  RateSource,
  RequestKind,
  RequestRecord,
  TokenCounts,
} from "./record.ts";
export { normaliseSlug } from "./slug/normalise-slug.ts";
export type { CalendarDate, Millis } from "./time.ts";
export { uuidV7 } from "./uuid.ts";
