import { isObject } from "../../../values/json-object.ts";
import { readPullRequestNumber } from "../../attribution/pull-request.ts";
import { readAnthropicCounts, readIterations } from "../../usage/readers/anthropic-usage.ts";
import { setExtra } from "../../usage/usage-extras.ts";
import {
  type LogEntry,
  type LogFault,
  type LogReader,
  type LogStep,
  largerEntry,
  NOT_STATED,
  totalTokens,
} from "../log-entry.ts";
import {
  entryStep,
  faultStep,
  firstText,
  type Members,
  membersOf,
  noStep,
  readId,
  readText,
  readTime,
} from "./members.ts";

/** The entry of the response whose lines are being read, and the entries of other models that it used. */
export interface ClaudeState {
  readonly session: string | null;
  readonly pending: readonly LogEntry[];
}

/**
 * Reads the transcripts of Claude Code (`projects/<folder>/<session>.jsonl`), a format that it declares internal.
 *
 * - One response is one line per content block. All have the id of the response, and the later ones may have larger counts. Some
 *   versions wrote counts from before the response ended.
 * - Resumed and branched sessions repeat lines in other files. Side chains repeat messages of their parent with another request
 *   id. So the id of the response (`msg_…`) alone is the key. An id of another form, from a gateway, counts within its session.
 * - `<synthetic>` messages were written by the agent.
 * - `usage.iterations` contains calls of other models (an advisor), which are entries of their own, as they are on the wire.
 * - `pr-link` lines name the pull request of the session. They are repeated.
 */
export const claudeLog: LogReader<ClaudeState> = {
  needles: ['"usage"', '"pr-link"'],
  start: ({ session }) => ({ session, pending: [] }),
  read(state, item, line) {
    const members = membersOf(item);
    if (members.type === "pr-link") return readLink(state, members);
    const message = membersOf(members.message);
    if (members.type !== "assistant" || !isObject(message.usage)) return noStep(state);
    if (message.model === "<synthetic>") return faultStep(state, "synthetic");
    const at = readTime(members.timestamp);
    if (at === null) return faultStep(state, "without_time");
    const found = readResponse(members, message, message.usage, { at, line, session: state.session });
    const key = found.entries[0]?.key;
    if (key === state.pending[0]?.key)
      return {
        state: { ...state, pending: mergeBlocks(state.pending, found.entries) },
        entries: [],
        faults: ["repeated"],
      };
    const entries = withCounts(state.pending);
    const placeholders = state.pending.length > 0 && entries.length === 0 ? (["placeholder"] as const) : [];
    return entryStep({ ...state, pending: found.entries }, entries, [...placeholders, ...found.faults]);
  },
  end: ({ pending }) => withCounts(pending),
};

function readLink(state: ClaudeState, members: Members): LogStep<ClaudeState> {
  const session = readText(members.sessionId) ?? state.session;
  const at = readTime(members.timestamp);
  const pullRequest = readPullRequestNumber(readId(members.prNumber));
  const step = noStep(state);
  return session === null || at === null || pullRequest === null
    ? step
    : { ...step, link: { session, at, pullRequest } };
}

const withCounts = (entries: readonly LogEntry[]) => entries.filter((entry) => totalTokens(entry) > 0);

function mergeBlocks(before: readonly LogEntry[], after: readonly LogEntry[]): LogEntry[] {
  const merged = new Map(before.map((entry) => [entry.key, entry]));
  for (const entry of after) {
    const known = merged.get(entry.key);
    merged.set(entry.key, known === undefined ? entry : largerEntry(known, entry));
  }
  return [...merged.values()];
}

function readResponse(
  members: Members,
  message: Members,
  usage: Members,
  place: { at: number; line: number; session: string | null },
): { entries: LogEntry[]; faults: LogFault[] } {
  const model = readText(message.model) ?? "unknown";
  const session = readText(members.sessionId) ?? place.session;
  const responseId = readText(message.id);
  const requestId = readText(members.requestId);
  const counted = readAnthropicCounts(usage);
  const iterations = readIterations(usage.iterations, model, counted.tokens);
  const extras: Record<string, number> = { ...iterations?.extras };
  setExtra(extras, "web_search_requests", membersOf(usage.server_tool_use).web_search_requests);
  const entry: LogEntry = {
    ...NOT_STATED,
    agent: "claude",
    key: keyOf(responseId, requestId, session, members),
    line: place.line,
    scope: "call",
    at: place.at,
    provider: providerOf(responseId, model),
    model,
    tokens: iterations?.tokens ?? counted.tokens,
    tokensComplete: counted.consistent && counted.tokens.completionTokens !== null,
    extras,
    serviceTier: readText(usage.service_tier),
    responseId,
    providerRequestId: requestId,
    session,
    agentId: readText(members.agentId),
    agentKind: firstText(members.agentType, members.isSidechain === true ? "sidechain" : null),
    clientVersion: readText(members.version),
    cwd: readText(members.cwd),
    branch: readText(members.gitBranch),
  };
  const others = (iterations?.others ?? []).map((other): LogEntry => {
    const id = responseId === null ? null : `${responseId}/${other.model}`;
    return {
      ...entry,
      key: `${entry.key}/${other.model}`,
      responseId: id,
      model: other.model,
      tokens: other.tokens,
      extras: other.extras,
    };
  });
  return { entries: [entry, ...others], faults: counted.consistent ? [] : ["inconsistent"] };
}

function keyOf(
  id: string | null,
  requestId: string | null,
  session: string | null,
  members: Members,
): string {
  if (id !== null && /^msg_[\w-]{4,}$/.test(id)) return id;
  const call = [id, requestId].filter((part) => part !== null).join("+");
  return `${session}/${call === "" ? (readText(members.uuid) ?? readId(members.timestamp)) : call}`;
}

/** Amazon's and Google's endpoints mark their ids (`msg_bdrk_…`, `msg_vrtx_…`). */
function providerOf(responseId: string | null, model: string): string {
  if (responseId?.startsWith("msg_bdrk_")) return "bedrock";
  if (responseId?.startsWith("msg_vrtx_")) return "vertex";
  if (responseId?.startsWith("gen-")) return "openrouter";
  return /claude|^(opus|sonnet|haiku)\b/.test(model) || responseId?.startsWith("msg_01")
    ? "anthropic"
    : "unknown";
}
