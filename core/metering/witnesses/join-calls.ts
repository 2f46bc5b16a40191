import type { Millis } from "../../values/time.ts";
import { type MatchableEntry, matchEntries, type WireCall } from "../agent-logs/match-entries.ts";
import type { ClientReport } from "../client-reports/client-report.ts";
import { NO_TOKENS } from "../usage/token-counts.ts";
import type { Evidence, JoinedCall, LogEvidence, WireCallEvidence } from "./evidence.ts";

/** Returns the reports with the session of the user: a sub-agent of Codex reports its own thread, which the others know as its agent. */
export function nameRootSessions({
  wire,
  log,
  client,
}: Pick<Evidence, "wire" | "log" | "client">): ClientReport[] {
  const roots = new Map<string | null, string>();
  for (const { agentId, session } of [...wire, ...log])
    if (agentId !== null && session !== null) roots.set(agentId, session);
  return client.map((report) => ({ ...report, session: roots.get(report.session) ?? report.session }));
}

/** Parts of one call while they are joined. */
interface OpenCall {
  wire: WireCallEvidence | null;
  log: LogEvidence | null;
  client: ClientReport | null;
}

const NOT_TAKEN: ReadonlySet<string> = new Set();

/**
 * Joins what the witnesses say about single calls: by the ids of requests and responses, and by what an import matched, else by
 * session, model, exactly the same counts and nearly the same time. Nothing is joined twice. Sums of several calls are left out.
 */
export function joinCalls({ wire, log, client }: Pick<Evidence, "wire" | "log" | "client">): JoinedCall[] {
  const calls: OpenCall[] = wire.map((each) => ({ wire: each, log: null, client: null }));
  const byWireId = new Map(calls.map((call) => [(call.wire as WireCallEvidence).requestId, call]));
  addLogs(
    log.filter(({ scope }) => scope === "call"),
    calls,
    byWireId,
  );
  addReports(
    client.filter(({ scope }) => scope === "request"),
    calls,
    byWireId,
  );
  return nameSessions(calls);
}

function addLogs(
  log: readonly LogEvidence[],
  calls: OpenCall[],
  byWireId: ReadonlyMap<string, OpenCall>,
): void {
  const left: LogEvidence[] = [];
  for (const entry of log) {
    const call = entry.requestId === null ? undefined : byWireId.get(entry.requestId);
    if (call?.log === null) call.log = entry;
    else left.push(entry);
  }
  const free = calls.flatMap(({ wire, log: seen }) =>
    wire === null || seen !== null ? [] : [toWireCall(wire)],
  );
  const found = matchEntries(left.map(toMatchable), free, NOT_TAKEN);
  for (const entry of left) {
    const call = byWireId.get(found.get(entry.entryId) ?? "");
    if (call === undefined) calls.push({ wire: null, log: entry, client: null });
    else call.log = entry;
  }
}

function addReports(
  reports: readonly ClientReport[],
  calls: OpenCall[],
  byWireId: ReadonlyMap<string, OpenCall>,
): void {
  const byProviderId = new Map<string, OpenCall>();
  for (const call of calls) {
    const id = call.log?.providerRequestId ?? null;
    if (id !== null) byProviderId.set(id, call);
  }
  const take = (report: ClientReport, call: OpenCall | undefined): boolean => {
    if (call === undefined || call.client !== null) return false;
    call.client = report;
    return true;
  };
  let left = reports.filter((report) => !take(report, byProviderId.get(report.providerRequestId ?? "")));
  const matchWith = (free: readonly WireCall[], find: (id: string) => OpenCall | undefined) => {
    const found = matchEntries(left.map(reportToMatchable), free, NOT_TAKEN);
    left = left.filter((report) => !take(report, find(found.get(report.key) ?? "")));
  };
  matchWith(
    calls.flatMap(({ wire, client }) => (wire === null || client !== null ? [] : [toWireCall(wire)])),
    (id) => byWireId.get(id),
  );
  const logOnly = new Map(
    calls.flatMap((call) =>
      call.wire !== null || call.client !== null || call.log === null ? [] : [[call.log.entryId, call]],
    ),
  );
  matchWith(
    [...logOnly.values()].map(({ log }) => logToWireCall(log as LogEvidence)),
    (id) => logOnly.get(id),
  );
  for (const report of left) calls.push({ wire: null, log: null, client: report });
}

/** A session that the meter inferred has the name that another witness states for one of its calls. */
function nameSessions(calls: readonly OpenCall[]): JoinedCall[] {
  const stated = new Map<string, string>();
  for (const { wire, log, client } of calls) {
    const name = log?.session ?? client?.session ?? null;
    if (wire?.isSessionInferred === true && wire.session !== null && name !== null)
      stated.set(wire.session, name);
  }
  return calls.map(({ wire, log, client }) => {
    const own = wire?.session ?? null;
    return {
      ...{ wire, log, client },
      session: own === null ? (log?.session ?? client?.session ?? null) : (stated.get(own) ?? own),
      agent: log?.agent ?? client?.client ?? wire?.agent ?? null,
      at: (wire?.startedAt ?? log?.at ?? client?.at) as Millis,
    };
  });
}

const toWireCall = (wire: WireCallEvidence): WireCall => ({
  requestId: wire.requestId,
  completedAt: wire.at,
  model: wire.model,
  tokens: wire.tokens,
  responseId: wire.responseId,
  session: wire.isSessionInferred ? null : wire.session,
});

const logToWireCall = (log: LogEvidence): WireCall => ({
  requestId: log.entryId,
  completedAt: log.at,
  model: log.model,
  tokens: log.tokens ?? NO_TOKENS,
  responseId: log.responseId,
  session: log.session,
});

const toMatchable = (log: LogEvidence): MatchableEntry => ({
  ...log,
  key: log.entryId,
  tokens: log.tokens ?? NO_TOKENS,
});

const reportToMatchable = (report: ClientReport): MatchableEntry => ({ ...report, scope: "call" });
