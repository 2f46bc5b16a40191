import type { RequestRecord } from "../../core/record.ts";
import type { Millis } from "../../core/time.ts";
import type { UsageReport } from "../../core/usage/mod.ts";
import { uuidV7 } from "../../core/uuid.ts";
import type { CapturePorts } from "./ports.ts";
import type { ResponseMemory } from "./response-memory.ts";
import { type EndedCall, toRecord } from "./to-record.ts";
import { withoutSecrets } from "./without-secrets.ts";

/** A call that is over, before it is known which records it makes. */
export type UnrecordedCall = Omit<EndedCall, "requestId" | "requestedAt" | "report">;

/** What the records of a call go through. */
export interface Recording {
  ports: CapturePorts;
  memory: ResponseMemory;
}

const NO_RESULTS: readonly UsageReport[] = [];

/** Results that become records in one turn of the event loop: fewer than the store's queue holds, by far. */
const RESULTS_PER_TURN = 500;

/**
 * Makes the records of a call: one for the answer, unless its report says otherwise, and one for each result in it. A
 * response that has its record makes none, but fills that one in where its usage was incomplete. Resolves with the
 * answer's own new record.
 */
export async function recordCall(
  recording: Recording,
  call: UnrecordedCall,
  report: UsageReport | null,
): Promise<RequestRecord | null> {
  const { ports } = recording;
  const requestedAt = Math.trunc(ports.wallClockMs() - (ports.monotonicMs() - call.startedAtMs));
  const results = report?.results ?? NO_RESULTS;
  const makesNone = isNoAnswer(call, report);
  const made = makesNone ? null : recordOne(recording, call, requestedAt, report);
  let isNew = made !== null;
  for (let at = 0; at < results.length; at++) {
    if (at % RESULTS_PER_TURN === RESULTS_PER_TURN - 1) {
      await new Promise<void>((resolve) => ports.atTurnEnd(resolve));
    }
    const result = results[at] as UsageReport;
    if (recordOne(recording, call, requestedAt, result) !== null) isNew = true;
  }
  const known = !makesNone || results.length > 0;
  ports.coverage.count(call.host, isNew ? "metered" : known ? "repeated" : "free");
  return made;
}

/** Whether a call makes no record of its own, whatever results it carries. */
function isNoAnswer({ route, responseIsKept, end }: UnrecordedCall, report: UsageReport | null): boolean {
  // A fetch that got no answer fetched nothing.
  if (report === null) return route.fetches === true;
  if (report.noRecord !== "unfinished" || route.fetches === true) return report.noRecord !== undefined;
  // What runs in the background is recorded when it is fetched; a stream that is cut may be all there ever is of it.
  return responseIsKept && end === "complete" && report.error === null;
}

/** The record of one response, handed on; null for one that has its record. */
function recordOne(
  { ports, memory }: Recording,
  call: UnrecordedCall,
  requestedAt: Millis,
  report: UsageReport | null,
): RequestRecord | null {
  const responseId = report?.responseId ?? null;
  const tokensComplete = report?.tokensComplete ?? false;
  const known = responseId === null ? null : memory.find(responseId, call.route.fetches === true);
  if (known !== null && (known.tokensComplete || !tokensComplete)) return null;
  const requestId = known?.requestId ?? uuidV7(requestedAt, ports.randomBytes(10));
  const record = withoutSecrets(
    toRecord({ ...call, requestId, requestedAt, report }, ports.prices(), ports.sha256Hex),
    ports.bodies.redact,
  );
  if (responseId !== null) memory.add(responseId, requestId, tokensComplete);
  ports.records.add(record);
  if (!tokensComplete && record.errorClass === null) ports.coverage.count(call.host, "without_usage");
  return known === null ? record : null;
}
