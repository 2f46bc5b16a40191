/**
 * Reads what a provider says about a call: which API a request is, what it asks for, and what its answer states about
 * tokens, model, cost and failure. Everything provider-specific about token counts lives here: each file under `readers/`
 * says which of its provider's totals include which, and turns them into the five disjoint counts of `core/record.ts`.
 * The readers take decoded bytes cut anywhere, look closely only at what can carry usage, hold bounded memory and never
 * throw; usage that was not sent is null with `tokensComplete: false`, never 0.
 *
 * ```ts
 * import { createRegistry, createUsageReader } from "./mod.ts";
 *
 * const registry = createRegistry();
 * const route = registry.match({ host: "api.openai.com", port: 443, method: "POST", path: "/v1/chat/completions" });
 * if (route.kind === "metered") {
 *   const reader = createUsageReader(route, { status: 200, contentType: null, streaming: false });
 *   reader.push(new TextEncoder().encode('{"model":"m","usage":{"prompt_tokens":7,"completion_tokens":2}}'));
 *   console.log(reader.end(true).tokens.promptTokens); // 7
 * }
 * ```
 */
export type { ApiId } from "./api-readers.ts";
export { canonicalJson } from "./canonical-json.ts";
export type { Dialect } from "./dialects.ts";
export type { MessageUsageReader } from "./message-usage-reader.ts";
export { createMessageUsageReader } from "./message-usage-reader.ts";
export type { RequestFacts } from "./read-request.ts";
export { readRequest } from "./read-request.ts";
export type { ExtraHost, GatewayTarget, Registry, RequestAddress } from "./registry.ts";
export { createRegistry } from "./registry.ts";
export type { MeteredRoute, RouteMatch } from "./route.ts";
export { MAX_UNKNOWN_USAGE_BYTES } from "./unknown-usage.ts";
export type { ResponseContext, UsageReader } from "./usage-reader.ts";
export { createUsageReader, MAX_MESSAGE_BYTES } from "./usage-reader.ts";
export type { NoRecordReason, ProviderError, UsageFindings, UsageReport } from "./usage-report.ts";
