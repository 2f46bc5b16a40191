import type { AgentNode, SessionCall } from "../../core/metering/sessions/session-tree.ts";
import { splitJson } from "../../core/pricing/cost-split.ts";
import { formatPicoUsd } from "../../core/pricing/money.ts";
import type { TokenSums } from "../../core/pricing/view/usage-sums.ts";
import { effectiveBilling } from "../../core/values/billing.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { totalOutputTokens } from "../../core/values/token-totals.ts";
import type { ReportRow } from "../store/port/reports.ts";
import type { SessionList, SessionSummary } from "../store/port/sessions.ts";

/** Returns the share of input tokens that was read from a cache, in tenths of a percent. Null if no count is known. */
export function cachePermille({ prompt, cacheRead, cacheWrite }: CacheCounts): number | null {
  if (cacheRead === null) return null;
  const total = BigInt(prompt ?? 0) + BigInt(cacheRead) + BigInt(cacheWrite ?? 0);
  return total === 0n ? null : Number((BigInt(cacheRead) * 1_000n) / total);
}

type CacheCounts = {
  readonly [Name in keyof Pick<TokenSums, "prompt" | "cacheRead" | "cacheWrite">]: bigint | number | null;
};

/** Returns this share for one request. */
export const requestCachePermille = ({ tokens }: Pick<RequestRecord, "tokens">): number | null =>
  cachePermille({
    prompt: tokens.promptTokens,
    cacheRead: tokens.cacheReadTokens,
    cacheWrite: tokens.cacheWriteTokens,
  });

/** Returns the time between the first byte of a response and its end, in milliseconds. */
export const streamMs = ({
  latencyMs,
  ttfbMs,
}: Pick<RequestRecord, "latencyMs" | "ttfbMs">): number | null =>
  ttfbMs === null ? null : Math.max(0, latencyMs - ttfbMs);

/** Returns the sums of a session, with the names of the wire. */
function usageJson(usage: ReportRow) {
  const { tokens } = usage;
  return {
    requests: usage.requests,
    errors: usage.errors,
    blocked: usage.blocked,
    unpriced: usage.unpriced,
    incomplete: usage.incomplete,
    prompt_tokens: tokens.prompt,
    cache_read_tokens: tokens.cacheRead,
    cache_write_tokens: tokens.cacheWrite,
    completion_tokens: tokens.completion,
    thinking_tokens: tokens.thinking,
    cache_permille: cachePermille(tokens),
    cost_pico_usd: usage.costPicoUsd,
    ...splitJson(usage.split),
  };
}

/** Converts a session for programs. */
export function sessionJson(session: SessionSummary) {
  return {
    session_id: session.sessionId,
    session_source: session.source,
    project: session.project,
    client: session.client,
    client_version: session.clientVersion,
    git_branch: session.branch,
    started_at: new Date(session.startedAt).toISOString(),
    ended_at: new Date(session.endedAt).toISOString(),
    duration_ms: Math.round(session.endedAt - session.startedAt),
    agents: session.agents,
    requests_from_logs: session.fromLogs,
    ...usageJson(session.usage),
  };
}

/** Converts a list of sessions for programs. */
export const sessionsJson = ({ sessions, unknownCosts }: SessionList) => ({
  items: sessions.map(sessionJson),
  /** How many more may cost as much as the minimum cost: they have a call without a known price. */
  unknown_cost_sessions: unknownCosts,
});

/** A request of a session's tree. */
export type TreeRequest = RequestRecord;

/** Converts a call for programs. */
export function callJson({ request, context, followsCompaction }: SessionCall<TreeRequest>) {
  const cost = request.costPicoUsd;
  return {
    request_id: request.requestId,
    requested_at: new Date(request.requestedAt).toISOString(),
    turn_id: request.turnId,
    provider: request.provider,
    model: request.model,
    input_tokens: context,
    cache_permille: requestCachePermille(request),
    output_tokens: totalOutputTokens(request.tokens),
    cost_pico_usd: cost,
    cost_usd: cost === null ? null : formatPicoUsd(cost),
    billing_mode: effectiveBilling(request),
    wait_ms: request.ttfbMs,
    stream_ms: streamMs(request),
    http_status: request.httpStatus,
    error_class: request.errorClass,
    follows_compaction: followsCompaction,
    record_source: request.recordSource,
  };
}

/** An agent for programs. */
export interface AgentJson {
  readonly agent_id: string | null;
  readonly agent_kind: string | null;
  readonly peak_input_tokens: number | null;
  readonly compactions: number;
  readonly calls: readonly ReturnType<typeof callJson>[];
  readonly agents: readonly AgentJson[];
}

/** Converts an agent and the agents that it started. */
export function agentJson(node: AgentNode<TreeRequest>): AgentJson {
  return {
    agent_id: node.agentId,
    agent_kind: node.kind,
    peak_input_tokens: node.peakContext,
    compactions: node.compactions,
    calls: node.calls.map(callJson),
    agents: node.children.map(agentJson),
  };
}
