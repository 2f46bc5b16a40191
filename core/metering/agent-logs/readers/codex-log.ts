import { isObject } from "../../../values/json-object.ts";
import type { Millis } from "../../../values/time.ts";
import { readCount, splitTotal } from "../../usage/token-counts.ts";
import { type LogEntry, type LogFault, type LogReader, type LogStep, NOT_STATED } from "../log-entry.ts";
import {
  entryStep,
  faultStep,
  firstText,
  type Members,
  membersOf,
  noStep,
  readText,
  readTime,
} from "./members.ts";

/** Input, cached input, cache writes, output, reasoning: as stated, so the first includes the second and third. */
type Counts = readonly [number, number, number, number, number];

/** A cumulative counter of a thread. Several can be interleaved in one file. */
interface Counter {
  readonly total: Counts;
  /** The thread that the counter belongs to, which is the parent's while a fork repeats its parent's lines. */
  readonly thread: string | null;
}

/** What the lines read so far state about the lines after them. */
export interface CodexState {
  readonly thread: string | null;
  /** The thread whose lines this file repeats, or its own. */
  readonly origin: string | null;
  readonly startedAt: Millis | null;
  readonly session: string | null;
  readonly parent: string | null;
  readonly kind: string | null;
  readonly version: string | null;
  readonly provider: string | null;
  readonly cwd: string | null;
  readonly branch: string | null;
  readonly commit: string | null;
  readonly remote: string | null;
  readonly model: string | null;
  readonly turn: string | null;
  /** Whether the limits of a ChatGPT plan were stated. */
  readonly hasPlan: boolean;
  readonly counters: readonly Counter[];
  /** The counts of calls with a response id whose cumulative counter has not been read yet. */
  readonly unpaired: readonly Counts[];
  /** The last entry: the line after it may state its response id or its plan. */
  readonly pending: { readonly entry: LogEntry; readonly counts: Counts } | null;
}

/** How many counters, and how many unpaired calls, are remembered. */
const MAX_REMEMBERED = 32;

/** A fork repeats its parent's lines at once when it starts. A call takes longer. */
const REPLAY_MS = 2_000;

/**
 * Reads the rollouts of Codex (`sessions/Y/M/D/rollout-*.jsonl`).
 *
 * - A `token_usage_record` states a call with its response id, which is its key. Its counts appear again in a `token_count`, after
 *   it or before it.
 * - A `token_count` without one states a cumulative counter (`total_token_usage`) and what the last call added
 *   (`last_token_usage`). A counter that did not move repeats an earlier line, or is an estimate after a compaction. Several
 *   counters can be interleaved: the line continues the counter to which the addition fits. The key is the counter's thread and its value.
 * - Forks and sub-agents repeat the lines of their parent with new times. These have the parent's key.
 * - Counts include each other: input includes cached input, and output includes reasoning.
 */
export const codexLog: LogReader<CodexState> = {
  needles: ["token_count", "token_usage_record", "session_meta", "turn_context"],
  start: ({ session }) => ({
    thread: session,
    origin: null,
    startedAt: null,
    session: null,
    parent: null,
    kind: null,
    version: null,
    provider: null,
    cwd: null,
    branch: null,
    commit: null,
    remote: null,
    model: null,
    turn: null,
    hasPlan: false,
    counters: [],
    unpaired: [],
    pending: null,
  }),
  read(state, item, line) {
    const members = membersOf(item);
    const payload = membersOf(members.payload);
    const at = readTime(members.timestamp);
    if (members.type === "session_meta") return noStep(readSessionMeta(state, payload, at));
    if (members.type === "turn_context")
      return noStep({
        ...state,
        model: readText(payload.model) ?? state.model,
        turn: readText(payload.turn_id) ?? state.turn,
        cwd: readText(payload.cwd) ?? state.cwd,
      });
    if (members.type === "token_usage_record") return readUsageRecord(state, payload, at, line);
    if (members.type === "event_msg" && payload.type === "token_count")
      return readTokenCount(state, payload, at, line);
    return noStep(state);
  },
  end: ({ pending }) => (pending === null ? [] : [pending.entry]),
};

