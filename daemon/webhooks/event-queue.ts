import type { WebhookEvent } from "../../core/delivery/webhook/webhook.ts";
import type { Millis } from "../../core/values/time.ts";
import type { WebhookPorts } from "./webhook-ports.ts";

/** An event about something other than a record. */
export interface QueuedEvent {
  /** Grows by 1. The first is a time, so that numbers grow even if the stored queue is damaged and begins again. */
  readonly number: number;
  readonly type: WebhookEvent;
  readonly at: Millis;
  readonly data: unknown;
}

/** The key of the events that wait. */
const EVENTS_KEY = "webhook_events";

/** How many events are kept; the oldest is dropped first. Limits make a few each day. */
export const MAX_QUEUED_EVENTS = 1_000;

/** The events that wait for delivery. */
export interface EventQueue {
  add(event: Omit<QueuedEvent, "number">): void;
  /** Returns the first event after this number of one of these types; null if there is none. */
  next(afterNumber: number, types: readonly WebhookEvent[]): QueuedEvent | null;
  /** The number of the last event; 0 before the first. */
  last(): number;
}

/** Creates the queue, which the database keeps. */
export function createEventQueue({ store }: Pick<WebhookPorts, "store">): EventQueue {
  let events: readonly QueuedEvent[] | null = null;
  const read = () => (events ??= parseEvents(store.notes.read(EVENTS_KEY)));
  return {
    add(event) {
      const known = read();
      const number = (known.at(-1)?.number ?? event.at) + 1;
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
