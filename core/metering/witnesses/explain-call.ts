import type { LogFault } from "../agent-logs/log-entry.ts";
import { CLIENTS_OF_SUMS } from "../agent-logs/match-entries.ts";
import { REPORTING_CLIENTS } from "../client-reports/client-report.ts";
import {
  agree,
  comparable,
  type DifferenceReason,
  type Evidence,
  type JoinedCall,
  type WireCallEvidence,
  type Witness,
} from "./evidence.ts";

/** What is different about one call. */
export interface CallDifference {
  /** The witness that did not see the call, or saw other counts than the others. */
  readonly witness: Witness;
  readonly kind: "missing" | "differs";
  readonly reason: DifferenceReason;
}

/**
 * How long after a failed call another call of its session and model counts as a retry of it. Claude Code waits up to minutes.
 */
const RETRY_WINDOW_MS = 10 * 60_000;

/** How close to a call another one must have been metered to show that the proxy was running. */
const METERING_WINDOW_MS = 30 * 60_000;

/** Faults by which a log loses a call, or states less than was used. */
const LOSING_FAULTS: readonly LogFault[] = ["placeholder", "without_time", "unreadable", "too_long"];

/** Parts of Claude Code that write no line of usage: what its main loop, its sub-agents and compactions do is logged. */
const isHelper = (querySource: string | null): boolean =>
  querySource !== null && !/^(?:main|repl|sdk|compact)|agent/.test(querySource);

/** What is known about a session over the whole period. */
interface SessionFacts {
  hasWire: boolean;
  hasLog: boolean;
  firstReportAt: number | null;
  lastReportAt: number | null;
  /** How many calls the faults of its logs can explain. */
  faultsLeft: number;
}

/** Explains the differences of each call. A reason is given only if a fact shows it. */
export function createExplainer(
  { faults, firstWireAt, log, client }: Evidence,
  calls: readonly JoinedCall[],
): (call: JoinedCall) => CallDifference[] {
  const sessions = gatherFacts(calls, faults);
  const wireTimes = calls
    .flatMap(({ wire }) => (wire === null ? [] : [wire.startedAt]))
    .sort((a, b) => a - b);
  const succeeded = Map.groupBy(
    calls.flatMap(({ wire }) => (wire === null || wire.errorClass !== null ? [] : [wire])),
    retryKey,
  );
  const reporting = new Set(client.map((report) => report.client));
  const summedLogs = new Set(log.flatMap(({ scope, session }) => (scope === "call" ? [] : [session])));
  const summedReports = new Set(
    client.flatMap(({ scope, session }) => (scope === "request" ? [] : [session])),
  );
  const failureOf = (wire: WireCallEvidence | null): DifferenceReason | null => {
    if (wire === null || wire.errorClass === null) return null;
    if (isAborted(wire)) return "aborted";
    const repeats = succeeded.get(retryKey(wire)) ?? [];
    const isRepeated = repeats.some(
      ({ startedAt }) => startedAt >= wire.startedAt && startedAt - wire.at <= RETRY_WINDOW_MS,
    );
    return isRepeated ? "retry" : "failed";
  };
  return (call) => {
    const facts = sessions.get(call.session) as SessionFacts;
    const missing = (witness: Witness, reason: DifferenceReason): CallDifference[] => [
      { witness, kind: "missing", reason },
    ];
    const found: CallDifference[] = [];
    if (call.wire === null) found.push(...missing("wire", whyNotOnWire(call, facts, firstWireAt, wireTimes)));
    const isLogging = call.agent !== null && !Object.hasOwn(CLIENTS_OF_SUMS, call.agent);
    if (call.log === null && (facts.hasLog || (isLogging && !summedLogs.has(call.session))))
      found.push(...missing("log", failureOf(call.wire) ?? whyNotInLog(call, facts)));
    const isReporting = REPORTING_CLIENTS.some((each) => each === call.agent && reporting.has(each));
    const isExpected = facts.firstReportAt !== null || (isReporting && !summedReports.has(call.session));
    if (call.client === null && isExpected)
      found.push(...missing("client", failureOf(call.wire) ?? whyNotReported(call, facts)));
    return [...found, ...compareCounts(call, facts)];
  };
}

