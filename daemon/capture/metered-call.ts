import { readCredentialKind } from "../../core/metering/billing/credential.ts";
import { headerValue, type ResponseHead } from "../../core/metering/exchange/head.ts";
import { readCallIdentity } from "../../core/metering/sessions/call-identity.ts";
import { createUsageReader, type UsageReader } from "../../core/metering/usage/usage-reader.ts";
import type { UsageReport } from "../../core/metering/usage/usage-report.ts";
import type { TokenCounter } from "../../core/ports/token-counter.ts";
import { type BodyBuffer, createBodyBuffer } from "./body-buffer.ts";
import { type BodyDecoder, createBodyDecoder } from "./body-decoder.ts";
import { type BudgetShare, openBudgetShare } from "./byte-budget.ts";
import type { CallStart } from "./call-start.ts";
import { type CallBody, captureBodies } from "./capture-bodies.ts";
import { estimateReport } from "./estimate-report.ts";
import { takeHeaderLimits, takeReportLimits } from "./read-limits.ts";
import { type RecordedCall, type Recording, recordCall } from "./record-call.ts";
import { createRequestBody, type RequestBody } from "./request-body.ts";
import type { CallEnd, EndedCall } from "./to-record.ts";
import {
  type BeginCall,
  type CallProgress,
  openWebSocketSession,
  type WebSocketSession,
} from "./websocket-session.ts";

/** Meters one exchange, from its request head to its end. */
export interface MeteredCall {
  requestBody(bytes: Uint8Array): void;
  requestEnd(): void;
  responseHead(head: ResponseHead, atMs: number): void;
  responseBody(bytes: Uint8Array): void;
  end(end: CallEnd, atMs: number): void;
  /**
   * Ends the call without a record, because its response is a WebSocket. Returns the session, whose messages may make
   * records; null if it can't be read.
   */
  upgrade(begin: BeginCall): WebSocketSession | null;
  /** Ends the call without a record. */
  discard(): void;
  /** Returns what is known of the call so far; null if it is no call of a model. */
  progress(): CallProgress | null;
}

interface ResponseInProgress {
  readonly head: ResponseHead;
  readonly atMs: number;
  readonly reader: UsageReader;
  readonly decoder: BodyDecoder;
  readonly body: BodyBuffer | null;
}

interface CallState {
  readonly recording: Recording;
  readonly start: CallStart;
  /** Called once: with null when the record is stored, or with the error that prevented it. */
  readonly settled: (cause: unknown) => void;
  readonly capturesBodies: boolean;
  readonly needsBodies: boolean;
  readonly request: RequestBody;
  readonly requestDecoder: BodyDecoder;
  /** The memory of the response's reader. */
  readonly readerMemory: BudgetShare;
  response: ResponseInProgress | null;
  /** What the request's body states; null until its end is decoded. */
  requestFacts: Pick<EndedCall, "facts" | "promptHash" | "isResponseRefetchable"> | null;
  isOpen: boolean;
  isRecorded: boolean;
}

export function createMeteredCall(
  recording: Recording,
  start: CallStart,
  settled: (cause: unknown) => void,
): MeteredCall {
  const call = createCallState(recording, start, settled);
  return {
    requestBody: (bytes) => runStep(call, () => call.requestDecoder.push(bytes)),
    requestEnd: () => afterRequestRead(call, () => {}),
    responseHead: (head, atMs) =>
      runStep(call, () => {
        call.response = beginResponse(call, head, atMs);
      }),
    responseBody: (bytes) => runStep(call, () => call.response?.decoder.push(bytes)),
    end: (end, atMs) => runStep(call, () => endCall(call, end, atMs)),
    upgrade(begin) {
      settle(call);
      const { response } = call;
      return response === null ? null : openWebSocketSession(recording, start, response.head, begin);
    },
    discard: () => settle(call),
    progress: () => ({
      provider: start.route.provider,
      model: call.requestFacts?.facts.requestedModel ?? start.route.model,
      startedAtMs: start.startedAtMs,
    }),
  };
}

