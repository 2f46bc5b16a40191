import type { RequestRecord } from "../../core/values/record.ts";

/** The most concurrent listeners. A browser opens one per page. */
const MAX_LISTENERS = 16;

/** Publishes records as they are stored. */
export interface RecordFeed {
  publish(records: readonly RequestRecord[]): void;
  /** Returns a function that removes the listener, or null if there are too many listeners. */
  listen(listener: FeedListener): (() => void) | null;
  /** Ends all listeners and accepts no more. */
  close(): void;
}

/** A listener. It is called in the event loop turn that stored the records and must return quickly. */
interface FeedListener {
  record(record: RequestRecord): void;
  ended(): void;
}

/** Creates a feed. A listener that throws is removed. */
export function createRecordFeed(): RecordFeed {
  const listeners = new Set<FeedListener>();
  let closed = false;
  return {
    publish(records) {
      for (const listener of listeners) {
        try {
          for (const record of records) listener.record(record);
        } catch {
          listeners.delete(listener);
        }
      }
    },
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
