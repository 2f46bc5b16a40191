import type { RequestRecord, TokenCounts } from "../../values/record.ts";
import type { CalendarDate, Millis } from "../../values/time.ts";
import type { LogAgent, LogFault, LogScope } from "../agent-logs/log-entry.ts";
import type { ClientReport } from "../client-reports/client-report.ts";

/** Who saw a call: the proxy, the agent's own log, or the agent's own report by OpenTelemetry. */
export const WITNESSES = ["wire", "log", "client"] as const;

/** Who saw a call. */
export type Witness = (typeof WITNESSES)[number];

/** Why a witness did not see a call, or saw other counts. `unknown`: no fact shows why. */
export const DIFFERENCE_REASONS = [
  "helper_call",
  "bypass",
  "retry",
  "failed",
  "aborted",
  "before_install",
  "log_fault",
  "no_log",
  "cumulative_counter",
  "not_exported",
  "unknown",
] as const;

/** Why a witness did not see a call, or saw other counts. */
export type DifferenceReason = (typeof DIFFERENCE_REASONS)[number];

/** A call through the proxy. */
export interface WireCallEvidence
  extends Pick<
    RequestRecord,
    | "requestId"
    | "model"
    | "requestedModel"
    | "agentId"
    | "tokens"
    | "costPicoUsd"
    | "errorClass"
    | "retryable"
    | "httpStatus"
    | "requestKind"
  > {
  /** When the response ended. */
  readonly at: Millis;
  /** When the first byte of the request was read. */
  readonly startedAt: Millis;
  readonly session: string | null;
  readonly isSessionInferred: boolean;
  readonly responseId: string | null;
  /** The agent by the name of its program; null for other programs. */
  readonly agent: LogAgent | null;
}

/** An entry of an agent's log. */
export interface LogEvidence {
  /** Identifies the entry, and the record that an import stores for it. */
  readonly entryId: string;
  readonly agent: LogAgent;
  readonly scope: LogScope;
  readonly at: Millis;
  readonly session: string | null;
  /** The sub-agent that made the call. */
  readonly agentId: string | null;
  readonly model: string;
  /** Null if the log is gone and only the match of an import is left. */
  readonly tokens: TokenCounts | null;
  readonly isComplete: boolean;
  readonly costPicoUsd: bigint | null;
  readonly responseId: string | null;
  readonly providerRequestId: string | null;
  /** The call that an import matched it with. */
  readonly requestId: string | null;
}

/** Everything that is compared. */
export interface Evidence {
  readonly wire: readonly WireCallEvidence[];
  readonly log: readonly LogEvidence[];
  readonly client: readonly ClientReport[];
  /** How often each fault was found in the logs of a session. */
  readonly faults: ReadonlyMap<string, ReadonlyMap<LogFault, number>>;
  /** When the first call passed through the proxy. Null: none has. */
  readonly firstWireAt: Millis | null;
  /** Returns the day of a time, in the time zone of the comparison. */
  readonly dayOf: (at: Millis) => CalendarDate;
}

/** One call, with what each witness says about it. At least one of them saw it. */
export interface JoinedCall {
  readonly wire: WireCallEvidence | null;
  readonly log: LogEvidence | null;
  readonly client: ClientReport | null;
  readonly session: string | null;
  readonly agent: LogAgent | null;
  readonly at: Millis;
}

/** Token counts that all witnesses state in the same way. Not all of them separate thinking from other output. */
export interface ComparableTokens {
  readonly input: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly output: number | null;
}

/** Returns the counts in the form that can be compared. Without counts, all are unknown. */
export function comparable(tokens: TokenCounts | null | undefined): ComparableTokens {
  const { completionTokens = null, thinkingTokens = null } = tokens ?? {};
  return {
    input: tokens?.promptTokens ?? null,
    cacheRead: tokens?.cacheReadTokens ?? null,
    cacheWrite: tokens?.cacheWriteTokens ?? null,
    output:
      completionTokens === null && thinkingTokens === null
        ? null
        : (completionTokens ?? 0) + (thinkingTokens ?? 0),
  };
}

/** The names of the counts. */
export const COMPARED = ["input", "cacheRead", "cacheWrite", "output"] as const;

/** Whether two witnesses agree: a count that one of them does not state is not compared. */
export function agree(one: ComparableTokens, other: ComparableTokens): boolean {
  return COMPARED.every((name) => {
    const [first, second] = [one[name], other[name]];
    return first === null || second === null || first === second;
  });
}

/** Returns by how many tokens two witnesses differ. Counts that only one of them states are not compared. */
export const differenceOf = (one: ComparableTokens, other: ComparableTokens): number =>
  COMPARED.reduce((sum, name) => {
    const [first, second] = [one[name], other[name]];
    return first === null || second === null ? sum : sum + Math.abs(first - second);
  }, 0);

/** All tokens. Unknown counts add nothing. */
export const totalOf = (tokens: ComparableTokens): number =>
  COMPARED.reduce((sum, name) => sum + (tokens[name] ?? 0), 0);