function createCallState(
  recording: Recording,
  start: CallStart,
  settled: (cause: unknown) => void,
): CallState {
  const { ports, bodyBudget, messageBudget } = recording;
  const capturesBodies = ports.bodies.isEnabledAnywhere();
  const request = createRequestBody(start.route, bodyBudget);
  const call: CallState = {
    recording,
    start,
    settled,
    capturesBodies,
    needsBodies: capturesBodies || ports.tokenCounter() !== null,
    request,
    requestDecoder: createBodyDecoder(
      ports.createDecoder,
      headerValue(start.head.headers, "content-encoding"),
      (bytes) => runStep(call, () => request.append(bytes)),
    ),
    readerMemory: openBudgetShare(messageBudget),
    response: null,
    requestFacts: null,
    isOpen: true,
    isRecorded: false,
  };
  return call;
}

function settle(call: CallState, cause: unknown = null): void {
  if (!call.isOpen) return;
  call.isOpen = false;
  call.start.ended?.(null);
  call.readerMemory.close();
  // The project decides whether bodies are stored, so those of a recorded call wait for its attribution.
  if (!call.isRecorded) releaseBodies(call);
  call.settled(cause);
}

function releaseBodies({ request, response }: CallState): void {
  request.release();
  response?.body?.release();
}

/** Runs a step unless the call is settled. A step that throws settles it. */
function runStep(call: CallState, step: () => void): void {
  if (!call.isOpen) return;
  try {
    step();
  } catch (cause) {
    settle(call, cause);
  }
}

/** Ends the request's body and calls `then` when its last byte is decoded, immediately if that has happened. */
function afterRequestRead(call: CallState, then: () => void): void {
  call.requestDecoder.end(() =>
    runStep(call, () => {
      call.requestFacts ??= readRequestFacts(call);
      then();
    }),
  );
}

function readRequestFacts({ recording, start, request, needsBodies }: CallState): CallState["requestFacts"] {
  const { ports } = recording;
  if (request.state === "no_room") ports.coverage.count(start.facts.host, "prompt_not_kept");
  const { facts, isBackground } = request.read();
  start.requestRead?.(facts);
  const { canonicalPrompt } = facts;
  if (!needsBodies) request.release();
  return {
    facts: { ...facts, canonicalPrompt: null },
    promptHash: canonicalPrompt === null ? null : ports.sha256Hex(canonicalPrompt),
    isResponseRefetchable: start.route.fetches === true || isBackground,
  };
}

function beginResponse(call: CallState, head: ResponseHead, atMs: number): ResponseInProgress {
  const { ports, bodyBudget } = call.recording;
  const { facts, head: request, route } = call.start;
  const model = call.requestFacts?.facts.requestedModel ?? route.model;
  if (call.start.blockedBy === null)
    takeHeaderLimits(ports, facts, { provider: route.provider, request, response: head }, model);
  const body = call.needsBodies ? createBodyBuffer({ budget: bodyBudget }) : null;
  const reader = createUsageReader(call.start.route, {
    status: head.status,
    contentType: headerValue(head.headers, "content-type"),
    streaming: call.requestFacts?.facts.streaming ?? null,
    header: (name) => headerValue(head.headers, name),
    quota: call.readerMemory,
  });
  const decoder = createBodyDecoder(
    ports.createDecoder,
    headerValue(head.headers, "content-encoding"),
    // A decoder calls back later, when no caller is there to catch an error.
    (bytes) =>
      runStep(call, () => {
        reader.push(bytes);
        body?.append(bytes);
      }),
  );
  return { head, atMs, reader, decoder, body };
}

function endCall(call: CallState, end: CallEnd, atMs: number): void {
  const { response } = call;
  // The response is not the provider's.
  if (response === null || call.start.blockedBy !== null) return finish(call, end, atMs, null);
  response.decoder.end((readable) =>
    runStep(call, () => {
      const report = response.reader.end(end === "complete" && readable);
      const { head: request, route } = call.start;
      const source = { provider: route.provider, request, response: response.head };
      takeReportLimits(call.recording.ports, source, report);
      if (call.readerMemory.wasRefused && !report.tokensComplete)
        call.recording.ports.coverage.count(call.start.facts.host, "usage_not_kept");
      finish(call, end, atMs, report);
    }),
  );
}

