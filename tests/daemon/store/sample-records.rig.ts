import type { RequestRecord } from "../../../core/values/record.ts";
import { UNKNOWN_FIELDS } from "../../../core/values/record-fields.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";

/** A time without special dates. */
export const noon = Date.UTC(2026, 4, 12, 12);

let made = 0;

/** A complete record with its own id; the test states the fields that matter. */
export function sampleRecord(given: Partial<RequestRecord> = {}): RequestRecord {
  const n = ++made;
  const requestedAt = given.requestedAt ?? noon + n;
  const random = Uint8Array.from({ length: 10 }, (_, index) => (n >> ((9 - index) * 4)) & 0xff);
  return {
    ...UNKNOWN_FIELDS,
    requestId: uuidV7(requestedAt, random),
    requestedAt,
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    requestedModel: "claude-sonnet-4-5-latest",
    requestKind: "chat",
    streaming: true,
    tokens: {
      promptTokens: 100,
      cacheReadTokens: 2_000,
      cacheWriteTokens: 30,
      cacheWrite1hTokens: 10,
      completionTokens: 50,
      thinkingTokens: null,
    },
    tokensComplete: true,
    costPicoUsd: 1_234_567_890n,
    costSource: "computed",
    billingMode: "metered",
    providerCostPicoUsd: null,
    ratesSource: "bundled",
    serviceTier: "standard",
    usageExtras: { web_search_requests: 2 },
    latencyMs: 1_200,
    ttfbMs: 300,
    httpStatus: 200,
    errorClass: null,
    providerErrorCode: null,
    retryable: null,
    errorMessageHash: null,
    project: "acme-web",
    attributionTier: "git_root",
    promptHash: "ab".repeat(32),
    method: "POST",
    path: "/v1/messages",
    sourceWorkdir: "/home/user/acme-web",
    host: "api.anthropic.com",
    api: "anthropic.messages",
    providerResponseId: `msg_${n}`,
    client: "claude",
    ...given,
  };
}
