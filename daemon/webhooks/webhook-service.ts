import type { WebhookEvent } from "../../core/delivery/webhook/webhook.ts";
import type { LimitEvent } from "../../core/metering/limits/limit-events.ts";
import type { ConfiguredWebhook } from "../../core/operations/config/config.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { CloudClient } from "../../core/ports/cloud-client.ts";
import type { Log } from "../../core/ports/log.ts";
import type { IdHash } from "../../core/privacy/policy/id-hash.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import type { Millis } from "../../core/values/time.ts";
import type { BudgetNotice } from "../budgets/budget-notice.ts";
import { budgetNoticeFields } from "../budgets/notice-text.ts";
import { limitEventFields } from "../limits/limit-event-fields.ts";
import type { Store } from "../store/port/store.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import { createWebhookWorker, type WebhookStatus } from "./webhook-worker.ts";

/** Sends records and events to the configured webhooks, each at least once and in order. */
export interface WebhookService {
  /** Begins to send, once the database is open. */
  start(): void;
  /** Keeps an event until it is delivered. Never throws. */
  addLimitEvent(event: LimitEvent): void;
  /** Keeps an event of a budget until it is delivered. Never throws. */
  addBudgetNotice(notice: BudgetNotice): void;
  status(): readonly WebhookStatus[];
  /** Ends requests in progress; what they sent is sent again after the next start. */
  stop(): Promise<void>;
}

/** The ports of the service. */
export interface WebhookPorts {
  readonly store: Pick<Store, "records" | "notes" | "trouble">;
  readonly client: CloudClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly sha256: Sha256;
  /** A number from 0 to 1. */
  random(): number;
  /** Creates the hash of ids of sessions and agents, for one message: it remembers each id. Null if its key can't be read. */
  createIdHash(): IdHash | null;
  /** By project slug: false means that nothing of the project leaves this machine. */
  perProject(): Readonly<Record<string, boolean>>;
}

/** An event about something other than a record. */
export interface QueuedEvent {
  /** From 1. */
  readonly number: number;
  readonly type: WebhookEvent;
  readonly at: Millis;
  readonly data: unknown;
}

/** The key of the events that wait. */
const EVENTS_KEY = "webhook_events";

/** How many events are kept; the oldest is dropped first. Limits make a few each day. */
export const MAX_QUEUED_EVENTS = 1_000;

/** Creates the service for webhooks. */
export function createWebhookService(
  ports: WebhookPorts,
  webhooks: readonly ConfiguredWebhook[],
): WebhookService {
  const queue = createQueue(ports);
  const workers = webhooks.map((webhook) => createWebhookWorker(ports, webhook, queue));
  const add = (type: WebhookEvent, data: unknown) => {
    if (!webhooks.some(({ events }) => events.includes(type))) return;
    try {
      queue.add({ type, at: ports.clock.now(), data });
    } catch (cause) {
      logTaskCrash(ports.log, "webhooks", cause);
    }
  };
  return {
    start() {
      for (const worker of workers) worker.start();
    },
    addLimitEvent: (event) => add(event.name, limitEventFields(event)),
    addBudgetNotice: (notice) => add(notice.event, budgetNoticeFields(notice)),
    status: () => workers.map((worker) => worker.status()),
    stop: async () => void (await Promise.all(workers.map((worker) => worker.stop()))),
  };
}

/** The events that wait for delivery. */
export interface EventQueue {
  add(event: Omit<QueuedEvent, "number">): void;
  /** Returns the first event after this number of one of these types; null if there is none. */
  next(afterNumber: number, types: readonly WebhookEvent[]): QueuedEvent | null;
  /** The number of the last event; 0 before the first. */
  last(): number;
}

function createQueue({ store }: Pick<WebhookPorts, "store">): EventQueue {
  let events: readonly QueuedEvent[] | null = null;
  const read = () => (events ??= parseEvents(store.notes.read(EVENTS_KEY)));
  return {
    add(event) {
      const known = read();
      const number = (known.at(-1)?.number ?? 0) + 1;
      const kept = [...known, { ...event, number }].slice(-MAX_QUEUED_EVENTS);
      store.notes.write(EVENTS_KEY, JSON.stringify(kept));
      events = kept;
    },
    next: (afterNumber, types) =>
      read().find(({ number, type }) => number > afterNumber && types.includes(type)) ?? null,
    last: () => read().at(-1)?.number ?? 0,
  };
}

function parseEvents(text: string | null): readonly QueuedEvent[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value.filter((each) => Number.isSafeInteger(each?.number)) : [];
  } catch {
    return [];
  }
}
