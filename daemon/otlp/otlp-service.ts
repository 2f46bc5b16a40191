import { describeCall, type OtlpCall } from "../../core/delivery/otlp/otlp-call.ts";
import {
  createOtlpRequest,
  isRejected,
  OTLP_SIGNALS,
  type OtlpEncoder,
  type OtlpSignal,
  readRejectedCount,
} from "../../core/delivery/otlp/otlp-message.ts";
import {
  addCall,
  countPoints,
  createOtlpMetrics,
  type OtlpMetrics,
} from "../../core/delivery/otlp/otlp-metrics.ts";
import { describeResult, isTooLarge } from "../../core/delivery/retry/cloud-result.ts";
import { growMessage, halveMessage } from "../../core/delivery/retry/message-size.ts";
import { afterAttempt, type WebhookProgress } from "../../core/delivery/webhook/webhook-progress.ts";
import type { ConfiguredOtlp } from "../../core/operations/config/config.ts";
import type { CloudClientResult } from "../../core/ports/cloud-client.ts";
import { hashText } from "../../core/values/hash-text.ts";
import { errorMessage } from "../../core/values/text/describe-error.ts";
import {
  createDeliveryLoop,
  type DeliveryStop,
  findOutgoing,
  loadProgress,
  NO_PROGRESS,
  type OutgoingRecords,
  POLL_MS,
  SPLIT_PAUSE_MS,
  saveProgress,
} from "../webhooks/record-delivery.ts";
import type { WebhookPorts } from "../webhooks/webhook-ports.ts";

/** Exports stored records by OTLP, in order and at least once. */
export interface OtlpService {
  /** Begins to send, once the database is open. */
  start(): void;
  status(): OtlpStatus;
  /** Ends a request in progress; what it sent is sent again after the next start. */
  stop(): Promise<void>;
}

/** The state of the export. */
export interface OtlpStatus {
  readonly host: string;
  readonly consecutiveFailures: number;
  readonly lastError: string | null;
  /** What the collector refused since this start. It is not sent again; the next metrics have the sums of those refused. */
  readonly refused: Readonly<Record<OtlpSignal, number>>;
  readonly lastRefusal: string | null;
}

/** The ports of the service. */
export interface OtlpPorts extends WebhookPorts {
  /** Loads the encoder. Rejects if its package is not installed. */
  loadEncoder(): Promise<OtlpEncoder>;
}

/** How many records one message has at most. The database is the queue, so no more are held in memory. */
const MAX_RECORDS = 200;

/** How often a missing package is looked for, in milliseconds. */
const ENCODER_RETRY_MS = 300_000;

/** The batch that is sent next. What was delivered of it is not sent again with the rest. */
interface Batch {
  /** Its last record. The batch is another one if that was deleted. */
  readonly last: OutgoingRecords["last"];
  readonly waiting: OtlpSignal[];
  /** The calls whose first waiting signal was delivered or refused, by trace id. */
  readonly settled: Set<string>;
}

interface State {
  readonly ports: OtlpPorts;
  readonly otlp: ConfiguredOtlp;
  readonly host: string;
  /** The key of the stored progress. A new endpoint has none. */
  readonly key: string;
  /** Sums since this start, so that a message that is sent again does not count twice. */
  readonly metrics: OtlpMetrics;
  encoder: OtlpEncoder | null;
  progress: WebhookProgress | null;
  batch: Batch | null;
  /** The calls that were read last. They are in the metrics. */
  counted: ReadonlySet<string>;
  /** The most calls of one message that the collector can be expected to accept. */
  readonly maxCalls: Record<OtlpSignal, number>;
  readonly refused: Record<OtlpSignal, number>;
  lastRefusal: string | null;
}

const bySignal = (value: number) =>
  Object.fromEntries(OTLP_SIGNALS.map((signal) => [signal, value])) as Record<OtlpSignal, number>;

/** Creates the service. */
export function createOtlpService(ports: OtlpPorts, otlp: ConfiguredOtlp): OtlpService {
  const state: State = {
    ...{ ports, otlp, host: new URL(otlp.endpoint).host },
    key: `otlp_${hashText(otlp.endpoint, ports.sha256).slice(0, 16)}`,
    metrics: createOtlpMetrics(ports.clock.now()),
    ...{ encoder: null, progress: null, batch: null, counted: new Set<string>() },
    ...{ maxCalls: bySignal(MAX_RECORDS), refused: bySignal(0), lastRefusal: null },
  };
  const { start, stop } = createDeliveryLoop(ports, "otlp", (stopping) => sendNext(state, stopping));
  return {
    start,
    stop,
    status() {
      const { consecutiveFailures, lastError } = state.progress ?? NO_PROGRESS;
      const { host, refused, lastRefusal } = state;
      return { host, consecutiveFailures, lastError, refused: { ...refused }, lastRefusal };
    },
  };
}

/** Sends the next batch, if there is one. Returns when to look again. */
async function sendNext(state: State, stopping: DeliveryStop): Promise<number> {
  const { ports, otlp } = state;
  const progress = loadProgress(ports, state.key, state.progress);
  state.progress = progress;
  const encoder = await loadEncoder(state, progress);
  if (encoder === null) return ENCODER_RETRY_MS;
  const found = findOutgoing(ports, otlp.preset, progress, MAX_RECORDS, state.batch?.last.seq ?? null);
  if (found === null) {
    state.batch = null;
    return POLL_MS;
  }
  const { records, last } = found;
  if (state.batch?.last.requestId !== last.requestId)
    state.batch = { last, waiting: [...otlp.signals], settled: new Set() };
  const calls = records.map(describeCall);
  if (calls.length === 0) return finishBatch(state, progress, last.seq, 1);
  for (const call of calls) if (!state.counted.has(call.traceId)) addCall(state.metrics, call);
  state.counted = new Set(calls.map(({ traceId }) => traceId));
  return await sendBatch(state, { progress, batch: state.batch, calls, encoder }, stopping);
}

