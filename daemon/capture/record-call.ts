import type { GitState } from "../../core/metering/attribution/git-state.ts";
import { nameClient } from "../../core/metering/attribution/program-name.ts";
import type { SessionTracker } from "../../core/metering/sessions/session-tracker.ts";
import type { UsageReport } from "../../core/metering/usage/usage-report.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import { uuidV7 } from "../../core/values/uuid.ts";
import { ATTRIBUTION_DUE_MS } from "../store/port/attribution-due.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { CallAttribution, CapturePorts, ConnectionAttribution } from "./ports.ts";
import type { RedactRecord } from "./redact-record.ts";
import type { SeenResponses } from "./seen-responses.ts";
import { type EndedCall, gitFields, type NewRecord, toRecord } from "./to-record.ts";

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
  redactRecord: RedactRecord;
  sessions: SessionTracker;
  /** Takes work that continues after a call of this host has ended. */
  continueWith(host: string, work: Promise<unknown>): void;
}

/** Where a call comes from. */
export interface CallSource {
  readonly from: ConnectionAttribution;
  readonly headerProject: string | null;
  /** The state of the caller's working tree, as `ConnectionAttribution.git()` returns it. */
  readonly git: GitState | null | Promise<GitState | null>;
}

/** The attribution of the records of one call. */
interface RecordAttribution extends Pick<NewRecord, "attribution" | "attributionDueAt"> {
  /** Collects the new records if their attribution is provisional. Null if it is final. */
  readonly unattributed: RequestRecord[] | null;
}

/** Receives the outcome of recording a call: one of its functions is called, once. */
interface RecordingSink {
  /** The records are stored. A promise while the call's attribution is provisional: pass it to `continueWith`. */
  recorded(result: RecordedCall | Promise<RecordedCall>): void;
  failed(cause: unknown): void;
}

/**
 * Creates the records of a call at once, so that a crash does not lose them. If the caller is still being looked up, the
 * records get a provisional attribution, and the final one later; without a provisional one, they are created when the caller
 * is known. Nearly all calls are recorded before this returns, so that their memory is garbage before the next call.
 */
export function recordCall(
  recording: Recording,
  call: EndedCall,
  report: UsageReport | null,
  source: CallSource,
  sink: RecordingSink,
): void {
  const { from, headerProject, git } = source;
  const known = git instanceof Promise ? null : (from.known?.(headerProject) ?? null);
  let result: ReturnType<typeof recordAttributed | typeof recordUnattributed>;
  try {
    result =
      known === null
        ? recordUnattributed(recording, call, report, source)
        : recordAttributed(
            recording,
            call,
            report,
            finishAttribution(recording, call, known, git as GitState | null),
          );
  } catch (cause) {
    return sink.failed(cause);
  }
  if (!(result instanceof Promise)) return sink.recorded(result);
  result.then(
    (recorded) => sink.recorded("attributed" in recorded ? recorded.attributed : recorded),
    (cause) => sink.failed(cause),
  );
}

/** Creates the records of a call whose caller is being looked up. */
async function recordUnattributed(
  recording: Recording,
  call: EndedCall,
  report: UsageReport | null,
  { from, headerProject, git }: CallSource,
): Promise<RecordedCall | { readonly attributed: Promise<RecordedCall> }> {
  const { ports } = recording;
  const provisional = from.provisional?.(headerProject) ?? null;
  const finalAttribution = from
    .attribute(headerProject)
    .then(async (attribution) => finishAttribution(recording, call, attribution, await git));
  if (provisional === null) return await recordAttributed(recording, call, report, await finalAttribution);
  const unattributed: RequestRecord[] = [];
  const record = await createRecords(recording, call, report, {
    attribution: withProgram(provisional, call),
    attributionDueAt: ports.wallClockMs() + ATTRIBUTION_DUE_MS,
    unattributed,
  });
  const attributed = finalAttribution.then((attribution) => {
    const records = unattributed.map((each) => withAttribution(each, attribution));
    for (const each of records) addSession(recording, each, attribution);
    ports.records.attribute(records);
    return { record, attribution };
  });
  return { attributed };
}

/** Creates the records of a call whose caller is known. */
function recordAttributed(
  recording: Recording,
  call: EndedCall,
  report: UsageReport | null,
  attribution: CallAttribution,
): RecordedCall | Promise<RecordedCall> {
  const by = { attribution, attributionDueAt: null, unattributed: null };
  const record = createRecords(recording, call, report, by);
  return record instanceof Promise
    ? record.then((own) => ({ record: own, attribution }))
    : { record, attribution };
}

/** Counts a caller that was not found, and adds the program and the working tree. */
function finishAttribution(
  { ports }: Recording,
  call: EndedCall,
  attribution: CallAttribution,
  git: GitState | null,
): CallAttribution {
  if (attribution.isCallerMissing) ports.coverage.count(call.host, "caller_not_found");
  return { ...withProgram(attribution, call), git };
}

/** Names the program after the request's `User-Agent` if its process is unknown or only its interpreter is known. */
const withProgram = (attribution: CallAttribution, { userAgent }: EndedCall): CallAttribution => ({
  ...attribution,
  client: nameClient(attribution.client, userAgent),
});

