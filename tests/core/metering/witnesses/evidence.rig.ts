import type { ClientReport } from "../../../../core/metering/client-reports/client-report.ts";
import type {
  Evidence,
  LogEvidence,
  WireCallEvidence,
} from "../../../../core/metering/witnesses/evidence.ts";
import type { TokenCounts } from "../../../../core/values/record.ts";

/** The time of the samples. */
export const NOON = Date.UTC(2026, 10, 20, 12);

/** The counts of a call: each call of a sample has different ones. */
export const counts = (input: number, output = 7): TokenCounts => ({
  promptTokens: input,
  cacheReadTokens: 100,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: null,
  completionTokens: output,
  thinkingTokens: null,
});

/** A call through the proxy that took a second. */
export const wire = (id: string, members: Partial<WireCallEvidence> = {}): WireCallEvidence => {
  const startedAt = members.startedAt ?? NOON;
  return {
    requestId: `r-${id}`,
    model: "claude-sonnet-4-5-20250929",
    requestedModel: "claude-sonnet-4-5",
    tokens: counts(10),
    costPicoUsd: 5_000n,
    errorClass: null,
    retryable: null,
    httpStatus: 200,
    requestKind: "chat",
    session: "s",
    agentId: null,
    isSessionInferred: false,
    responseId: `msg_${id}`,
    agent: "claude",
    ...members,
    startedAt,
    at: members.at ?? startedAt + 1_000,
  };
};

/** The log's entry of the call with this id. */
export const logged = (id: string, members: Partial<LogEvidence> = {}): LogEvidence => ({
  entryId: `e-${id}`,
  agent: "claude",
  scope: "call",
  at: NOON + 1_000,
  session: "s",
  agentId: null,
  model: "claude-sonnet-4-5",
  tokens: counts(10),
  isComplete: true,
  costPicoUsd: 5_000n,
  responseId: `msg_${id}`,
  providerRequestId: `req_${id}`,
  requestId: null,
  ...members,
});

/** The client's report of the call with this id. */
export const reported = (id: string, members: Partial<ClientReport> = {}): ClientReport => ({
  key: `k-${id}`,
  client: "claude",
  scope: "request",
  event: "claude_code.api_request",
  session: "s",
  at: NOON + 1_000,
  startedAt: null,
  model: "claude-sonnet-4-5",
  tokens: counts(10),
  statedCostPicoUsd: 5_000n,
  providerRequestId: `req_${id}`,
  responseId: null,
  querySource: "repl_main_thread",
  ...members,
});

/** Evidence in UTC, long after the installation. */
export const evidence = (members: Partial<Evidence>): Evidence => ({
  ...{ wire: [], log: [], client: [], faults: new Map(), firstWireAt: 0 },
  dayOf: (at) => new Date(at).toISOString().slice(0, 10),
  ...members,
});
