import type { RejectedRecord, SyncStore } from "../../core/ports/sync-store.ts";
import type { Millis } from "../../core/values/time.ts";

/** Records waiting for sync, in memory. */
export interface MemorySyncStore<Record> extends SyncStore {
  /** Appends a record. Does nothing if it already exists. */
  add(requestId: string, record: Record): void;
  /** Returns the record, or `null` if the id is unknown. */
  read(requestId: string): Record | null;
  readonly syncedAt: ReadonlyMap<string, Millis>;
  readonly quarantined: ReadonlyMap<string, RejectedRecord & { readonly at: Millis }>;
}

/** Creates an empty store. */
export function createMemorySyncStore<Record>(): MemorySyncStore<Record> {
  const records = new Map<string, Record>();
  const syncedAt = new Map<string, Millis>();
  const quarantined = new Map<string, RejectedRecord & { readonly at: Millis }>();

  return {
    syncedAt,
    quarantined,
    add(requestId, record) {
      if (!records.has(requestId)) records.set(requestId, record);
    },
    read: (requestId) => records.get(requestId) ?? null,
    async selectPending(limit) {
      return [...records.keys()].filter((id) => !syncedAt.has(id) && !quarantined.has(id)).slice(0, limit);
    },
    async markSynced(requestIds, at) {
      for (const id of requestIds) if (records.has(id) && !syncedAt.has(id)) syncedAt.set(id, at);
    },
    async quarantine(rejected, at) {
      for (const one of rejected) {
        const { requestId } = one;
        if (records.has(requestId) && !quarantined.has(requestId)) quarantined.set(requestId, { ...one, at });
      }
    },
  };
}
