import { createWebhookRequest } from "../../core/delivery/webhook/webhook.ts";
import {
  afterAttempt,
  parseProgress,
  type WebhookProgress,
  type WebhookStep,
} from "../../core/delivery/webhook/webhook-progress.ts";
import type { ConfiguredWebhook } from "../../core/operations/config/config.ts";
import { toOutgoingRecord } from "../../core/privacy/policy/outgoing-record.ts";
import type { UploadPolicy } from "../../core/privacy/policy/upload-policy.ts";
import { hashText } from "../../core/values/hash-text.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoredRequest } from "../store/port/records.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import type { EventQueue, WebhookPorts } from "./webhook-service.ts";

/** Sends to one webhook. */
interface WebhookWorker {
  start(): void;
  status(): WebhookStatus;
  stop(): Promise<void>;
}

/** The state of a webhook. */
export interface WebhookStatus {
  /** The host of its URL; the rest may contain a secret. */
  readonly host: string;
  readonly consecutiveFailures: number;
  readonly lastError: string | null;
  readonly lastDeliveredAt: Millis | null;
}

/** How many records one message has at most. */
const MAX_RECORDS = 100;

/** How often the worker looks for something to send, in milliseconds. */
const POLL_MS = 1_000;

/** What is sent next: an event, or records. */
interface Pending {
  readonly type: string;
  readonly data: unknown;
  readonly id: string;
  readonly at: Millis;
  readonly step: WebhookStep;
}

interface State {
  readonly ports: WebhookPorts;
  readonly webhook: ConfiguredWebhook;
  readonly queue: EventQueue;
  readonly host: string;
  /** The key of the stored progress. A new URL has another key, so it begins like a new webhook. */
  readonly key: string;
  progress: WebhookProgress | null;
  /** The message that failed, which is sent again. */
  failed: Pending | null;
  cancelTimer: () => void;
  isStopped: boolean;
  running: Promise<void>;
  readonly stopped: PromiseWithResolvers<void>;
}

/** A short prompt can be guessed from its hash, so a webhook gets none. */
const NOT_SENT = { prompt_hash: false };

const START: WebhookProgress = {
  recordSeq: 0,
  eventNumber: 0,
  consecutiveFailures: 0,
  lastError: null,
  lastDeliveredAt: null,
};

export function createWebhookWorker(
  ports: WebhookPorts,
  webhook: ConfiguredWebhook,
  queue: EventQueue,
): WebhookWorker {
  const state: State = {
    ports,
    webhook,
    queue,
    host: new URL(webhook.url).host,
    key: `webhook_${hashText(webhook.url, ports.sha256).slice(0, 16)}`,
    progress: null,
    failed: null,
    cancelTimer() {},
    isStopped: false,
    running: Promise.resolve(),
    stopped: Promise.withResolvers<void>(),
  };
  return {
    start: () => schedule(state, 0),
    status() {
      const { consecutiveFailures, lastError, lastDeliveredAt } = state.progress ?? START;
      return { host: state.host, consecutiveFailures, lastError, lastDeliveredAt };
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
      const pending = state.failed ?? findPending(state, state.progress);
      if (pending === null) return POLL_MS;
      const delayMs = await sendOne(state, state.progress, pending);
      if (delayMs > 0) return delayMs;
    }
  } catch (cause) {
    if (!state.isStopped) logTaskCrash(state.ports.log, "webhooks", cause, { restart_delay_ms: POLL_MS });
    return POLL_MS;
  }
}

/** Reads how far the webhook has got. A new one begins with what is stored from now on. */
function loadProgress({ ports, key, queue }: State): WebhookProgress {
  const stored = parseProgress(ports.store.notes.read(key) ?? "");
  if (stored !== null) return stored;
  const progress = { ...START, recordSeq: ports.store.records.lastSeq(), eventNumber: queue.last() };
  ports.store.notes.write(key, JSON.stringify(progress));
  return progress;
}

function findPending(state: State, progress: WebhookProgress): Pending | null {
  const { queue, webhook, key } = state;
  const event = queue.next(progress.eventNumber, webhook.events);
  if (event !== null) {
    const { type, data, number, at } = event;
    return { type, data, at, id: `${key}_${at}_${number}`, step: { eventNumber: number } };
  }
  return webhook.events.includes("record.stored") ? findRecords(state, progress) : null;
}

/** Returns the next records whose callers are known. Records of a local-only project and of agents' logs are skipped. */
function findRecords(state: State, { recordSeq }: WebhookProgress): Pending | null {
  const { ports, webhook } = state;
  const policy: UploadPolicy = { preset: webhook.preset, fields: NOT_SENT, perProject: ports.perProject() };
  const now = ports.clock.now();
  for (let afterSeq = recordSeq; ; ) {
    const ready = readReady(ports, afterSeq, now);
    const last = ready.at(-1);
    if (last === undefined) return null;
    const hashId = ports.createIdHash();
    const records = ready.flatMap((record) => {
      // Imported records are not sent.
      if (record.recordSource === "logs") return [];
      const outgoing = toOutgoingRecord(record, policy, { kind: "plain" }, hashId);
      return outgoing.kind === "send" ? [outgoing.record] : [];
    });
    const step = { recordSeq: last.seq };
    if (records.length > 0)
      return { type: "record.stored", data: { records }, id: last.requestId, at: now, step };
    afterSeq = last.seq;
  }
}

/** Reads the next records, up to the first whose caller is still being looked up. */
function readReady({ store }: WebhookPorts, afterSeq: number, now: Millis): readonly StoredRequest[] {
  const page = store.records.read({ from: null, to: null, afterSeq, limit: MAX_RECORDS });
  const waiting = page.findIndex(({ attributionDueAt = 0 }) => attributionDueAt > now);
  return waiting === -1 ? page : page.slice(0, waiting);
}

/** Sends a message and stores the progress. Returns how long to wait before the next attempt; 0 after a delivery. */
async function sendOne(state: State, before: WebhookProgress, pending: Pending): Promise<number> {
  const { ports, webhook, host } = state;
  const request = createWebhookRequest(webhook, pending, ports.clock.now(), ports.sha256);
  const result = await ports.client.send({ ...request, cancelled: state.stopped.promise });
  if (state.isStopped) return POLL_MS;
  const { progress, delayMs } = afterAttempt(before, pending.step, result, {
    now: ports.clock.now(),
    random: ports.random(),
  });
  state.progress = progress;
  state.failed = progress.consecutiveFailures > 0 ? pending : null;
  if (progress.consecutiveFailures > 0)
    ports.log.warn("webhook.failed", {
      host,
      error: progress.lastError,
      consecutive_failures: progress.consecutiveFailures,
      retry_in_ms: delayMs,
    });
  else if (before.consecutiveFailures > 0) ports.log.info("webhook.recovered", { host });
  ports.store.notes.write(state.key, JSON.stringify(progress));
  return delayMs;
}
