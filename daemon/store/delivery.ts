import type { Millis } from "../../core/time.ts";
import type { BodyRef } from "../../core/uploader/mod.ts";
import type { BodyDirection, StoredBody } from "./bodies.ts";
import { type CloudStateRow, type CloudStateTable, createCloudStore, pendingSql } from "./cloud-records.ts";
import type { StoreConnections } from "./connections.ts";
import { dayOf } from "./days.ts";
import { type RequestRow, type StoredRequest, toStoredRequest } from "./request-rows.ts";

/** One day of captured legs. */
export interface BodyDay {
  /** `YYYY-MM-DD`, local time. */
  date: string;
  uploaded: number;
  pending: number;
}

/** What is on its way to the cloud: the workers' own questions and stamps. Every write is on the disk when it returns. */
export interface DeliveryStore {
  /** The oldest pending requests with their projects. */
  pendingProjects(limit: number): { requestId: string; project: string }[];
  /** The requests that are still there, in the order of arrival. */
  requestsById(requestIds: readonly string[]): StoredRequest[];
  /** When the first of the pending to arrive began: not a look at all of them, which may be years. */
  oldestPendingAt(): Millis | null;
  /** Stamps everything that is pending as passed over, so that it is never sent. Gives the number. */
  skipPending(at: Millis): number;
  /** Legs of synced requests, neither uploaded nor in quarantine, behind the position, in the order of arrival. */
  pendingBodies(after: string | null, limit: number): BodyRef[];
  /** One leg with its bytes; null where it is gone. */
  readBody(requestId: string, direction: BodyDirection): StoredBody | null;
  /** Stamps `uploaded_at` of the leg that was captured at that time; a newer capture stays pending. Idempotent. */
  markBodyUploaded(
    leg: { requestId: string; direction: BodyDirection; capturedAt: Millis | null },
    at: Millis,
  ): void;
  quarantineBody(
    leg: { requestId: string; direction: BodyDirection; reason: string; httpStatus: number | null },
    at: Millis,
  ): void;
  /** Legs that wait, whether their request is synced or not, and the largest `uploaded_at`. */
  bodyDelivery(): { pending: number; lastUploadAt: Millis | null };
  /** Local days with captured legs from the instant on, in order; what the cloud refused for good counts as neither. */
  bodyDays(from: Millis): BodyDay[];
  countQuarantine(): number;
  /** The requests of a period with whether they are in quarantine, one by one. */
  deliveries(from: Millis, to: Millis): IterableIterator<{ request: StoredRequest; quarantined: boolean }>;
  /** Keeps a machine's state under its key and what its table shows of it, in one transaction. */
  saveMachine<Table extends CloudStateTable>(
    key: string,
    json: string,
    table: Table,
    change: Partial<CloudStateRow<Table>>,
  ): void;
}

interface PendingBodyRow {
  body_id: number;
  request_id: string;
  direction: string;
  captured_at: number;
  size_bytes: number;
  project: string;
}

/** As many digits as any row number has, so that positions order as texts. */
const POSITION_DIGITS = 16;

const notQuarantined = `NOT EXISTS (SELECT 1 FROM cloud_quarantine AS q
  WHERE q.kind = 'body' AND q.request_id = b.request_id AND q.direction = b.direction)`;