function finish(call: CallState, end: CallEnd, atMs: number, report: UsageReport | null): void {
  afterRequestRead(call, () => {
    const tokenCounter = call.recording.ports.tokenCounter();
    if (report === null || tokenCounter === null) return writeRecord(call, end, atMs, report);
    addEstimates(call, end, report, tokenCounter).then(
      (estimated) => runStep(call, () => writeRecord(call, end, atMs, estimated)),
      (cause) => settle(call, cause),
    );
  });
}

function writeRecord(call: CallState, end: CallEnd, endedAtMs: number, report: UsageReport | null): void {
  const { recording, start, requestFacts } = call;
  if (requestFacts === null) return settle(call);
  const { host, attribution } = start.facts;
  recordCall(
    recording,
    {
      host,
      method: start.head.method,
      path: start.path,
      route: start.route,
      ...requestFacts,
      identity: recording.sessions.resolve(
        readCallIdentity({ headers: start.head.headers, body: requestFacts.facts.stated ?? null }),
      ),
      credential: readCredentialKind(start.head.headers, start.head.target),
      userAgent: headerValue(start.head.headers, "user-agent"),
      startedAtMs: start.startedAtMs,
      blockedBy: start.blockedBy,
      ...(start.ended !== undefined && { onRecord: start.ended }),
      response: call.response,
      end,
      endedAtMs,
    },
    report,
    { from: attribution, headerProject: start.headerProject, git: start.git },
    { recorded: (result) => onRecorded(call, result), failed: (cause) => settle(call, cause) },
  );
}

/** Stores the bodies of a recorded call. If that fails, its record stays, and the failure is counted. */
function onRecorded(call: CallState, result: RecordedCall | Promise<RecordedCall>): void {
  const { recording, start } = call;
  call.isRecorded = true;
  if (result instanceof Promise) {
    const stored = result.then((recorded) => storeBodies(call, recorded));
    recording.continueWith(
      start.facts.host,
      stored.finally(() => releaseBodies(call)),
    );
  } else {
    try {
      storeBodies(call, result);
    } catch (cause) {
      recording.continueWith(start.facts.host, Promise.reject(cause));
    } finally {
      releaseBodies(call);
    }
  }
  settle(call);
}

/** Estimates the counts that the provider did not state. */
async function addEstimates(
  { start, request, response, requestFacts }: CallState,
  end: CallEnd,
  report: UsageReport,
  tokenCounter: TokenCounter,
): Promise<UsageReport> {
  return await estimateReport(tokenCounter, report, {
    model: report.model ?? requestFacts?.facts.requestedModel ?? "",
    requestKind: report.requestKind ?? start.route.requestKind,
    cut: end !== "complete",
    request: request.bytes(),
    response: response?.body?.bytes() ?? null,
  });
}

function storeBodies(call: CallState, { record, attribution }: RecordedCall): void {
  const { bodies, log, coverage, wallClockMs } = call.recording.ports;
  if (record === null || !call.capturesBodies) return;
  if (attribution.bodyCaptureRefused || !bodies.isEnabledFor(attribution.project)) return;
  captureBodies(
    { bodies, log, count: (what) => coverage.count(call.start.facts.host, what) },
    { requestId: record.requestId, capturedAt: wallClockMs() },
    bodiesOf(call),
  );
}

function bodiesOf({ start, request, response }: CallState): CallBody[] {
  const typeOf = ({ headers }: Pick<ResponseHead, "headers">) => headerValue(headers, "content-type");
  const bodies: CallBody[] = [{ direction: "request", body: request, contentType: typeOf(start.head) }];
  if (response?.body) {
    bodies.push({ direction: "response", body: response.body, contentType: typeOf(response.head) });
  }
  return bodies;
}
