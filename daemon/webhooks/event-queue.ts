import type { WebhookEvent } from "../../core/delivery/webhook/webhook.ts";
import type { Millis } from "../../core/values/time.ts";
import { WEBHOOK_EVENTS_KEY } from "../store/port/settings.ts";
import type { WebhookPorts } from "./webhook-ports.ts";

/** An event about something other than a record. */
export interface QueuedEvent {
  /** Grows by 1. The first is a time, so that numbers grow even if the stored queue is damaged and begins again. */
  readonly number: number;
  readonly type: WebhookEvent;
  readonly at: Millis;
  readonly data: unknown;
}

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
  let known: { text: string | null; events: readonly QueuedEvent[] } = { text: null, events: [] };
  const read = () => {
    const text = store.notes.read(WEBHOOK_EVENTS_KEY);
    if (text !== known.text) known = { text, events: parseEvents(text) };
    return known.events;
  };
  return {
    add(event) {
      const before = read();
      const number = (before.at(-1)?.number ?? event.at) + 1;
      const events = [...before, { ...event, number }].slice(-MAX_QUEUED_EVENTS);
      const text = JSON.stringify(events);
      store.notes.write(WEBHOOK_EVENTS_KEY, text);
      known = { text, events };
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