function withAttribution(
  { attributionDueAt: _, ...record }: RequestRecord,
  attribution: CallAttribution,
): RequestRecord {
  const { project, tier, workdir, client } = attribution;
  const attributed = { project, attributionTier: tier, sourceWorkdir: workdir, client };
  return { ...record, ...attributed, ...gitFields(attribution) };
}

/** Adds the session of the calling process to a record that states none. */
function addSession({ sessions }: Recording, record: RequestRecord, { processId }: CallAttribution): void {
  if (record.sessionId !== null || processId === undefined) return;
  const { requestId, requestedAt, latencyMs } = record;
  const endedAt = requestedAt + latencyMs;
  const process = String(processId);
  record.sessionId = sessions.infer({ process, requestId, startedAt: requestedAt, endedAt });
  record.sessionSource = "inferred";
}

const NO_RESULTS: readonly UsageReport[] = [];

/** How many results become records in one turn of the event loop. The store's queue holds far more. */
const RESULTS_PER_TURN = 500;

/**
 * Creates the records of a call: one for the response, unless its report excludes that, and one for each result in it. A
 * response that already has a record gets no second one, but completes its incomplete usage. Returns the response's own new
 * record; a promise of it if there are many results.
 */
function createRecords(
  recording: Recording,
  call: EndedCall,
  report: UsageReport | null,
  by: RecordAttribution,
): RequestRecord | null | Promise<RequestRecord | null> {
  const { ports } = recording;
  const requestedAt = Math.trunc(ports.wallClockMs() - (ports.monotonicMs() - call.startedAtMs));
  const results = report?.results ?? NO_RESULTS;
  const hasNoRecord = hasNoOwnRecord(call, report);
  const ownRecord = hasNoRecord ? null : addRecord(recording, call, by, requestedAt, report);
  const addResult = (result: UsageReport) => addRecord(recording, call, by, requestedAt, result) !== null;
  const finish = (hasNewResult: boolean) => {
    const isNew = ownRecord !== null || hasNewResult;
    // A failed fetch repeats nothing.
    const repeats = report?.noRecord === "not_new" && (call.response?.head.status ?? 0) < 400;
    const known = !hasNoRecord || results.length > 0 || repeats;
    const isBlocked = call.blockedBy != null;
    if (!isUnread(call, report))
      ports.coverage.count(
        call.host,
        isBlocked ? "blocked" : isNew ? "metered" : known ? "repeated" : "free",
      );
    return ownRecord;
  };
  if (results.length === 0) return finish(false);
  return addResults(ports, results, addResult).then(finish);
}

/** Adds the records of a response's results over several turns of the event loop. Resolves with whether any is new. */
async function addResults(
  ports: CapturePorts,
  results: readonly UsageReport[],
  addResult: (result: UsageReport) => boolean,
): Promise<boolean> {
  let isAnyNew = false;
  for (let at = 0; at < results.length; at++) {
    if (at % RESULTS_PER_TURN === RESULTS_PER_TURN - 1) {
      await new Promise<void>((resolve) => ports.atTurnEnd(resolve));
    }
    if (addResult(results[at] as UsageReport)) isAnyNew = true;
  }
  return isAnyNew;
}

/** Whether the response could not be read to its end. Such calls count with their connection: as `unreadable` or `lost`. */
const isUnread = ({ end }: EndedCall, report: UsageReport | null) =>
  end === "unreadable" && report?.tokensComplete !== true;

/** Whether the response itself makes no record. Its results may still make records. */
function hasNoOwnRecord(
  { route, isResponseRefetchable, end }: EndedCall,
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
  recording: Recording,
  call: EndedCall,
  { attribution, attributionDueAt, unattributed }: RecordAttribution,
  requestedAt: Millis,
  report: UsageReport | null,
): RequestRecord | null {
  const { ports, seenResponses, redactRecord } = recording;
  const responseId = report?.responseId ?? null;
  const tokensComplete = report?.tokensComplete ?? false;
  const known = responseId === null ? null : seenResponses.find(responseId, call.route.fetches === true);
  if (known !== null && (known.tokensComplete || !tokensComplete)) return null;
  const created: NewRecord = {
    requestId: known?.requestId ?? uuidV7(requestedAt, ports.randomBytes(10)),
    requestedAt,
    report,
    attribution,
    // Completing an existing record does not change its attribution.
    attributionDueAt: known === null ? attributionDueAt : null,
  };
  const record = redactRecord(toRecord(call, created, ports.prices(), ports.sha256Hex));
  if (known === null) addSession(recording, record, attribution);
  if (responseId !== null) seenResponses.add(responseId, created.requestId, tokensComplete);
  if (known === null) call.onRecord?.(created.requestId);
  ports.records.add(record);
  if (known === null) unattributed?.push(record);
  if (!record.tokensComplete && record.errorClass === null && !isUnread(call, report))
    ports.coverage.count(call.host, "without_usage");
  return known === null ? record : null;
}
