import { createWebhookRequest } from "../../core/delivery/webhook/webhook.ts";
import {
  afterAttempt,
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
  };
  const { start, stop } = createDeliveryLoop(ports, "webhooks", (stopping) => sendNext(state, stopping));
  return {
    start,
    stop,
    status() {
      const { consecutiveFailures, lastError, lastDeliveredAt } = state.progress ?? NO_PROGRESS;
      return { host: state.host, consecutiveFailures, lastError, lastDeliveredAt };
    },
  };
}

/** Sends the next message, if one waits. Returns when to look again. */
async function sendNext(state: State, stopping: DeliveryStop): Promise<number> {
  const { ports, key, queue, webhook, failed } = state;
  const progress = loadProgress(ports, key, state.progress, queue.last());
  state.progress = progress;
  const event = failed === null ? findEvent(state, progress) : null;
  if (event !== null) return await sendOne(state, progress, event, stopping);
  if (!webhook.events.includes("record.stored")) return POLL_MS;
  const throughSeq = failed?.step.recordSeq ?? null;
  const found = findOutgoing(ports, webhook.preset, progress, MAX_RECORDS, throughSeq);
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
  return await sendOne(state, progress, { type: "record.stored", data: { records }, id, at, step }, stopping);
}

function findEvent({ queue, webhook, key }: State, { eventNumber }: WebhookProgress): Pending | null {
  const event = queue.next(eventNumber, webhook.events);
  if (event === null) return null;
  const { type, data, number, at } = event;
  return { type, data, at, id: `${key}_${at}_${number}`, step: { eventNumber: number } };
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
  const { progress, delayMs } = afterAttempt(before, pending.step, result, {
    now: ports.clock.now(),
    random: ports.random(),
  });
  state.progress = saveProgress(ports, state.key, before, progress);
  const { id, at, step } = pending;
  if (delayMs > 0 && step.recordSeq !== undefined) state.failed = { id, at, step };
  if (progress.consecutiveFailures > 0)
    ports.log.warn("webhook.failed", {
      host,
      error: progress.lastError,
      consecutive_failures: progress.consecutiveFailures,
      retry_in_ms: delayMs,
    });
  else if (before.consecutiveFailures > 0) ports.log.info("webhook.recovered", { host });
  return delayMs;
}
