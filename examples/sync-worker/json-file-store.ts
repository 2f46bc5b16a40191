import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { StateStore } from "../../core/ports/state-store.ts";
import type { SyncStore } from "../../core/ports/sync-store.ts";
import type { SyncState } from "../../core/sync/mod.ts";
import type { MetadataRecord } from "../../core/wire/mod.ts";

/** A record and what became of it. */
interface Entry {
  record: MetadataRecord;
  syncedAt: number | null;
  quarantined: string | null;
}

interface Contents {
  entries: Entry[];
  state: SyncState | null;
}

/** Both stores that the worker needs, in one JSON file. */
export interface JsonFileStore extends SyncStore {
  readonly states: StateStore<SyncState>;
  add(record: MetadataRecord): void;
  read(requestId: string): MetadataRecord;
}

/** Opens a file, or begins it. Small and slow: each change writes all of it, under another name first. */
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
