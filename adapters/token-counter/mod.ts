/**
 * Counts tokens for estimates, behind the port `core/ports/token-counter.ts`.
 *
 * ```ts
 * import { createTokenCounter } from "./mod.ts";
 *
 * const counter = createTokenCounter();
 * console.log(await counter.count(["Hello, world!"], "gpt-5")); // 4
 * ```
 */
export { createTokenCounter, MAX_COUNTED_UNITS } from "./gpt-tokenizer.ts";
