/**
 * Counts tokens for estimates. Implements the port `core/ports/token-counter.ts`.
 *
 * ```ts
 * import { createTokenCounter } from "./mod.ts";
 *
 * const counter = createTokenCounter();
 * console.log(await counter.count(["Hello, world!"], "gpt-5")); // 4
 * ```
 */
export { createTokenCounter } from "./gpt-tokenizer.ts";