function readSessionMeta(state: CodexState, payload: Members, at: Millis | null): CodexState {
  const id = readText(payload.id);
  const spawn = membersOf(membersOf(membersOf(payload.source).subagent).thread_spawn);
  const parent = firstText(payload.forked_from_id, payload.parent_thread_id, spawn.parent_thread_id);
  // The first is the file's own; those after it were repeated from its parents, the oldest last.
  if (state.startedAt !== null) return { ...state, origin: id ?? state.origin };
  const git = membersOf(payload.git);
  const thread = id ?? state.thread;
  return {
    ...state,
    thread,
    origin: parent ?? thread,
    startedAt: at ?? 0,
    session: readText(payload.session_id) ?? thread,
    parent,
    kind: firstText(payload.subagent_kind, spawn.agent_role, subagentName(payload.source)),
    version: readText(payload.cli_version),
    provider: readText(payload.model_provider),
    cwd: readText(payload.cwd),
    branch: readText(git.branch),
    commit: readText(git.commit_hash),
    remote: readText(git.repository_url),
  };
}

const subagentName = (source: unknown) => readText(membersOf(source).subagent);

function readUsageRecord(
  state: CodexState,
  payload: Members,
  at: Millis | null,
  line: number,
): LogStep<CodexState> {
  const counts = readCounts(payload.usage);
  const responseId = readText(payload.response_id);
  if (counts === null || responseId === null) return faultStep(state, "placeholder");
  if (at === null) return faultStep(state, "without_time");
  const entry = {
    ...createEntry(state, counts, at, line),
    key: responseId,
    responseId,
    turn: readText(payload.turn_id) ?? state.turn,
    session: readText(payload.session_id) ?? state.session,
  };
  // The counter may have been written before the record. Its key stays, since the entry may have been stored.
  if (
    state.pending !== null &&
    state.pending.entry.responseId === null &&
    isEqual(state.pending.counts, counts)
  )
    return faultStep(
      { ...state, pending: { entry: { ...entry, key: state.pending.entry.key }, counts } },
      "repeated",
    );
  const unpaired = [...state.unpaired, counts].slice(-MAX_REMEMBERED);
  return hold({ ...state, unpaired }, entry, counts, []);
}

function readTokenCount(
  before: CodexState,
  payload: Members,
  at: Millis | null,
  line: number,
): LogStep<CodexState> {
  const state = withPlan(before, payload.rate_limits);
  if (!isObject(payload.info)) return faultStep(state, "limits_only");
  const total = readCounts(payload.info.total_token_usage);
  const last = readCounts(payload.info.last_token_usage);
  if (total === null && last === null) return faultStep(state, "placeholder");
  if (at === null) return faultStep(state, "without_time");
  const moved = moveCounter(state, total, last, at);
  if (moved.added === null) return faultStep(state, moved.fault ?? "repeated_counter");
  const { added } = moved;
  const next = { ...state, counters: moved.counters };
  const pair = state.unpaired.findIndex((each) => isEqual(each, added));
  if (pair !== -1) return faultStep({ ...next, unpaired: state.unpaired.toSpliced(pair, 1) }, "repeated");
  const entry = { ...createEntry(state, added, at, line), key: moved.key };
  return hold(next, entry, added, moved.fault === null ? [] : [moved.fault]);
}

interface Moved {
  /** What the last call added; null if no call was made. */
  readonly added: Counts | null;
  readonly key: string;
  readonly counters: readonly Counter[];
  readonly fault: LogFault | null;
}

const ZERO: Counts = [0, 0, 0, 0, 0];

