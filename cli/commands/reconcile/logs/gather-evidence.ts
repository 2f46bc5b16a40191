import { findLogFiles } from "../../../../adapters/agent-logs/find-log-files.ts";
import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import {
  LOG_AGENTS,
  type LogAgent,
  type LogEntry,
  type LogFault,
  largerEntry,
} from "../../../../core/metering/agent-logs/log-entry.ts";
import { logRecordId, toLogRecord } from "../../../../core/metering/agent-logs/log-record.ts";
import { CLIENTS_OF_SUMS, MATCH_WINDOW_MS } from "../../../../core/metering/agent-logs/match-entries.ts";
import type {
  Evidence,
  LogEvidence,
  WireCallEvidence,
} from "../../../../core/metering/witnesses/evidence.ts";
import type { PriceBook } from "../../../../core/pricing/price-book.ts";
import type { Redact } from "../../../../core/privacy/redaction/redact.ts";
import type { Millis } from "../../../../core/values/time.ts";
import { createRecordRedaction, type RedactRecord } from "../../../../daemon/capture/redact-record.ts";
import type { StoredRequest } from "../../../../daemon/store/port/records.ts";
import type { Store } from "../../../../daemon/store/port/store.ts";
import { scratchFolder } from "../../../home/scratch-folder.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { findLogLocations } from "../../../records/offer-import.ts";
import { type ReadProblem, readAgentFile } from "../../../records/read-agent-file.ts";
import { readReportFiles } from "./read-report-files.ts";

/** The period to compare, and the rates with which entries of logs are priced. */
interface Selection extends Pick<Evidence, "dayOf"> {
  readonly store: Pick<Store, "records" | "logs" | "clientReports">;
  readonly from: Millis;
  readonly to: Millis;
  readonly prices: PriceBook;
  /** Removes secrets from what logs and reports state, as from the records that it is compared with. */
  readonly redact: Redact;
}

/** A log that could not be read. */
export interface LogProblem extends ReadProblem {
  readonly path: string;
}

/** How many records are read at once. */
const PAGE_ROWS = 1_000;

/**
 * Reads the evidence of each witness about a period: the stored records, the agents' logs, and the stored reports of
 * clients.
 */
export async function gatherEvidence(
  context: CommandContext,
  selection: Selection,
): Promise<{
  readonly evidence: Evidence;
  readonly problems: readonly LogProblem[];
  readonly prunedBefore: Millis | null;
}> {
  const { store, dayOf, to } = selection;
  const prunedBefore = store.logs.prunedBefore();
  // A call and its line may be on both sides of the beginning. What was pruned can't be compared.
  const from = Math.max(selection.from - MATCH_WINDOW_MS, prunedBefore ?? 0);
  const wire: WireCallEvidence[] = [];
  const imported: StoredRequest[] = [];
  for (const record of readRecords(store, from, to)) {
    if (record.recordSource === "logs") imported.push(record);
    else wire.push(toWireEvidence(record));
  }
  const read = await readLogs(context, from, to);
  const files = await readReportFiles(context.env, from, to, selection.redact);
  const received = store.clientReports.read({ from, to });
  const isReceived = new Set(received.map(({ key }) => key));
  const matches = new Map(
    store.logs.matchesOf(wire.map(({ requestId }) => requestId)).map((match) => [match.entryId, match]),
  );
  const log = new Map<string, LogEvidence>();
  for (const record of imported) log.set(record.requestId, importedEvidence(record));
  const byCall = new Map(wire.map((call) => [call.requestId, call]));
  for (const { entryId, requestId, agent } of matches.values()) {
    const call = byCall.get(requestId);
    const known = LOG_AGENTS.find((each) => each === agent);
    if (call !== undefined && known !== undefined) log.set(entryId, matchedEvidence(entryId, known, call));
  }
  const ports = { prices: selection.prices, redact: createRecordRedaction(selection.redact) };
  for (const [entryId, { entry, file }] of read.entries)
    log.set(entryId, toLogEvidence(entryId, entry, file, ports, matches.get(entryId)?.requestId ?? null));
  const evidence = {
    ...{ wire, dayOf, log: [...log.values()], faults: read.faults },
    client: [...received, ...files.reports.filter(({ key }) => !isReceived.has(key))],
    firstWireAt: store.logs.firstWireCall(null),
  };
  return { evidence, problems: [...read.problems, ...files.problems], prunedBefore };
}

function* readRecords({ records }: Selection["store"], from: Millis, to: Millis): Generator<StoredRequest> {
  for (let afterSeq = 0; ; ) {
    const page = records.read({ from, to, afterSeq, limit: PAGE_ROWS });
    const last = page.at(-1);
    if (last === undefined) return;
    yield* page;
    afterSeq = last.seq;
  }
}