/** An error names no model, so the requested one tells which calls are alike. */
const retryKey = ({ session, model, requestedModel }: WireCallEvidence) =>
  JSON.stringify([session, requestedModel ?? model]);

/**
 * Whether the client closed the connection while it received a response: no other network failure after a status can't be
 * retried. Source: docs/specification.md#error-classification.
 */
const isAborted = ({ errorClass, retryable, httpStatus }: WireCallEvidence) =>
  errorClass === "network" && retryable === false && httpStatus !== null;

function gatherFacts(
  calls: readonly JoinedCall[],
  faults: Evidence["faults"],
): ReadonlyMap<string | null, SessionFacts> {
  const sessions = new Map<string | null, SessionFacts>();
  for (const { session, wire, log, client } of calls) {
    const counted = faults.get(session ?? "");
    const faultsLeft = LOSING_FAULTS.reduce((sum, fault) => sum + (counted?.get(fault) ?? 0), 0);
    const facts = sessions.get(session) ?? {
      ...{ hasWire: false, hasLog: false, firstReportAt: null, lastReportAt: null, faultsLeft },
    };
    sessions.set(session, facts);
    facts.hasWire ||= wire !== null;
    facts.hasLog ||= log !== null;
    if (client === null) continue;
    facts.firstReportAt = Math.min(facts.firstReportAt ?? client.at, client.at);
    facts.lastReportAt = Math.max(facts.lastReportAt ?? client.at, client.at);
  }
  return sessions;
}

function whyNotOnWire(
  { at }: JoinedCall,
  { hasWire }: SessionFacts,
  firstWireAt: number | null,
  wireTimes: readonly number[],
): DifferenceReason {
  if (firstWireAt === null || at < firstWireAt) return "before_install";
  const isMetering = wireTimes.some((time) => Math.abs(time - at) <= METERING_WINDOW_MS);
  return !hasWire && isMetering ? "bypass" : "unknown";
}

function whyNotInLog({ wire, client }: JoinedCall, facts: SessionFacts): DifferenceReason {
  if (isHelper(client?.querySource ?? null)) return "helper_call";
  if (wire !== null && wire.requestKind !== "chat") return "helper_call";
  if (!facts.hasLog) return "no_log";
  return takeFault(facts) ? "log_fault" : "unknown";
}

/** Exporters lose the requests before they are switched on and after their last export. */
function whyNotReported({ at, wire }: JoinedCall, facts: SessionFacts): DifferenceReason {
  const { firstReportAt, lastReportAt } = facts;
  if (firstReportAt === null || lastReportAt === null) return "not_exported";
  const endedAt = wire?.at ?? at;
  return endedAt < firstReportAt || endedAt > lastReportAt ? "not_exported" : "unknown";
}

/** Compares counts with those of the wire, or of the log if the call is not on the wire. */
function compareCounts({ wire, log, client }: JoinedCall, facts: SessionFacts): CallDifference[] {
  const base = comparable(wire?.tokens ?? log?.tokens);
  const logDiffers = wire !== null && log !== null && !agree(base, comparable(log.tokens));
  const clientDiffers =
    client !== null && (wire !== null || log !== null) && !agree(base, comparable(client.tokens));
  // The counts of an aborted call end with the abort. That explains the differences of both other witnesses.
  if (wire !== null && isAborted(wire))
    return logDiffers || clientDiffers ? [{ witness: "wire", kind: "differs", reason: "aborted" }] : [];
  const found: CallDifference[] = [];
  if (logDiffers)
    found.push({
      ...{ witness: "log", kind: "differs" },
      reason: !log.isComplete || takeFault(facts) ? "log_fault" : "unknown",
    });
  if (clientDiffers) found.push({ witness: "client", kind: "differs", reason: "unknown" });
  return found;
}

/** Uses up one of the faults of the session's logs, and returns whether one was left. Each fault explains one difference. */
function takeFault(facts: SessionFacts): boolean {
  if (facts.faultsLeft === 0) return false;
  facts.faultsLeft -= 1;
  return true;
}