/** Finds the counter that a line continues, and what the call added to it. */
function moveCounter(state: CodexState, total: Counts | null, last: Counts | null, at: Millis): Moved {
  const { counters } = state;
  const none: Moved = { added: null, key: "", counters, fault: null };
  if (total === null) {
    const added = last as Counts;
    return isEqual(added, ZERO) ? none : { ...none, added, key: `${state.thread}/${at}/${added.join(",")}` };
  }
  if (isEqual(total, ZERO)) return none;
  if (counters.some((counter) => isEqual(counter.total, total)))
    return { ...none, fault: last !== null && isEstimate(last) ? "local_estimate" : null };
  const isFirst = last !== null && isEqual(last, total);
  const index = isFirst ? -1 : counters.findLastIndex((counter) => fits(counter.total, total, last));
  const known = counters[index];
  const isReplay = state.startedAt === null || at - state.startedAt < REPLAY_MS;
  const own = isFirst && !isReplay ? state.thread : (state.origin ?? state.thread);
  const thread = known?.thread ?? own;
  const rest = known === undefined ? counters : counters.toSpliced(index, 1);
  const added = last ?? subtract(total, known?.total ?? ZERO);
  return {
    added,
    key: `${thread}/${total.join(",")}`,
    counters: [...rest, { total, thread }].slice(-MAX_REMEMBERED),
    fault: known === undefined && !isFirst && counters.length > 0 ? "interleaved_counter" : null,
  };
}

/** Whether a counter with this value can have become the total: by exactly what the last call added, if that is stated. */
function fits(before: Counts, total: Counts, last: Counts | null): boolean {
  const difference = subtract(total, before);
  return last === null ? difference.every((count) => count >= 0) : isEqual(difference, last);
}

/** An estimate after a compaction has a total and no parts, so its counts are all zero. */
const isEstimate = (last: Counts) => isEqual(last, ZERO);

const isEqual = (one: Counts, other: Counts) => one.every((count, index) => count === other[index]);

const subtract = (one: Counts, other: Counts) =>
  one.map((count, index) => count - other[index]!) as unknown as Counts;

/** Reads the counts of a usage object. Null if it states neither input nor output. */
function readCounts(value: unknown): Counts | null {
  const usage = membersOf(value);
  const input = readCount(usage.input_tokens);
  const output = readCount(usage.output_tokens);
  if (input === null && output === null) return null;
  return [
    input ?? 0,
    readCount(usage.cached_input_tokens) ?? 0,
    readCount(usage.cache_write_input_tokens) ?? 0,
    output ?? 0,
    readCount(usage.reasoning_output_tokens) ?? 0,
  ];
}

/** Holds an entry back until the next line, and returns the one before. */
function hold(
  state: CodexState,
  entry: LogEntry,
  counts: Counts,
  faults: readonly LogFault[],
): LogStep<CodexState> {
  const ready = state.pending === null ? [] : [state.pending.entry];
  const found: LogFault[] = [...faults];
  if (entry.model === "codex-auto-review") found.push("hidden_model");
  if (!entry.tokensComplete) found.push("inconsistent");
  return entryStep({ ...state, pending: { entry, counts } }, ready, found);
}

/** Codex states the limits of a plan only to users of the plan. It does so after a call, which the plan covers too. */
function withPlan(state: CodexState, limits: unknown): CodexState {
  if (state.hasPlan || !isObject(membersOf(limits).primary)) return state;
  const { pending } = state;
  return {
    ...state,
    hasPlan: true,
    pending: pending === null ? null : { ...pending, entry: { ...pending.entry, ...PLAN } },
  };
}

const PLAN = { provider: "codex", billing: "plan" } as const;

function createEntry(state: CodexState, counts: Counts, at: Millis, line: number): LogEntry {
  const [input, cached, written, output, reasoning] = counts;
  const inputs = splitTotal(input, [cached, written]);
  const outputs = splitTotal(output, [reasoning]);
  return {
    ...NOT_STATED,
    agent: "codex",
    key: "",
    line,
    scope: "call",
    at,
    provider: state.provider ?? "openai",
    model: state.model ?? "unknown",
    tokens: {
      promptTokens: inputs.rest,
      cacheReadTokens: inputs.parts[0] as number,
      cacheWriteTokens: inputs.parts[1] as number,
      cacheWrite1hTokens: null,
      completionTokens: outputs.rest,
      thinkingTokens: outputs.parts[0] as number,
    },
    tokensComplete: inputs.consistent && outputs.consistent,
    ...(state.hasPlan && PLAN),
    session: state.session ?? state.thread,
    parentSession: state.parent,
    turn: state.turn,
    agentId: state.parent === null ? null : state.thread,
    agentKind: state.kind,
    clientVersion: state.version,
    cwd: state.cwd,
    branch: state.branch,
    commit: state.commit,
    remote: state.remote,
  };
}