/** Stores that a batch was sent. Returns the delay. */
function finishBatch(state: State, before: WebhookProgress, recordSeq: number, delayMs: number): number {
  save(state, before, { ...(state.progress ?? before), recordSeq });
  state.batch = null;
  return delayMs;
}

async function loadEncoder(state: State, progress: WebhookProgress): Promise<OtlpEncoder | null> {
  try {
    state.encoder ??= await state.ports.loadEncoder();
    return state.encoder;
  } catch (cause) {
    const consecutiveFailures = progress.consecutiveFailures + 1;
    const failed = { ...progress, consecutiveFailures, lastError: errorMessage(cause) };
    fail(state, progress, failed, ENCODER_RETRY_MS);
    return null;
  }
}

interface Attempt {
  readonly progress: WebhookProgress;
  readonly batch: Batch;
  readonly calls: readonly OtlpCall[];
  readonly encoder: OtlpEncoder;
}

/** Sends the signals of a batch that wait. Returns how long to wait before the next attempt; 0 after a delivery. */
async function sendBatch(state: State, attempt: Attempt, stopping: DeliveryStop): Promise<number> {
  const { ports, otlp } = state;
  const { batch, encoder, progress } = attempt;
  for (let signal = batch.waiting[0]; signal !== undefined; signal = batch.waiting[0]) {
    const calls = takeMessage(state, attempt, signal);
    if (calls.length === 0) {
      batch.waiting.shift();
      batch.settled.clear();
      continue;
    }
    const body = encoder.encode(signal, calls, state.metrics, ports.clock.now());
    const request = createOtlpRequest(otlp, signal, body);
    const result = await ports.client.send({ ...request, cancelled: stopping.stopped });
    if (stopping.isStopped) return POLL_MS;
    const delayMs = applyResult(state, attempt, { signal, calls }, result);
    if (delayMs > 0) return delayMs;
    for (const { traceId } of calls) batch.settled.add(traceId);
  }
  return finishBatch(state, progress, batch.last.seq, 0);
}

/**
 * Returns the calls of the next message of a signal; none if all are settled. Metrics are sums, so one message has those of all calls.
 */
function takeMessage(
  { maxCalls }: State,
  { batch, calls }: Attempt,
  signal: OtlpSignal,
): readonly OtlpCall[] {
  const waiting = calls.filter(({ traceId }) => !batch.settled.has(traceId));
  return signal === "metrics" ? waiting : waiting.slice(0, maxCalls[signal]);
}

interface Message {
  readonly signal: OtlpSignal;
  readonly calls: readonly OtlpCall[];
}

/** Applies the result of a message. Returns how long to wait before the next attempt; 0 if the message is settled. */
function applyResult(
  state: State,
  { progress: loaded }: Attempt,
  message: Message,
  result: CloudClientResult,
): number {
  const { ports, host, maxCalls } = state;
  const { signal, calls } = message;
  if (isTooLarge(result) && signal !== "metrics" && calls.length > 1) {
    maxCalls[signal] = halveMessage(calls.length);
    return SPLIT_PAUSE_MS;
  }
  const isRefused = isRejected(result);
  const before = state.progress ?? loaded;
  const { progress, delayMs } = afterAttempt(before, {}, isRefused ? ACCEPTED : result, {
    now: ports.clock.now(),
    random: ports.random(),
  });
  if (delayMs > 0) return fail(state, loaded, progress, delayMs);
  noteRefused(state, message, result, isRefused);
  if (!isRefused && calls.length === maxCalls[signal])
    maxCalls[signal] = growMessage(maxCalls[signal], MAX_RECORDS);
  if (before.consecutiveFailures === 0) state.progress = progress;
  else {
    // Saved at once: a batch may be sent in several messages, with pauses after which the progress is read again.
    save(state, loaded, progress);
    ports.log.info("otlp.recovered", { host });
  }
  return 0;
}

/** Counts and logs what the collector refused, the whole message or a part of it. */
function noteRefused(
  state: State,
  { signal, calls }: Message,
  result: CloudClientResult,
  isWhole: boolean,
): void {
  if (result.kind !== "http") return;
  const all = signal === "metrics" ? countPoints(state.metrics) : calls.length;
  const refused = isWhole ? all : readRejectedCount(signal, result.body);
  if (refused === 0) return;
  state.refused[signal] += refused;
  state.lastRefusal = isWhole ? describeResult(result) : "partial success";
  const { host } = state;
  state.ports.log.warn("otlp.rejected", { host, signal, http_status: result.status, records: refused });
}

/** The result of a delivery. A message that the collector can't read gets it too, because it is not sent again. */
const ACCEPTED = { kind: "http", status: 200, retryAfterMs: null } as const;

function fail(state: State, before: WebhookProgress, progress: WebhookProgress, delayMs: number): number {
  save(state, before, progress);
  state.ports.log.warn("otlp.failed", {
    host: state.host,
    error: progress.lastError,
    consecutive_failures: progress.consecutiveFailures,
    retry_in_ms: delayMs,
  });
  return delayMs;
}

function save(state: State, before: WebhookProgress, after: WebhookProgress): void {
  state.progress = saveProgress(state.ports, state.key, before, after);
}