/** What agents call themselves in `User-Agent`, which names the program if no process is found. */
const USER_AGENTS: readonly (readonly [name: string, agent: LogAgent])[] = [
  ["claude-cli", "claude"],
  ["claude-code", "claude"],
  ["codex_cli_rs", "codex"],
  ["codex_exec", "codex"],
  ["codex-tui", "codex"],
  ["GeminiCLI", "gemini"],
  ["QwenCode", "qwen"],
];

/** The agents by the names of their programs. */
const AGENTS: ReadonlyMap<string, LogAgent> = new Map([
  ...USER_AGENTS,
  ...LOG_AGENTS.map((agent): [string, LogAgent] => [agent, agent]),
  ...Object.entries(CLIENTS_OF_SUMS).flatMap(([agent, clients]) =>
    // An editor also makes the calls of other extensions.
    agent === "cline" ? [] : clients.map((client): [string, LogAgent] => [client, agent as LogAgent]),
  ),
]);

const toWireEvidence = (record: StoredRequest): WireCallEvidence => ({
  ...record,
  at: record.requestedAt + record.latencyMs,
  startedAt: record.requestedAt,
  session: record.sessionId,
  isSessionInferred: record.sessionSource === "inferred",
  responseId: record.providerResponseId,
  agent: AGENTS.get(record.client ?? "") ?? null,
});

/** An entry that was imported and whose log may be gone. */
const importedEvidence = (record: StoredRequest): LogEvidence => ({
  entryId: record.requestId,
  agent: LOG_AGENTS.find((each) => each === record.client) ?? "claude",
  scope: Object.hasOwn(CLIENTS_OF_SUMS, record.client ?? "") ? "session" : "call",
  at: record.requestedAt,
  session: record.sessionId,
  agentId: record.agentId,
  model: record.model,
  tokens: record.tokens,
  isComplete: record.tokensComplete,
  costPicoUsd: record.costPicoUsd,
  responseId: record.providerResponseId,
  providerRequestId: null,
  requestId: null,
});

/** An entry that an import matched with a call, and whose log may be gone. Its counts are unknown. */
const matchedEvidence = (entryId: string, agent: LogAgent, call: WireCallEvidence): LogEvidence => ({
  ...{ entryId, agent, scope: "call", at: call.at, session: call.session, model: call.model, tokens: null },
  ...{ agentId: call.agentId },
  ...{ isComplete: true, costPicoUsd: null, responseId: null, providerRequestId: null },
  requestId: call.requestId,
});

function toLogEvidence(
  entryId: string,
  entry: LogEntry,
  logFile: string,
  { prices, redact }: { readonly prices: PriceBook; readonly redact: RedactRecord },
  requestId: string | null,
): LogEvidence {
  const facts = { project: "", attributionTier: "", logFile, prices, sha256 };
  const record = redact(toLogRecord(entry, facts));
  const { sessionId, agentId, costPicoUsd, model, providerResponseId: responseId } = record;
  const { agent, scope, at, tokens, providerRequestId } = entry;
  return {
    ...{ entryId, agent, scope, at, model, tokens, responseId, providerRequestId, costPicoUsd, requestId },
    session: sessionId,
    agentId,
    isComplete: entry.tokensComplete,
  };
}

interface ReadLogs {
  readonly entries: Map<string, { readonly entry: LogEntry; readonly file: string }>;
  readonly faults: Map<string, Map<LogFault, number>>;
  readonly problems: LogProblem[];
}

/** Reads the logs that changed since the instant. A fault counts for the session of its file, if the file has only one. */
async function readLogs({ home, env }: CommandContext, from: Millis, to: Millis): Promise<ReadLogs> {
  const result: ReadLogs = { entries: new Map(), faults: new Map(), problems: [] };
  for (const file of await findLogFiles(findLogLocations(env))) {
    if (file.modifiedAt < from) continue;
    const faults = new Map<LogFault, number>();
    const sessions = new Set<string>();
    const read = await readAgentFile(file, null, scratchFolder(home), {
      onEntries: async (entries) => {
        for (const entry of entries) {
          if (entry.session !== null) sessions.add(entry.session);
          if (entry.at < from || entry.at >= to) continue;
          const id = logRecordId(entry, sha256);
          const known = result.entries.get(id)?.entry;
          result.entries.set(id, {
            entry: known === undefined ? entry : largerEntry(known, entry),
            file: file.path,
          });
        }
      },
      onFault: (fault) => void faults.set(fault, (faults.get(fault) ?? 0) + 1),
      onLines: () => {},
      onBytes: () => {},
    });
    if (!read.ok) result.problems.push({ path: file.path, ...read });
    const [session, ...others] = sessions;
    if (session === undefined || others.length > 0) continue;
    const before = result.faults.get(session) ?? new Map<LogFault, number>();
    for (const [fault, count] of faults) before.set(fault, (before.get(fault) ?? 0) + count);
    result.faults.set(session, before);
  }
  return result;
}
