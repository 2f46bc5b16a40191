import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import type { LogEntry } from "../../../core/metering/agent-logs/log-entry.ts";
import { logRecordId, toLogRecord } from "../../../core/metering/agent-logs/log-record.ts";
import {
  CLIENTS_OF_SUMS,
  MATCH_WINDOW_MS,
  type MatchableEntry,
  matchEntries,
} from "../../../core/metering/agent-logs/match-entries.ts";
import type { PriceBook } from "../../../core/pricing/price-book.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { LogMatch, LogStore } from "../../../daemon/store/port/logs.ts";
import type { StoredRequest } from "../../../daemon/store/port/records.ts";
import { type AgentSummary, addRecord } from "./import-summary.ts";

/** The dependencies of storing entries. */
export interface EntryPorts {
  readonly logs: LogStore;
  readonly prices: PriceBook;
  /** Returns the project of a folder. */
  findProject(cwd: string | null): Promise<{ readonly project: string; readonly tier: string }>;
  /** Removes secrets from the names of a record. */
  redact(record: RequestRecord): RequestRecord;
  now(): Millis;
  /** Whether nothing is stored. */
  readonly dryRun: boolean;
  /** Entries before the instant are left out. */
  readonly since: Millis | null;
}

/** Stores entries: those of calls that passed through the proxy as matches, the others as records. */
export interface EntryWriter {
  write(entries: readonly LogEntry[], logFile: string, summary: AgentSummary): Promise<void>;
  /** Matches records that were stored with calls that were stored since. Returns the number of records that these replace. */
  replaceByWire(): number;
}

/** Calls further apart than this are matched separately, so that few records of the proxy are held at once. */
const CLUSTER_GAP_MS = MATCH_WINDOW_MS;

/** How many records are read at once. */
const READ_BATCH = 1_000;

/** Creates a writer of entries. */
export function createEntryWriter(ports: EntryPorts): EntryWriter {
  const { logs } = ports;
  const firstWireAt = logs.firstWireCall(null);
  const prunedBefore = logs.prunedBefore();
  const firstOfSums = new Map(
    Object.entries(CLIENTS_OF_SUMS).map(([agent, clients]) => [
      agent,
      firstWireAt === null ? null : logs.firstWireCall(clients),
    ]),
  );
  /** In a dry run nothing is stored, so the ids are remembered. */
  const seen = new Set<string>();
  const isLeftApart = ({ agent, scope, at }: LogEntry) => {
    const first = scope === "call" ? null : (firstOfSums.get(agent) ?? null);
    return first !== null && at >= first;
  };
  return {
    async write(all, logFile, summary) {
      const { since } = ports;
      const kept = all.filter(({ at }) => prunedBefore === null || at >= prunedBefore);
      summary.pruned += all.length - kept.length;
      const wanted = kept.filter(({ at }) => since === null || at >= since);
      const apart = wanted.filter(isLeftApart);
      summary.overlapping += apart.length;
      const byId = new Map(
        wanted.filter((entry) => !isLeftApart(entry)).map((entry) => [logRecordId(entry, sha256), entry]),
      );
      for (const id of logs.matched([...byId.keys()])) {
        byId.delete(id);
        summary.known += 1;
      }
      const matches = firstWireAt === null ? [] : matchAll(logs, byId, firstWireAt);
      for (const { entryId } of matches) byId.delete(entryId);
      summary.onWire += matches.length;
      const records: RequestRecord[] = [];
      for (const entry of byId.values()) {
        const { project, tier } = await ports.findProject(entry.cwd);
        const facts = { project, attributionTier: tier, logFile, prices: ports.prices, sha256 };
        records.push(ports.redact(toLogRecord(entry, facts)));
      }
      saveRecords(ports, seen, records, matches, summary);
    },
    replaceByWire: () => (firstWireAt === null || ports.dryRun ? 0 : replaceByWire(ports, firstWireAt)),
  };
}

function saveRecords(
  { logs, dryRun, now }: EntryPorts,
  seen: Set<string>,
  records: readonly RequestRecord[],
  matches: readonly LogMatch[],
  summary: AgentSummary,
): void {
  const stored = logs.stored(records.map(({ requestId }) => requestId));
  const fresh = records.filter(({ requestId }) => !stored.has(requestId) && !seen.has(requestId));
  for (const record of fresh) addRecord(summary, record);
  if (dryRun) for (const { requestId } of fresh) seen.add(requestId);
  const grown = dryRun ? 0 : logs.save({ records, matches, position: null }, now()).grown;
  summary.grown += grown;
  summary.known += records.length - fresh.length - grown;
}

/** Matches entries with calls of the proxy, period by period. */
function matchAll(
  logs: Pick<LogStore, "freeWireCalls">,
  byId: ReadonlyMap<string, LogEntry>,
  firstWireAt: Millis,
): LogMatch[] {
  const candidates = [...byId]
    .filter(([, { at }]) => at >= firstWireAt - MATCH_WINDOW_MS)
    .sort(([, one], [, other]) => one.at - other.at)
    .map(([entryId, entry]) => ({ ...entry, key: entryId }));
  return matchSorted(logs, candidates).map(({ key, requestId }) => ({
    entryId: key,
    requestId,
    agent: (byId.get(key) as LogEntry).agent,
  }));
}

function matchSorted(
  logs: Pick<LogStore, "freeWireCalls">,
  sorted: readonly MatchableEntry[],
): { key: string; requestId: string }[] {
  const found: { key: string; requestId: string }[] = [];
  const taken = new Set<string>();
  for (let from = 0; from < sorted.length; ) {
    let to = from + 1;
    while (to < sorted.length && sorted[to]!.at - sorted[to - 1]!.at < CLUSTER_GAP_MS) to += 1;
    const [first, last] = [sorted[from]!.at, sorted[to - 1]!.at];
    const calls = logs.freeWireCalls(first - MATCH_WINDOW_MS, last + MATCH_WINDOW_MS);
    for (const [key, requestId] of matchEntries(sorted.slice(from, to), calls, taken)) {
      taken.add(requestId);
      found.push({ key, requestId });
    }
    from = to;
  }
  return found;
}

function replaceByWire({ logs, now }: EntryPorts, firstWireAt: Millis): number {
  let replaced = 0;
  let [at, seq] = [firstWireAt - MATCH_WINDOW_MS, 0];
  for (;;) {
    const batch = logs.readSince(at, seq, READ_BATCH);
    const last = batch.at(-1);
    if (last === undefined) return replaced;
    [at, seq] = [last.requestedAt, last.seq];
    const records = new Map(batch.map((record) => [record.requestId, record]));
    const matches = matchSorted(logs, batch.filter(isOfOneCall).map(toMatchable)).map(
      ({ key, requestId }) => ({
        entryId: key,
        requestId,
        agent: (records.get(key) as StoredRequest).client as string,
      }),
    );
    if (matches.length > 0) logs.save({ records: [], matches, position: null }, now());
    replaced += matches.length;
  }
}

const isOfOneCall = ({ client }: StoredRequest) => !Object.hasOwn(CLIENTS_OF_SUMS, client ?? "");

const toMatchable = (record: StoredRequest): MatchableEntry => ({
  key: record.requestId,
  scope: "call",
  at: record.requestedAt,
  model: record.model,
  tokens: record.tokens,
  responseId: record.providerResponseId,
  session: record.sessionId,
});
