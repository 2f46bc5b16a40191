/**
 * Everything that the meter decides, as pure functions and state machines on plain values: build your own meter or your
 * own cloud from these. Each name is also an entry of its own, such as `llm-meter/core/pricing`.
 *
 * ```ts
 * import { pricing, slug } from "./mod.ts";
 *
 * console.log(slug.normaliseSlug("My Project!")); // "my-project"
 * console.log(pricing.formatUsd(1_500_000_000_000n)); // "$1.50"
 * ```
 */
export * as attribution from "./attribution/mod.ts";
export * as banner from "./banner/mod.ts";
export * as classify from "./classify/mod.ts";
export * as config from "./config/mod.ts";
export * as consent from "./consent/mod.ts";
export * as deletion from "./deletion/mod.ts";
export * as exchange from "./exchange/mod.ts";
export * as fingerprint from "./fingerprint/mod.ts";
export * as ledger from "./ledger/mod.ts";
export * as pairing from "./pairing/mod.ts";
export * as plans from "./plans/mod.ts";
export * as policy from "./policy/mod.ts";
export * as pricing from "./pricing/mod.ts";
export * as reconcile from "./reconcile/mod.ts";
export * as redaction from "./redaction/mod.ts";
export * as retention from "./retention/mod.ts";
export * as retry from "./retry/mod.ts";
export * as savings from "./savings/mod.ts";
export * as slug from "./slug/mod.ts";
export * as supervisor from "./supervisor/mod.ts";
export * as sync from "./sync/mod.ts";
export * as text from "./text/mod.ts";
export * as uploader from "./uploader/mod.ts";
export * as usage from "./usage/mod.ts";
export * as watchdog from "./watchdog/mod.ts";
export * as wire from "./wire/mod.ts";
