import type { SqliteValue } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/time.ts";
import type { BodyDirection } from "./bodies.ts";
import type { StoreConnections } from "./connections.ts";
import type { Tables } from "./tables.ts";

/** The three tables of one row. Source: contract, "Local daemon state records". */
export type CloudStateTable = "cloud_state" | "cloud_sync_state" | "cloud_body_sync_state";

/** One of those rows, in the names of its columns. */
export type CloudStateRow<Table extends CloudStateTable> = Omit<Tables[Table], "id">;

/** A record that the cloud refused for good. */
export interface QuarantineEntry {
  kind: "metadata" | "body";
  requestId: string;
  /** `null` for metadata. */
  direction: BodyDirection | null;
  reason: string;
  httpStatus: number | null;
  quarantinedAt: Millis;
}

/** What became of pending requests. */
export interface SettledRequests {
  /** In the cloud, accepted or duplicate. */
  synced: readonly string[];
  /** Passed over: they are never sent later. */
  skipped: readonly string[];
  quarantined: readonly QuarantineEntry[];
  at: Millis;
}

/** What the sync workers keep. Every write is on the disk when the method returns. */
export interface CloudStore {
  readCloudState<Table extends CloudStateTable>(table: Table): CloudStateRow<Table>;
  updateCloudState<Table extends CloudStateTable>(table: Table, change: Partial<CloudStateRow<Table>>): void;
  /** Requests neither sent, passed over nor in quarantine. */
  countPending(): number;
  /** Stamps, quarantines and moves the cursor, in one transaction. Idempotent: the first stamp stays. */
  settleRequests(settled: SettledRequests): void;
  listQuarantine(): QuarantineEntry[];
  /** Takes entries out, so that they are pending again. Gives their number. */
  releaseQuarantine(kind: QuarantineEntry["kind"], requestIds: readonly string[]): number;
}

interface QuarantineRow {
  kind: string;
  request_id: string;
  direction: string;
  reason: string;
  http_status: number | null;
  quarantined_at: number;
}

/** After the cursor, which leaves only the tail to look through. */
export const pendingSql = `FROM requests NOT INDEXED
  WHERE seq > (SELECT cursor_seq FROM cloud_sync_state) AND synced_at IS NULL AND sync_skipped_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM cloud_quarantine AS q
                    WHERE q.kind = 'metadata' AND q.request_id = requests.request_id)`;

/** Makes the part of the store that the sync workers use. */
export function createCloudStore({ state }: Pick<StoreConnections, "state">): CloudStore {
  return {
    readCloudState<Table extends CloudStateTable>(table: Table) {
      const row = state.prepare<Tables[Table]>(`SELECT * FROM ${table} WHERE id = 1`).get([]);
      if (row === null) throw new RangeError(`the row of ${table} is gone`);
      const { id: _, ...rest } = row;
      return rest as CloudStateRow<Table>;
    },

    updateCloudState(table, change) {
      const names = Object.keys(change);
      if (names.length === 0) return;
      if (names.some((name) => !/^[a-z_]+$/.test(name)))
        throw new RangeError(`not columns: ${names.join(", ")}`);
      state
        .prepare(`UPDATE ${table} SET ${names.map((name) => `${name} = ?`).join(", ")} WHERE id = 1`)
        .run(Object.values(change) as SqliteValue[]);
    },

    countPending: () => state.prepare<{ n: number }>(`SELECT count(*) AS n ${pendingSql}`).get([])?.n ?? 0,

    settleRequests({ synced, skipped, quarantined, at }) {
      const stamp = (column: string) =>
        state.prepare(`UPDATE requests SET ${column} = coalesce(${column}, ?) WHERE request_id = ?`);
      const [stampSynced, stampSkipped] = [stamp("synced_at"), stamp("sync_skipped_at")];
      const quarantine = state.prepare(
        `INSERT INTO cloud_quarantine (kind, request_id, direction, reason, http_status, quarantined_at)
         VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      );
      state.transaction(() => {
        for (const id of synced) stampSynced.run([at, id]);
        for (const id of skipped) stampSkipped.run([at, id]);
        for (const entry of quarantined) {
          const { kind, requestId, direction, reason, httpStatus, quarantinedAt } = entry;
          quarantine.run([kind, requestId, direction ?? "", reason, httpStatus, quarantinedAt]);
        }
        state
          .prepare(
            `UPDATE cloud_sync_state SET cursor_seq =
               coalesce((SELECT min(seq) - 1 ${pendingSql}), (SELECT max(seq) FROM requests), 0)`,
          )
          .run([]);
      });
    },

    listQuarantine: () =>
      state
        .prepare<QuarantineRow>("SELECT * FROM cloud_quarantine ORDER BY quarantined_at, request_id")
        .all([])
        .map((row) => ({
          kind: row.kind as QuarantineEntry["kind"],
          requestId: row.request_id,
          direction: row.direction === "" ? null : (row.direction as BodyDirection),
          reason: row.reason,
          httpStatus: row.http_status,
          quarantinedAt: row.quarantined_at,
        })),

    releaseQuarantine(kind, requestIds) {
      const remove = state.prepare("DELETE FROM cloud_quarantine WHERE kind = ? AND request_id = ?");
      const [table, cursor, key, owner] =
        kind === "metadata"
          ? ["cloud_sync_state", "cursor_seq", "seq", "requests"]
          : ["cloud_body_sync_state", "cursor_body_id", "body_id", "request_bodies"];
      const back = state.prepare(
        `UPDATE ${table} SET ${cursor} = min(${cursor},
           coalesce((SELECT min(${key}) - 1 FROM ${owner} WHERE request_id = ?), ${cursor}))`,
      );
      return state.transaction(() => {
        let released = 0;
        for (const id of requestIds) {
          released += remove.run([kind, id]);
          back.run([id]);
        }
        return released;
      });
    },
  };
}
