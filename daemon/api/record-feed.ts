import type { RequestRecord } from "../../core/record.ts";

/** Listeners at once; a browser opens one for each page. */
const MAX_LISTENERS = 16;

/** Hands on what has just been stored. */
export interface RecordFeed {
  publish(records: readonly RequestRecord[]): void;
  /** Gives the function that ends it, or null where there are as many listeners as there may be. */
  listen(listener: FeedListener): (() => void) | null;
  /** Ends every listener, and takes none afterwards. */
  close(): void;
}

/** Called within the turn that stored the records: it must be quick. */
export interface FeedListener {
  record(record: RequestRecord): void;
  ended(): void;
}

/** Makes a feed. A listener that throws is nobody's loss but its own. */
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
