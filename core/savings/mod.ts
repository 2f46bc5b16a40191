/**
 * Where money could be saved: prompts that were asked again, prompt caches that cost more than they save or are not used,
 * output that is mostly thinking. Only what follows from counted tokens and known rates gets a figure.
 *
 * ```ts
 * import { findSavings } from "./mod.ts";
 *
 * const repeated = { provider: "openai", model: "gpt-5", project: "docs", requests: 12, costPicoUsd: 3_000_000_000n };
 * const [saving] = findSavings([], [repeated]);
 * console.log(saving?.kind, saving?.savingPicoUsd); // repeated_prompt 3000000000n
 * ```
 *
 * @module
 */
export {
  findSavings,
  LONG_PROMPT_TOKENS,
  MIN_REQUESTS,
  type ModelUsage,
  type RepeatedPrompts,
  type Saving,
  type SavingKind,
  THINKING_SHARE_PERCENT,
} from "./find-savings.ts";
