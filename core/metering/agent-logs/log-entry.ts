import type { BillingMode, TokenCounts } from "../../values/record.ts";
import type { Millis } from "../../values/time.ts";

/** The agents whose own logs can be imported. Source: docs/specification.md#agents-own-logs. */
export const LOG_AGENTS = [
  "claude",
  "codex",
  "gemini",
  "opencode",
  "qwen",
  "copilot",
  "goose",
  "amp",
  "cline",
  "roo",
  "kilo",
  "pi",
  "droid",
] as const;

/** An agent whose own logs can be imported. */
export type LogAgent = (typeof LOG_AGENTS)[number];

/**
 * What the counts of an entry cover: one call, all calls of a turn, or all calls of a session (or of the part of it since the
 * last entry).
 */
export type LogScope = "call" | "turn" | "session";

/** A known fault of a log. Faults are counted; usage that appears twice because of one is counted once. */
export const LOG_FAULTS = {
  repeated: "lines that repeat a call",
  placeholder: "lines without counts",
  synthetic: "messages of the agent itself",
  repeated_counter: "counters that did not move",
  interleaved_counter: "counters with a gap",
  local_estimate: "estimates of the agent",
  limits_only: "lines with rate limits only",
  hidden_model: "calls without a model",
  cache_not_stated: "calls without cache counts",
  inconsistent: "counts whose parts exceed their total",
  without_time: "calls without a time (left out)",
  unreadable: "lines that are not JSON",
  too_long: "lines that are too long",
} as const;

/** The name of a fault. */
export type LogFault = keyof typeof LOG_FAULTS;

/** The usage that a log states for one call, turn or session. All of it is JSON, so that a reader's state can hold it. */
export interface LogEntry {
  readonly agent: LogAgent;
  /** Identifies the call among those of the agent: a copy of it in another file has the same key. */
  readonly key: string;
  /** The line, row or message of the file, from 1. */
  readonly line: number;
  readonly scope: LogScope;
  /** When it was written: after the response. */
  readonly at: Millis;
  /** The provider as the meter names it; `unknown` if the log does not state it. */
  readonly provider: string;
  /** `unknown` if the log does not state it. */
  readonly model: string;
  readonly tokens: TokenCounts;
  readonly tokensComplete: boolean;
  readonly extras: Readonly<Record<string, number>>;
  readonly serviceTier: string | null;
  readonly billing: BillingMode;
  /** What the agent itself computed, in USD as a decimal number. */
  readonly statedCostUsd: string | null;
  /** The provider's id of the response. */
  readonly responseId: string | null;
  /** The provider's id of the request, in a response header. */
  readonly providerRequestId: string | null;
  readonly session: string | null;
  readonly parentSession: string | null;
  readonly turn: string | null;
  readonly agentId: string | null;
  readonly agentKind: string | null;
  readonly clientVersion: string | null;
  readonly cwd: string | null;
  readonly branch: string | null;
  readonly commit: string | null;
  readonly remote: string | null;
}

/** A line of a log that names the pull request of a session. */
export interface PullRequestLink {
  readonly session: string;
  readonly at: Millis;
  readonly pullRequest: number;
}

/** What is known about a file before it is read. */
export interface LogFile {
  /** The session that the file's name or folder states. */
  readonly session: string | null;
  readonly modifiedAt: Millis;
}

/** What a reader found in one item. */
export interface LogStep<State> {
  readonly state: State;
  readonly entries: readonly LogEntry[];
  readonly faults: readonly LogFault[];
  readonly link?: PullRequestLink;
}

/**
 * Reads one format. An item is a line of a JSON Lines file, a whole JSON document, or a row of a database. The state is JSON, so
 * that reading can continue where it ended. Nothing that a log contains makes a reader throw.
 */
export interface LogReader<State = object> {
  /** A line that contains none of these texts changes nothing and need not be parsed. Empty: every line is parsed. */
  readonly needles: readonly string[];
  start(file: LogFile): State;
  read(state: State, item: unknown, line: number): LogStep<State>;
  /** Returns the entry that waits for the lines after it, if there is one. The state stays valid. */
  end(state: State): readonly LogEntry[];
}

/** The fields that most logs do not state. */
export const NOT_STATED = {
  extras: {},
  serviceTier: null,
  billing: "unknown",
  statedCostUsd: null,
  responseId: null,
  providerRequestId: null,
  session: null,
  parentSession: null,
  turn: null,
  agentId: null,
  agentKind: null,
  clientVersion: null,
  cwd: null,
  branch: null,
  commit: null,
  remote: null,
} as const satisfies Partial<LogEntry>;

/** All tokens of an entry. Unknown counts add nothing. */
export function totalTokens({ tokens }: Pick<LogEntry, "tokens">): number {
  return (
    (tokens.promptTokens ?? 0) +
    (tokens.cacheReadTokens ?? 0) +
    (tokens.cacheWriteTokens ?? 0) +
    (tokens.completionTokens ?? 0) +
    (tokens.thinkingTokens ?? 0)
  );
}

/**
 * Returns the entry to keep of two with the same key: the one with more tokens, since a log may contain counts from
 * before the response ended. Of equal ones, it returns the one that states more, otherwise the first. Parts of the
 * place that it does not state come from the other, since not every line repeats them.
 */
export function largerEntry(first: LogEntry, second: LogEntry): LogEntry {
  const difference = totalTokens(second) - totalTokens(first) || countKnown(second) - countKnown(first);
  const [larger, smaller] = difference > 0 ? [second, first] : [first, second];
  if (larger.session !== smaller.session) return larger;
  const stated = PLACE_FIELDS.filter((name) => larger[name] === null && smaller[name] !== null);
  return stated.length === 0
    ? larger
    : { ...larger, ...Object.fromEntries(stated.map((name) => [name, smaller[name]])) };
}

/** Where a call was made. */
const PLACE_FIELDS = ["clientVersion", "cwd", "branch", "commit", "remote"] as const;

const countKnown = (entry: LogEntry) =>
  Number(entry.responseId !== null) + Number(entry.billing !== "unknown");
