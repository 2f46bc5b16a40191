import type { TokenCounts } from "../../values/record.ts";
import type { Millis } from "../../values/time.ts";
import type { LogAgent, LogEntry } from "./log-entry.ts";

/** A record of a call that passed through the proxy. */
export interface WireCall {
  readonly requestId: string;
  /** When the response ended. */
  readonly completedAt: Millis;
  readonly model: string;
  readonly tokens: TokenCounts;
  readonly responseId: string | null;
  readonly session: string | null;
}

/** What an entry is matched by. */
export type MatchableEntry = Pick<
  LogEntry,
  "key" | "scope" | "at" | "model" | "tokens" | "responseId" | "session"
>;

/** How far apart the times of a line and its response may be if both name the same session. */
const SESSION_TOLERANCE_MS = 10_000;

/** How far apart they may be if only counts and model are the same. */
const TOLERANCE_MS = 5_000;

/** How long before or after its line a call may have ended. The search covers this time. */
export const MATCH_WINDOW_MS = 60 * 60_000;

/**
 * The names under which the proxy sees agents whose logs state sums of several calls: only what was before their first call
 * through the proxy is imported. An extension is seen as its editor. If no process is found, the name is that in `User-Agent`.
 */
export const CLIENTS_OF_SUMS: Readonly<Partial<Record<LogAgent, readonly string[]>>> = {
  copilot: ["copilot", "copilot-cli"],
  goose: ["goose", "goosed"],
  droid: ["droid", "factory-cli"],
  cline: [
    "cline",
    "Cline",
    "code",
    "Code",
    "codium",
    "cursor",
    "Cursor",
    "Code Helper (Plugin)",
    "Cursor Helper (Plugin)",
  ],
};

/**
 * Finds the call of each entry, by the strongest key there is: the id of the response, else the same session, model and counts at
 * nearly the same time, else the same without a session. No call is found twice; `taken` are those that were found before. Returns
 * the ids of calls by the keys of entries.
 */
export function matchEntries(
  entries: readonly MatchableEntry[],
  calls: readonly WireCall[],
  taken: ReadonlySet<string>,
): Map<string, string> {
  const found = new Map<string, string>();
  const free = calls.filter(({ requestId }) => !taken.has(requestId));
  const byResponse = Map.groupBy(free, ({ responseId }) => responseId);
  const byCounts = Map.groupBy(free, ({ tokens }) => vectorOf(tokens));
  const used = new Set<string>();
  const take = (entry: MatchableEntry, call: WireCall | undefined) => {
    if (call === undefined) return;
    used.add(call.requestId);
    found.set(entry.key, call.requestId);
  };
  for (const entry of entries) {
    if (entry.responseId === null) continue;
    take(
      entry,
      byResponse.get(entry.responseId)?.find(({ requestId }) => !used.has(requestId)),
    );
  }
  for (const entry of entries) {
    const vector = entry.scope === "call" && !found.has(entry.key) ? vectorOf(entry.tokens) : null;
    if (vector === null) continue;
    const similar = (byCounts.get(vector) ?? []).filter(
      (call) => !used.has(call.requestId) && isSimilar(entry, call),
    );
    take(entry, similar.sort((one, other) => distance(entry, one) - distance(entry, other))[0]);
  }
  return found;
}

const distance = (entry: MatchableEntry, call: WireCall) => Math.abs(entry.at - call.completedAt);

function isSimilar(entry: MatchableEntry, call: WireCall): boolean {
  if (entry.responseId !== null && call.responseId !== null) return false;
  if (!isSameModel(entry.model, call.model)) return false;
  const areNamed = entry.session !== null && call.session !== null;
  if (areNamed && entry.session !== call.session) return false;
  return distance(entry, call) <= (areNamed ? SESSION_TOLERANCE_MS : TOLERANCE_MS);
}

/** A name may have a prefix with its provider, or an ending with its date. */
function isSameModel(one: string, other: string): boolean {
  return one === "unknown" || other === "unknown" || one.includes(other) || other.includes(one);
}

/** The counts as a text. Not all logs separate thinking from other output. Null if the input is unknown or nothing was used. */
function vectorOf(tokens: TokenCounts): string | null {
  const { promptTokens, cacheReadTokens, cacheWriteTokens } = tokens;
  const output = (tokens.completionTokens ?? 0) + (tokens.thinkingTokens ?? 0);
  if (promptTokens === null || output === 0) return null;
  return [promptTokens, cacheReadTokens ?? 0, cacheWriteTokens ?? 0, output].join(",");
}
