import { effectiveBilling } from "../values/billing.ts";
import type { RequestRecord, TokenCounts } from "../values/record.ts";
import type { BookedCall } from "./budget.ts";

/** A stored call, with the id of its record. */
export interface StoredCall extends BookedCall {
  readonly requestId: string;
}

/** Returns the call of a record as budgets count it. Null: refused calls and those of agents' logs do not count. */
export function bookedCallOf(record: RequestRecord): StoredCall | null {
  const { requestId, requestedAt, recordSource, blockedBy, errorClass, costPicoUsd, tokens } = record;
  if (recordSource === "logs" || blockedBy !== null) return null;
  const isStated = tokens.promptTokens !== null || tokens.completionTokens !== null;
  // A failed call without counts used nothing.
  const isKnown = isStated || errorClass !== null;
  return {
    requestId,
    at: Math.round(requestedAt),
    facts: {
      project: record.project,
      branch: record.gitBranch,
      provider: record.provider,
      model: record.model,
      client: record.client,
      session: record.sessionId,
      agent: record.agentId,
      billing: effectiveBilling(record),
    },
    costPicoUsd: costPicoUsd ?? (isKnown && !isStated ? 0n : null),
    tokens: isKnown ? sumTokens(tokens) : null,
  };
}

/** The hour's writes of the cache are among its writes. */
const sumTokens = (counts: TokenCounts): number =>
  (counts.promptTokens ?? 0) +
  (counts.cacheReadTokens ?? 0) +
  (counts.cacheWriteTokens ?? 0) +
  (counts.completionTokens ?? 0) +
  (counts.thinkingTokens ?? 0);
