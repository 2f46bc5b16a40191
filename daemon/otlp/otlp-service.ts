import { describeCall, type OtlpCall } from "../../core/delivery/otlp/otlp-call.ts";
import {
  createOtlpRequest,
  isRejected,
  type OtlpEncoder,
  type OtlpSignal,
} from "../../core/delivery/otlp/otlp-message.ts";
import { addCall, createOtlpMetrics, type OtlpMetrics } from "../../core/delivery/otlp/otlp-metrics.ts";
import {
  afterAttempt,
  parseProgress,
  type WebhookProgress,
} from "../../core/delivery/webhook/webhook-progress.ts";
import type { ConfiguredOtlp } from "../../core/operations/config/config.ts";
import { toOutgoingRecord } from "../../core/privacy/policy/outgoing-record.ts";
import type { UploadPolicy } from "../../core/privacy/policy/upload-policy.ts";
import { hashText } from "../../core/values/hash-text.ts";
import { errorMessage } from "../../core/values/text/describe-error.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import type { WebhookPorts } from "../webhooks/webhook-service.ts";

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
}

/** The ports of the service. */
export interface OtlpPorts extends WebhookPorts {
  /** Loads the encoder. Rejects if its package is not installed. */
  loadEncoder(): Promise<OtlpEncoder>;
}

/** How many records one message has at most. The database is the queue, so no more are held in memory. */
const MAX_RECORDS = 200;

/** How often the worker looks for something to send, in milliseconds. */
const POLL_MS = 1_000;

/** How often a missing package is looked for, in milliseconds. */
const ENCODER_RETRY_MS = 300_000;

/** A short prompt can be guessed from its hash. */
const NOT_SENT = { prompt_hash: false };

const START: WebhookProgress = {
  ...{ recordSeq: 0, eventNumber: 0, consecutiveFailures: 0, lastError: null, lastDeliveredAt: null },
};

/** The calls that are sent next. A signal that was delivered is not sent again with the others. */
interface Batch {
  readonly calls: readonly OtlpCall[];
  readonly lastSeq: number;
  readonly waiting: OtlpSignal[];
}

interface State {
  readonly ports: OtlpPorts;
  readonly otlp: ConfiguredOtlp;
  readonly host: string;
  /** The key of the stored progress: a new endpoint begins anew. */
  readonly key: string;
  /** Sums since this start, so that a message that is sent again does not count twice. */
  readonly metrics: OtlpMetrics;
  encoder: OtlpEncoder | null;
  progress: WebhookProgress | null;
  batch: Batch | null;
  cancelTimer: () => void;
  isStopped: boolean;
  running: Promise<void>;
  readonly stopped: PromiseWithResolvers<void>;
}

/** Creates the service. */
export function createOtlpService(ports: OtlpPorts, otlp: ConfiguredOtlp): OtlpService {
  const state: State = {
    ...{ ports, otlp, host: new URL(otlp.endpoint).host },
    key: `otlp_${hashText(otlp.endpoint, ports.sha256).slice(0, 16)}`,
    metrics: createOtlpMetrics(ports.clock.now()),
    ...{ encoder: null, progress: null, batch: null, cancelTimer() {}, isStopped: false },
    running: Promise.resolve(),
    stopped: Promise.withResolvers<void>(),
  };
  return {
    start: () => schedule(state, 0),
    status() {
      const { consecutiveFailures, lastError } = state.progress ?? START;
      return { host: state.host, consecutiveFailures, lastError };
    },
    async stop() {
      state.isStopped = true;
      state.cancelTimer();
      state.stopped.resolve();
      await state.running;
    },
  };
}

function schedule(state: State, delayMs: number): void {
  if (state.isStopped) return;
  state.cancelTimer = state.ports.clock.setTimer(delayMs, () => {
    state.running = runRound(state).then((nextMs) => schedule(state, nextMs));
  });
}

/** Sends what waits. Returns when to look again. Never rejects. */
async function runRound(state: State): Promise<number> {
  try {
    for (;;) {
      if (state.isStopped || state.ports.store.trouble !== null) return POLL_MS;
      state.progress ??= loadProgress(state);
      const encoder = await loadEncoder(state, state.progress);
      if (encoder === null) return ENCODER_RETRY_MS;
      state.batch ??= findBatch(state, state.progress);
      if (state.batch === null) return POLL_MS;
      const delayMs = await sendBatch(state, state.batch, encoder);
      if (delayMs > 0) return delayMs;
    }
  } catch (cause) {
    if (!state.isStopped) logTaskCrash(state.ports.log, "otlp", cause, { restart_delay_ms: POLL_MS });
    return POLL_MS;
  }
}

