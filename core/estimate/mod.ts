/**
 * Estimates of what a provider did not state: which counts are missing, the texts that they would be counted from, and
 * a report in which estimates stand in for them, marked as such. Nothing here counts tokens; that is what
 * `core/ports/token-counter.ts` is for.
 *
 * ```ts
 * import { answerTexts, promptTexts } from "./mod.ts";
 *
 * const encoder = new TextEncoder();
 * const request = encoder.encode('{"model":"m","messages":[{"role":"user","content":"Hello?"}]}');
 * console.log(promptTexts(request)?.texts); // [ "Hello?" ]
 * const answer = encoder.encode('data: {"choices":[{"delta":{"content":"Hi!"}}]}\n\n');
 * console.log(answerTexts(answer).output); // "Hi!"
 * ```
 */
export type { AnswerTexts } from "./answer-texts.ts";
export { answerTexts } from "./answer-texts.ts";
export type { Estimates, MissingCounts } from "./estimate-usage.ts";
export { missingCounts, withEstimates } from "./estimate-usage.ts";
export type { PromptTexts } from "./prompt-texts.ts";
export { promptTexts, TOKENS_PER_MESSAGE } from "./prompt-texts.ts";
