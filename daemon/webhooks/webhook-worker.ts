import { isTooLarge } from "../../core/delivery/retry/cloud-result.ts";
import { growMessage, halveMessage } from "../../core/delivery/retry/message-size.ts";
import { createWebhookRequest } from "../../core/delivery/webhook/webhook.ts";
import {
  afterAttempt,
  isGone,
  type WebhookProgress,
  type WebhookStep,
} from "../../core/delivery/webhook/webhook-progress.ts";
import type { ConfiguredWebhook } from "../../core/operations/config/config.ts";
import { hashText } from "../../core/values/hash-text.ts";
import type { Millis } from "../../core/values/time.ts";
import type { EventQueue } from "./event-queue.ts";
import {
  createDeliveryLoop,
  type DeliveryStop,
  findOutgoing,
  loadProgress,
  NO_PROGRESS,
  POLL_MS,
  SPLIT_PAUSE_MS,
  saveProgress,
} from "./record-delivery.ts";
import type { WebhookPorts } from "./webhook-ports.ts";

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
  /** Whether it answered 410. Nothing more is sent to it until the daemon starts again. */
  readonly isGone: boolean;
}

/** How many records one message has at most. */
const MAX_RECORDS = 100;

/** What is sent next: an event, or records. */
interface Pending {
  readonly type: string;
  readonly data: unknown;
  readonly id: string;
  readonly at: Millis;
  readonly step: WebhookStep;
  /** How many records it has. */
  readonly records: number;
}

interface State {
  readonly ports: WebhookPorts;
  readonly webhook: ConfiguredWebhook;
  readonly queue: EventQueue;
  readonly host: string;
  /** The key of the stored progress. A changed URL has another key, so it begins like a new webhook. */
  readonly key: string;
  progress: WebhookProgress | null;
  /** The message with records that failed. It is sent again, with those of its records that may still be sent. */
  failed: Pick<Pending, "id" | "at" | "step"> | null;
  /** The most records of one message that the receiver can be expected to accept. */
  maxRecords: number;
  isGone: boolean;
}

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
    maxRecords: MAX_RECORDS,
    isGone: false,
  };
  const { start, stop } = createDeliveryLoop(ports, "webhooks", (stopping) => sendNext(state, stopping));
  return {
    start,
    stop,
    status() {
      const { consecutiveFailures, lastError, lastDeliveredAt } = state.progress ?? NO_PROGRESS;
      const { host, isGone } = state;
      return { host, consecutiveFailures, lastError, lastDeliveredAt, isGone };
    },
  };
}

/** Sends the next message, if one waits. Returns when to look again. */
async function sendNext(state: State, stopping: DeliveryStop): Promise<number> {
  const { ports, key, queue, webhook, failed } = state;
  if (state.isGone) return POLL_MS;
  const progress = loadProgress(ports, key, state.progress, queue.last());
  state.progress = progress;
  const event = failed === null ? findEvent(state, progress) : null;
  if (event !== null) return await sendOne(state, progress, event, stopping);
  if (!webhook.events.includes("record.stored")) return POLL_MS;
  const throughSeq = failed?.step.recordSeq ?? null;
  const found = findOutgoing(ports, webhook.preset, progress, state.maxRecords, throughSeq);
  state.failed = null;
  if (found === null) return POLL_MS;
  const { records, last } = found;
  const step = { recordSeq: last.seq };
  if (records.length === 0) {
    state.progress = saveProgress(ports, key, progress, { ...progress, ...step });
    return 1;
  }
  const id = last.requestId;
  const at = failed?.id === id ? failed.at : ports.clock.now();
  const pending = { type: "record.stored", data: { records }, id, at, step, records: records.length };
  return await sendOne(state, progress, pending, stopping);
}

function findEvent({ queue, webhook, key }: State, { eventNumber }: WebhookProgress): Pending | null {
  const event = queue.next(eventNumber, webhook.events);
  if (event === null) return null;
  const { type, data, number, at } = event;
  return { type, data, at, id: `${key}_${at}_${number}`, step: { eventNumber: number }, records: 0 };
}

/** Sends a message and stores the progress. Returns how long to wait before the next attempt; 0 after a delivery. */
async function sendOne(
  state: State,
  before: WebhookProgress,
  pending: Pending,
  stopping: DeliveryStop,
): Promise<number> {
  const { ports, webhook, host } = state;
  const request = createWebhookRequest(webhook, pending, ports.clock.now(), ports.sha256);
  const result = await ports.client.send({ ...request, cancelled: stopping.stopped });
  if (stopping.isStopped) return POLL_MS;
  const { id, at, step, records } = pending;
  if (isTooLarge(result) && records > 1) {
    state.maxRecords = halveMessage(records);
    return SPLIT_PAUSE_MS;
  }
  const { progress, delayMs } = afterAttempt(before, pending.step, result, {
    now: ports.clock.now(),
    random: ports.random(),
  });
  state.progress = saveProgress(ports, state.key, before, progress);
  if (delayMs === 0 && records === state.maxRecords) state.maxRecords = growMessage(records, MAX_RECORDS);
  if (delayMs > 0 && step.recordSeq !== undefined) state.failed = { id, at, step };
  if (isGone(result)) {
    state.isGone = true;
    ports.log.warn("webhook.gone", { host });
  } else if (progress.consecutiveFailures > 0)
    ports.log.warn("webhook.failed", {
      host,
      error: progress.lastError,
      consecutive_failures: progress.consecutiveFailures,
      retry_in_ms: delayMs,
    });
  else if (before.consecutiveFailures > 0) ports.log.info("webhook.recovered", { host });
  return delayMs;
}
