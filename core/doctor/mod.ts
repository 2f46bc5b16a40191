/**
 * What `meter doctor` says, as a pure function of facts: findings, each with its cure as a command to paste, and one word
 * for all of them.
 *
 * ```ts
 * import { exceptedHosts } from "./mod.ts";
 *
 * exceptedHosts("localhost,.openai.com", ["api.openai.com", "api.anthropic.com"]); // [ "api.openai.com" ]
 * ```
 *
 * @module
 */
export {
  CLOCK_TOLERANCE_MS,
  type Diagnosis,
  type DoctorFix,
  type DoctorVerdict,
  diagnose,
  type Finding,
  type FindingLevel,
  FULL_DISK_BYTES,
  LARGE_DATABASE_BYTES,
  LOW_DISK_BYTES,
  STALE_RATES_DAYS,
} from "./diagnose.ts";
export type { BypassingConnection, ClientFacts, ClientOutcome, DoctorFacts } from "./doctor-facts.ts";
export { exceptedHosts } from "./no-proxy.ts";
