import type { LimitEvent } from "../../core/metering/limits/limit-events.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { BudgetNotice } from "../budgets/budget-notice.ts";

/** The most concurrent listeners. A browser opens one per page. */
const MAX_LISTENERS = 16;

/** Publishes records as they are stored, and what happens to limits and budgets. */
export interface RecordFeed {
  publish(records: readonly RequestRecord[]): void;
  publishLimit(event: LimitEvent): void;
  publishBudget(notice: BudgetNotice): void;
  /** Returns a function that removes the listener, or null if there are too many listeners. */
  listen(listener: FeedListener): (() => void) | null;
  /** Ends all listeners and accepts no more. */
  close(): void;
}

/** A listener. It is called in the event loop turn that stored the records and must return quickly. */
interface FeedListener {
  record(record: RequestRecord): void;
  limit?(event: LimitEvent): void;
  budget?(notice: BudgetNotice): void;
  ended(): void;
}

/** Creates a feed. A listener that throws is removed. */
export function createRecordFeed(): RecordFeed {
  const listeners = new Set<FeedListener>();
  let closed = false;
  const tell = (say: (listener: FeedListener) => void) => {
    for (const listener of listeners) {
      try {
        say(listener);
      } catch {
        listeners.delete(listener);
      }
    }
  };
  return {
    publish: (records) =>
      tell((listener) => {
        for (const record of records) listener.record(record);
      }),
    publishLimit: (event) => tell((listener) => listener.limit?.(event)),
    publishBudget: (notice) => tell((listener) => listener.budget?.(notice)),
    listen(listener) {
      if (closed || listeners.size >= MAX_LISTENERS) return null;
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {
      closed = true;
      for (const listener of [...listeners]) listener.ended();
      listeners.clear();
    },
  };
}