/** Reads how far the export has got. A new one begins with what is stored from now on. */
function loadProgress({ ports, key }: State): WebhookProgress {
  const stored = parseProgress(ports.store.notes.read(key) ?? "");
  if (stored !== null) return stored;
  const progress = { ...START, recordSeq: ports.store.records.lastSeq() };
  ports.store.notes.write(key, JSON.stringify(progress));
  return progress;
}

async function loadEncoder(state: State, progress: WebhookProgress): Promise<OtlpEncoder | null> {
  try {
    state.encoder ??= await state.ports.loadEncoder();
    return state.encoder;
  } catch (cause) {
    const consecutiveFailures = progress.consecutiveFailures + 1;
    fail(state, { ...progress, consecutiveFailures, lastError: errorMessage(cause) }, ENCODER_RETRY_MS);
    return null;
  }
}

/** Returns the next calls whose callers are known, and adds them to the metrics. Null if there are none. */
function findBatch({ ports, otlp, metrics }: State, { recordSeq }: WebhookProgress): Batch | null {
  const policy: UploadPolicy = { preset: otlp.preset, fields: NOT_SENT, perProject: ports.perProject() };
  const now = ports.clock.now();
  for (let afterSeq = recordSeq; ; ) {
    const page = ports.store.records.read({ from: null, to: null, afterSeq, limit: MAX_RECORDS });
    const waiting = page.findIndex(({ attributionDueAt = 0 }) => attributionDueAt > now);
    const ready = waiting === -1 ? page : page.slice(0, waiting);
    const last = ready.at(-1);
    if (last === undefined) return null;
    const hashId = ports.createIdHash();
    const calls = ready.flatMap((record) => {
      // Imported records are of the past.
      if (record.recordSource === "logs") return [];
      const outgoing = toOutgoingRecord(record, policy, { kind: "plain" }, hashId);
      return outgoing.kind === "send" ? [describeCall(outgoing.record)] : [];
    });
    if (calls.length > 0) {
      for (const call of calls) addCall(metrics, call);
      return { calls, lastSeq: last.seq, waiting: [...otlp.signals] };
    }
    afterSeq = last.seq;
  }
}

/** Sends the signals of a batch that wait. Returns how long to wait before the next attempt; 0 after a delivery. */
async function sendBatch(state: State, batch: Batch, encoder: OtlpEncoder): Promise<number> {
  const { ports, otlp, host } = state;
  for (let signal = batch.waiting[0]; signal !== undefined; signal = batch.waiting[0]) {
    const body = encoder.encode(signal, batch.calls, state.metrics, ports.clock.now());
    const request = createOtlpRequest(otlp, signal, body);
    const result = await ports.client.send({ ...request, cancelled: state.stopped.promise });
    if (state.isStopped) return POLL_MS;
    const isRefused = isRejected(result);
    const before = state.progress ?? START;
    const { progress, delayMs } = afterAttempt(before, {}, isRefused ? ACCEPTED : result, {
      now: ports.clock.now(),
      random: ports.random(),
    });
    if (delayMs > 0) return fail(state, progress, delayMs);
    if (isRefused) {
      const status = result.kind === "http" ? result.status : 0;
      ports.log.warn("otlp.rejected", { host, signal, http_status: status, records: batch.calls.length });
    }
    if (before.consecutiveFailures > 0) ports.log.info("otlp.recovered", { host });
    state.progress = progress;
    batch.waiting.shift();
  }
  save(state, { ...(state.progress ?? START), recordSeq: batch.lastSeq });
  state.batch = null;
  return 0;
}

/** What counts as a delivery: a message that the collector can't read is not sent again. */
const ACCEPTED = { kind: "http", status: 200, retryAfterMs: null } as const;

function fail(state: State, progress: WebhookProgress, delayMs: number): number {
  save(state, progress);
  state.ports.log.warn("otlp.failed", {
    host: state.host,
    error: progress.lastError,
    consecutive_failures: progress.consecutiveFailures,
    retry_in_ms: delayMs,
  });
  return delayMs;
}

function save(state: State, progress: WebhookProgress): void {
  state.progress = progress;
  state.ports.store.notes.write(state.key, JSON.stringify(progress));
}