/** Makes the part of the store that the workers ask. */
export function createDeliveryStore(
  connections: Pick<StoreConnections, "state">,
  readBodies: (requestId: string) => StoredBody[],
): DeliveryStore {
  const { state } = connections;
  const { updateCloudState } = createCloudStore(connections);
  return {
    pendingProjects: (limit) =>
      state
        .prepare<{ request_id: string; project: string }>(
          `SELECT request_id, project ${pendingSql} ORDER BY seq LIMIT ?`,
        )
        .all([limit])
        .map((row) => ({ requestId: row.request_id, project: row.project })),

    requestsById(requestIds) {
      const find = state.prepare<RequestRow>("SELECT * FROM requests WHERE request_id = ?");
      return requestIds.flatMap((id) => {
        const row = find.get([id]);
        return row === null ? [] : [toStoredRequest(row)];
      });
    },

    oldestPendingAt: () =>
      state.prepare<{ at: number }>(`SELECT requested_at AS at ${pendingSql} ORDER BY seq LIMIT 1`).get([])
        ?.at ?? null,

    skipPending: (at) =>
      state.transaction(() => {
        const skipped = state
          .prepare(`UPDATE requests SET sync_skipped_at = ? WHERE seq IN (SELECT seq ${pendingSql})`)
          .run([at]);
        state
          .prepare("UPDATE cloud_sync_state SET cursor_seq = coalesce((SELECT max(seq) FROM requests), 0)")
          .run([]);
        return skipped;
      }),

    pendingBodies: (after, limit) =>
      state
        .prepare<PendingBodyRow>(
          `SELECT b.body_id, b.request_id, b.direction, b.captured_at, b.size_bytes, r.project
           FROM request_bodies AS b JOIN requests AS r ON r.request_id = b.request_id
           WHERE b.body_id > ? AND b.uploaded_at IS NULL AND r.synced_at IS NOT NULL AND ${notQuarantined}
           ORDER BY b.body_id LIMIT ?`,
        )
        .all([Number(after ?? 0), limit])
        .map((row) => ({
          requestId: row.request_id,
          direction: row.direction as BodyDirection,
          project: row.project,
          capturedAt: row.captured_at,
          sizeBytes: row.size_bytes,
          position: String(row.body_id).padStart(POSITION_DIGITS, "0"),
        })),

    readBody: (requestId, direction) =>
      readBodies(requestId).find((body) => body.direction === direction) ?? null,

    markBodyUploaded({ requestId, direction, capturedAt }, at) {
      state
        .prepare(
          `UPDATE request_bodies SET uploaded_at = ?
           WHERE request_id = ? AND direction = ? AND uploaded_at IS NULL AND captured_at = coalesce(?, captured_at)`,
        )
        .run([at, requestId, direction, capturedAt]);
    },

    quarantineBody({ requestId, direction, reason, httpStatus }, at) {
      state
        .prepare(
          `INSERT INTO cloud_quarantine (kind, request_id, direction, reason, http_status, quarantined_at)
           SELECT 'body', request_id, direction, ?, ?, ? FROM request_bodies WHERE request_id = ? AND direction = ?
           ON CONFLICT DO NOTHING`,
        )
        .run([reason, httpStatus, at, requestId, direction]);
    },

    bodyDelivery() {
      const row = state
        .prepare<{ pending: number; at: number | null }>(
          `SELECT count(*) FILTER (WHERE b.uploaded_at IS NULL AND ${notQuarantined}) AS pending,
             max(b.uploaded_at) AS at FROM request_bodies AS b`,
        )
        .get([]);
      return { pending: row?.pending ?? 0, lastUploadAt: row?.at ?? null };
    },

    bodyDays(from) {
      const legs = state.prepare<{ captured_at: number; is_uploaded: number }>(
        `SELECT b.captured_at, b.uploaded_at IS NOT NULL AS is_uploaded FROM request_bodies AS b
         WHERE b.captured_at >= ? AND (b.uploaded_at IS NOT NULL OR ${notQuarantined}) ORDER BY b.captured_at`,
      );
      const days: BodyDay[] = [];
      let [day, until] = [null as BodyDay | null, 0];
      // By the runtime's calendar, as all days here: SQLite asks the system's, which may know no time zones.
      for (const { captured_at, is_uploaded } of legs.iterate([from])) {
        if (day === null || captured_at >= until) {
          const { date, to } = dayOf(captured_at, "local");
          [day, until] = [{ date, uploaded: 0, pending: 0 }, to];
          days.push(day);
        }
        day[is_uploaded === 1 ? "uploaded" : "pending"] += 1;
      }
      return days;
    },

    countQuarantine: () =>
      state.prepare<{ n: number }>("SELECT count(*) AS n FROM cloud_quarantine").get([])?.n ?? 0,

    *deliveries(from, to) {
      const rows = state.prepare<RequestRow & { quarantined: number }>(
        `SELECT *, EXISTS (SELECT 1 FROM cloud_quarantine AS q
             WHERE q.kind = 'metadata' AND q.request_id = requests.request_id) AS quarantined
           FROM requests WHERE requested_at >= ? AND requested_at < ?`,
      );
      for (const row of rows.iterate([from, to])) {
        yield { request: toStoredRequest(row), quarantined: row.quarantined === 1 };
      }
    },

    saveMachine(key, json, table, change) {
      state.transaction(() => {
        state.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)").run([key, json]);
        updateCloudState(table, change);
      });
    },
  };
}
