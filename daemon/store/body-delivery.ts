import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { BodyRef } from "../../core/ports/sync-store.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoreConnections } from "./connections.ts";
import { dayOf } from "./days.ts";
import type { BodyDay, BodyDelivery, BodyDeliveryStore, BodySelection } from "./port/body-delivery.ts";
import type { BodyDirection } from "./port/values.ts";

interface PendingBodyRow {
  body_id: number;
  request_id: string;
  direction: string;
  captured_at: number;
  size_bytes: number;
  project: string;
}

/** As many digits as the largest row number, so that positions sort as text. */
const POSITION_DIGITS = 16;

const notQuarantined = `NOT EXISTS (SELECT 1 FROM cloud_quarantine AS q
  WHERE q.kind = 'body' AND q.request_id = b.request_id AND q.direction = b.direction)`;

/**
 * `mayUpload()` of the core as SQL. Its parameters are the watermark and the projects that are off, once for each use: Node
 * 22.19 does not bind numbered parameters.
 */
const isAllowed = `b.captured_at >= coalesce(?, b.captured_at)
  AND r.project NOT IN (SELECT value FROM json_each(?))`;

/** Whether the body's request is in the cloud or will be sent. */
const isSent = `(r.synced_at IS NOT NULL OR r.sync_skipped_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM cloud_quarantine AS q WHERE q.kind = 'metadata' AND q.request_id = r.request_id))`;

/** Implements `BodyDeliveryStore`. */
export function createBodyDeliveryStore({ state }: Pick<StoreConnections, "state">): BodyDeliveryStore {
  return {
    pending: (after, limit) => readPending(state, after, limit),

    markUploaded({ requestId, direction, capturedAt }, at) {
      state
        .prepare(
          `UPDATE request_bodies SET uploaded_at = ?
           WHERE request_id = ? AND direction = ? AND uploaded_at IS NULL AND captured_at = coalesce(?, captured_at)`,
        )
        .run([at, requestId, direction, capturedAt]);
    },

    quarantine({ requestId, direction, reason, httpStatus }, at) {
      state
        .prepare(
          `INSERT INTO cloud_quarantine (kind, request_id, direction, reason, http_status, quarantined_at)
           SELECT 'body', request_id, direction, ?, ?, ? FROM request_bodies WHERE request_id = ? AND direction = ?
           ON CONFLICT DO NOTHING`,
        )
        .run([reason, httpStatus, at, requestId, direction]);
    },

    totals: (selection) => readTotals(state, selection),
    days: (from, selection) => readDays(state, from, selection),
  };
}

function readPending(state: SqliteConnection, after: string | null, limit: number): BodyRef[] {
  return state
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
    }));
}

function projectsOff({ perProject }: BodySelection): string {
  return JSON.stringify(Object.keys(perProject).filter((project) => perProject[project] === false));
}

function readTotals(state: SqliteConnection, selection: BodySelection): BodyDelivery {
  const allowed = [selection.uploadFrom, projectsOff(selection)];
  const row = state
    .prepare<{ waiting: number; pending: number; uploadable: number }>(
      `SELECT count(*) AS waiting,
         count(*) FILTER (WHERE ${isAllowed} AND ${isSent}) AS pending,
         count(*) FILTER (WHERE ${isAllowed} AND r.synced_at IS NOT NULL) AS uploadable
       FROM request_bodies AS b LEFT JOIN requests AS r ON r.request_id = b.request_id
       WHERE b.uploaded_at IS NULL AND ${notQuarantined}`,
    )
    .get([...allowed, ...allowed]);
  const { waiting, pending, uploadable } = row ?? { waiting: 0, pending: 0, uploadable: 0 };
  const last = state
    .prepare<{ at: number | null }>("SELECT max(uploaded_at) AS at FROM request_bodies")
    .get([]);
  return { pending, uploadable, heldBack: waiting - pending, lastUploadAt: last?.at ?? null };
}

function readDays(state: SqliteConnection, from: Millis, selection: BodySelection): BodyDay[] {
  const bodies = state.prepare<{ captured_at: number; is_uploaded: number; is_pending: number | null }>(
    `SELECT b.captured_at, b.uploaded_at IS NOT NULL AS is_uploaded, ${isAllowed} AND ${isSent} AS is_pending
     FROM request_bodies AS b LEFT JOIN requests AS r ON r.request_id = b.request_id
     WHERE b.captured_at >= ? AND (b.uploaded_at IS NOT NULL OR ${notQuarantined}) ORDER BY b.captured_at`,
  );
  const days: BodyDay[] = [];
  let day: BodyDay | null = null;
  let until = 0;
  // The bounds of days follow the runtime's time zone, which SQLite may not know.
  for (const row of bodies.iterate([selection.uploadFrom, projectsOff(selection), from])) {
    if (day === null || row.captured_at >= until) {
      const { date, to } = dayOf(row.captured_at, "local");
      day = { date, uploaded: 0, pending: 0, heldBack: 0 };
      until = to;
      days.push(day);
    }
    day[row.is_uploaded === 1 ? "uploaded" : row.is_pending === 1 ? "pending" : "heldBack"] += 1;
  }
  return days;
}
