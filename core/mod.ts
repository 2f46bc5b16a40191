/**
 * The logic of the meter as pure functions and state machines on plain values, for building your own meter or cloud. There
 * is no I/O, clock or randomness here: the caller passes the time, and carries out effects. Each namespace is also an entry
 * of its own, such as `@llm-meter/core/pricing`.
 *
 * ```ts
 * import { pricing, values } from "./mod.ts";
 *
 * console.log(values.normaliseSlug("My Project!")); // my-project
 * console.log(pricing.formatUsd(1_500_000_000_000n)); // $1.50
 * ```
 *
 * @module
 */
export * as delivery from "./delivery/mod.ts";
export * as metering from "./metering/mod.ts";
export * as operations from "./operations/mod.ts";
export * as pricing from "./pricing/mod.ts";
export * as privacy from "./privacy/mod.ts";
export * as values from "./values/mod.ts";
export * as wire from "./wire/mod.ts";
