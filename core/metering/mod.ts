/**
 * What a call to a provider used. The registry says which API an address belongs to; a usage reader takes the bytes of a
 * response in chunks of any size and returns tokens, model, stated cost and error. Usage that the provider did not send is
 * null with `tokensComplete: false`, never 0. A reader uses bounded memory and never throws.
 *
 * - `usage/`: registry, request and usage readers; everything specific to a provider is there.
 * - `exchange/`: HTTP/1.1 messages, event streams, JSON lines, WebSocket frames and the TLS ClientHello.
 * - `classify/`: the error class of a failed call.
 * - `attribution/`: the project that a call belongs to.
 * - `coverage/`: how much of the traffic was metered.
 * - `estimate/`: the texts to count when a provider states no tokens.
 * - `agent-logs/`: records from the logs that agents write.
 * - `limits/`: the limits of accounts that responses state, with forecasts.
 * - `sessions/`: the session, turn and agent of a call.
 *
 * ```ts
 * import { createRegistry, createUsageReader } from "./mod.ts";
 *
 * const route = createRegistry().match({ host: "api.openai.com", port: 443, method: "POST", path: "/v1/chat/completions" });
 * if (route.kind === "metered") {
 *   const reader = createUsageReader(route, { status: 200, contentType: null, streaming: false });
 *   reader.push(new TextEncoder().encode('{"model":"m","usage":{"prompt_tokens":7,"completion_tokens":2}}'));
 *   console.log(reader.end(true).tokens.promptTokens); // 7
 * }
 * ```
 *
 * The class of a failed call, and its project:
 *
 * ```ts
 * import { attributeCall, classifyError } from "./mod.ts";
 *
 * const error = { type: "insufficient_quota", code: "credit_balance_exhausted", message: null, status: null };
 * const failed = classifyError("openai", { kind: "answered", status: 429, error, complete: true });
 * console.log(failed.errorClass, failed.retryable); // auth false
 *
 * const facts = { headerProject: null, proxyUser: "My Shop", process: null, folders: null };
 * console.log(attributeCall(facts, { defaultProject: "misc", autoClassifyUnknownProcesses: true }).project); // my-shop
 * ```
 *
 * Estimates for a response without token counts start from the texts of the request and the answer:
 *
 * ```ts
 * import { answerTexts, promptTexts } from "./mod.ts";
 *
 * const encoder = new TextEncoder();
 * console.log(promptTexts(encoder.encode('{"messages":[{"role":"user","content":"Hello?"}]}'))?.texts); // [ "Hello?" ]
 * console.log(answerTexts(encoder.encode('data: {"choices":[{"delta":{"content":"Hi!"}}]}\n\n')).output); // Hi!
 * ```
 *
 * @module
 */
export { attributeCall } from "./attribution/attribute-call.ts";
export type {
  AttributedProject,
  Attribution,
  AttributionFacts,
  AttributionRules,
  AttributionTier,
} from "./attribution/choose-project.ts";
export { type CallOutcome, type ClassifiedError, classifyError } from "./classify/classify-error.ts";
export { type AnswerTexts, answerTexts } from "./estimate/answer-texts.ts";
export {
  type Estimates,
  type MissingCounts,
  missingCounts,
  withEstimates,
} from "./estimate/estimate-usage.ts";
export { type PromptTexts, promptTexts } from "./estimate/prompt-texts.ts";
export type { ApiId } from "./usage/api-readers.ts";
export { createMessageUsageReader, type MessageUsageReader } from "./usage/message-usage-reader.ts";
export { type RequestFacts, readRequest } from "./usage/read-request.ts";
export {
  createRegistry,
  type ExtraHost,
  type GatewayTarget,
  type Registry,
  type RequestAddress,
} from "./usage/registry.ts";
export type { MeteredRoute, RouteMatch } from "./usage/route.ts";
export { createUsageReader, type ResponseContext, type UsageReader } from "./usage/usage-reader.ts";
export type { ProviderError, UsageFindings, UsageReport } from "./usage/usage-report.ts";
