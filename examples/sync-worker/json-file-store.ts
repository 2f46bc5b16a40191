import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { SyncState } from "../../core/delivery/mod.ts";
import type { StateStore, SyncStore } from "../../core/ports/mod.ts";
import type { MetadataRecord } from "../../core/wire/mod.ts";

/** A record and its status. */
interface Entry {
  record: MetadataRecord;
  syncedAt: number | null;
  quarantined: string | null;
}

interface Contents {
  entries: Entry[];
  state: SyncState | null;
}

/** A JSON file with both stores that the worker needs: the records and the state of the sync. */
export interface JsonFileStore extends SyncStore {
  readonly states: StateStore<SyncState>;
  add(record: MetadataRecord): void;
  read(requestId: string): MetadataRecord;
}

/** Opens or creates a store. It is simple and slow: each change writes the whole file under another name and renames it. */
export function openJsonFileStore(path: string): JsonFileStore {
  const contents: Contents = existsSync(path)
    ? (JSON.parse(readFileSync(path, "utf8")) as Contents)
    : { entries: [], state: null };
  const find = (id: string) => contents.entries.find(({ record }) => record.request_id === id);
  const save = () => {
    writeFileSync(`${path}.new`, JSON.stringify(contents), { flush: true });
    renameSync(`${path}.new`, path);
  };
  return {
    states: {
      load: async () => contents.state,
      async save(state) {
        contents.state = state;
        save();
      },
    },
    add(record) {
      if (find(record.request_id) === undefined)
        contents.entries.push({ record, syncedAt: null, quarantined: null });
      save();
    },
    read(requestId) {
      const entry = find(requestId);
      if (entry === undefined) throw new RangeError(`no such record: ${requestId}`);
      return entry.record;
    },
    async selectPending(limit) {
      return contents.entries
        .filter(({ syncedAt, quarantined }) => syncedAt === null && quarantined === null)
        .slice(0, limit)
        .map(({ record }) => record.request_id);
    },
    async markSynced(requestIds, at) {
      for (const id of requestIds) {
        const entry = find(id);
        if (entry !== undefined) entry.syncedAt ??= at;
      }
      save();
    },
    async quarantine(records) {
      for (const { requestId, code } of records) {
        const entry = find(requestId);
        if (entry !== undefined) entry.quarantined ??= code;
      }
      save();
    },
  };
}
