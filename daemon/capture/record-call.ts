import { isInterpreter, programOfUserAgent } from "../../core/metering/attribution/program-name.ts";
import type { UsageReport } from "../../core/metering/usage/usage-report.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import { uuidV7 } from "../../core/values/uuid.ts";
import { ATTRIBUTION_DUE_MS } from "../store/port/delivery.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { CallAttribution, CapturePorts, ConnectionAttribution } from "./ports.ts";
import { redactRecord } from "./redact-record.ts";
import type { SeenResponses } from "./seen-responses.ts";
import { type EndedCall, toRecord } from "./to-record.ts";

/** A call that has ended, and whose records are not created yet. */
export type UnrecordedCall = Omit<
  EndedCall,
  "requestId" | "requestedAt" | "report" | "attribution" | "attributionDueAt"
>;

/** The result of recording a call. */
export interface RecordedCall {
  /** The new record of the response itself. Null if there is none. */
  readonly record: RequestRecord | null;
  readonly attribution: CallAttribution;
}

/** The shared state for recording calls. */
export interface Recording {
  ports: CapturePorts;
  /** The memory for the bodies of all calls. */
  bodyBudget: ByteBudget;
  /** The memory for incomplete messages of all responses. */
  messageBudget: ByteBudget;
  seenResponses: SeenResponses;
  /** Takes work that continues after a call of this host has ended. */
  continueWith(host: string, work: Promise<unknown>): void;
}

/** A call with the attribution of its records. */
interface AttributedCall extends UnrecordedCall, Pick<EndedCall, "attribution" | "attributionDueAt"> {
  /** Collects the new records if their attribution is provisional. Null if it is final. */
  readonly unattributed: RequestRecord[] | null;
}

/**
 * Creates the records of a call at once, so that a crash does not lose them. If the caller is still being looked up, the
 * records get a provisional attribution, and the final one later. `attributed` resolves with the response's own record and
 * its final attribution. Pass it to `continueWith`.
 */
export async function recordCall(
  recording: Recording,
  call: UnrecordedCall,
  report: UsageReport | null,
  source: { readonly from: ConnectionAttribution; readonly headerProject: string | null },
): Promise<{ readonly attributed: Promise<RecordedCall> }> {
  const { ports } = recording;
  const known = source.from.provisional?.(source.headerProject) ?? null;
  const provisional = known === null ? null : withProgram(known, call.userAgent);
  const finalAttribution = source.from.attribute(source.headerProject).then((attribution) => {
    if (attribution.isCallerMissing) ports.coverage.count(call.host, "caller_not_found");
    return withProgram(attribution, call.userAgent);
  });
  if (provisional === null) {
    const attribution = await finalAttribution;
    const attributed = { ...call, attribution, attributionDueAt: null, unattributed: null };
    const record = await createRecords(recording, attributed, report);
    return { attributed: Promise.resolve({ record, attribution }) };
  }
  const attributionDueAt = ports.wallClockMs() + ATTRIBUTION_DUE_MS;
  const unattributed: RequestRecord[] = [];
  const early = { ...call, attribution: provisional, attributionDueAt, unattributed };
  const record = await createRecords(recording, early, report);
  const attributed = finalAttribution.then((attribution) => {
    ports.records.attribute(unattributed.map((each) => withAttribution(each, attribution)));
    return { record, attribution };
  });
  return { attributed };
}

/** Names the program after the request's `User-Agent` if its process is unknown or only its interpreter is known. */
function withProgram(attribution: CallAttribution, userAgent: string | null): CallAttribution {
  const { client } = attribution;
  if (client !== null && !isInterpreter(client)) return attribution;
  return { ...attribution, client: programOfUserAgent(userAgent) ?? client };
}

function withAttribution(
  { attributionDueAt: _, ...record }: RequestRecord,
  { project, tier, workdir, client }: CallAttribution,
): RequestRecord {
  return { ...record, project, attributionTier: tier, sourceWorkdir: workdir, client };
}

const NO_RESULTS: readonly UsageReport[] = [];

/** How many results become records in one turn of the event loop. The store's queue holds far more. */
const RESULTS_PER_TURN = 500;

/**
 * Creates the records of a call: one for the response, unless its report excludes that, and one for each result in it. A
 * response that already has a record gets no second one, but completes its incomplete usage. Resolves with the response's
 * own new record.
 */
async function createRecords(
  recording: Recording,
  call: AttributedCall,
  report: UsageReport | null,
): Promise<RequestRecord | null> {
  const { ports } = recording;
  const requestedAt = Math.trunc(ports.wallClockMs() - (ports.monotonicMs() - call.startedAtMs));
  const results = report?.results ?? NO_RESULTS;
  const hasNoRecord = hasNoOwnRecord(call, report);
  const ownRecord = hasNoRecord ? null : addRecord(recording, call, requestedAt, report);
  let isNew = ownRecord !== null;
  for (let at = 0; at < results.length; at++) {
    if (at % RESULTS_PER_TURN === RESULTS_PER_TURN - 1) {
      await new Promise<void>((resolve) => ports.atTurnEnd(resolve));
    }
    const result = results[at] as UsageReport;
    if (addRecord(recording, call, requestedAt, result) !== null) isNew = true;
  }
  // A failed fetch repeats nothing.
  const repeats = report?.noRecord === "not_new" && (call.response?.head.status ?? 0) < 400;
  const known = !hasNoRecord || results.length > 0 || repeats;
  ports.coverage.count(call.host, isNew ? "metered" : known ? "repeated" : "free");
  return ownRecord;
}

/** Whether the response itself makes no record. Its results may still make records. */
function hasNoOwnRecord(
  { route, isResponseRefetchable, end }: UnrecordedCall,
  report: UsageReport | null,
): boolean {
  // A fetch without a response fetched nothing.
  if (report === null) return route.fetches === true;
  if (report.noRecord !== "unfinished" || route.fetches === true) return report.noRecord !== undefined;
  // A background response is recorded when it is fetched. But a stream that was cut off may never be fetched again.
  return isResponseRefetchable && end === "complete" && report.error === null;
}

/** Creates and stores the record of one response. Returns null if the response already has a record. */
function addRecord(
  { ports, seenResponses }: Recording,
  call: AttributedCall,
  requestedAt: Millis,
  report: UsageReport | null,
): RequestRecord | null {
  const responseId = report?.responseId ?? null;
  const tokensComplete = report?.tokensComplete ?? false;
  const known = responseId === null ? null : seenResponses.find(responseId, call.route.fetches === true);
  if (known !== null && (known.tokensComplete || !tokensComplete)) return null;
  const requestId = known?.requestId ?? uuidV7(requestedAt, ports.randomBytes(10));
  // Completing an existing record does not change its attribution.
  const attributionDueAt = known === null ? call.attributionDueAt : null;
  const record = redactRecord(
    toRecord({ ...call, requestId, requestedAt, report, attributionDueAt }, ports.prices(), ports.sha256Hex),
    ports.bodies.redact,
  );
  if (responseId !== null) seenResponses.add(responseId, requestId, tokensComplete);
  ports.records.add(record);
  if (known === null) call.unattributed?.push(record);
  if (!tokensComplete && record.errorClass === null) ports.coverage.count(call.host, "without_usage");
  return known === null ? record : null;
}
