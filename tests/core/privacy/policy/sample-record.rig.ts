import type { UploadPolicy } from "../../../../core/privacy/policy/upload-policy.ts";
import type { RequestRecord } from "../../../../core/values/record.ts";
import { UNKNOWN_FIELDS } from "../../../../core/values/record-fields.ts";

/** A record in which every field has a distinct value. */
export const sampleRecord: RequestRecord = {
  ...UNKNOWN_FIELDS,
  requestId: "01994b8e-7c00-7000-8000-000000000000",
  requestedAt: Date.UTC(2026, 10, 21, 10),
  provider: "openai",
  model: "gpt-5-2026-01-01",
  requestedModel: "gpt-5",
  requestKind: "chat",
  streaming: true,
  tokens: {
    promptTokens: 1,
    cacheReadTokens: 2,
    cacheWriteTokens: 3,
    cacheWrite1hTokens: 4,
    completionTokens: 5,
    thinkingTokens: 6,
  },
  tokensComplete: true,
  costPicoUsd: 123_450_000_000n,
  costSource: "computed",
  billingMode: "plan",
  providerCostPicoUsd: 99n,
  ratesSource: "bundled",
  serviceTier: "standard",
  usageExtras: { web_search_requests: 1 },
  latencyMs: 1200.4,
  ttfbMs: 300.5,
  httpStatus: 429,
  errorClass: "rate_limit",
  providerErrorCode: "rate_limit_exceeded",
  retryable: true,
  blockedBy: "day",
  errorMessageHash: "e".repeat(64),
  project: "shop",
  attributionTier: "git_root",
  promptHash: "a".repeat(64),
  method: "POST",
  path: "/v1/chat/completions",
  sourceWorkdir: "/home/ann/shop",
  host: "api.openai.com",
  api: "openai.chat",
  providerResponseId: "chatcmpl-1",
  client: "curl",
  sessionId: "thr-demo-1",
  sessionSource: "stated",
  turnId: "turn-1",
  agentId: "thr-demo-2",
  parentAgentId: "thr-demo-3",
  agentKind: "collab_spawn",
  clientVersion: "2.1.240",
  gitBranch: "feature/pay",
  gitCommit: "c0".repeat(20),
  gitRemote: "github.com/acme/shop",
  pullRequest: 7,
  recordSource: "logs",
  logFile: "/home/ann/.codex/sessions/rollout.jsonl",
  logLine: 12,
};

/** A policy with this preset and these overrides. */
export function policyOf(preset: UploadPolicy["preset"], rest: Partial<UploadPolicy> = {}): UploadPolicy {
  return { preset, fields: {}, perProject: {}, ...rest };
}
