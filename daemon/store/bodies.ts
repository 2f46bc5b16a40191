import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoreConnections } from "./connections.ts";
import { clampCursors } from "./deletion.ts";
import type { BodyStats, BodyStore, CapturedBody, StoredBody } from "./port/bodies.ts";
import type { BodyDirection } from "./port/values.ts";

/** How many bodies one transaction deletes, so that capture does not wait long. */
const sweepBatch = 100;

interface BodyRow {
  request_id: string;
  direction: string;
  captured_at: number;
  content_type: string | null;
  content: Uint8Array;
  original_size_bytes: number;
  truncated: number;
  redaction_applied: number;
  redaction_summary: string;
  uploaded_at: number | null;
}

const toStoredBody = (row: BodyRow): StoredBody => ({
  requestId: row.request_id,
  direction: row.direction as BodyDirection,
  capturedAt: row.captured_at,
  contentType: row.content_type,
  content: row.content,
  originalSizeBytes: row.original_size_bytes,
  truncated: row.truncated === 1,
  redactionApplied: row.redaction_applied === 1,
  redactionSummary: JSON.parse(row.redaction_summary) as string[],
  uploadedAt: row.uploaded_at,
});

/** Inserts bodies. The caller has begun a transaction. */
export function insertBodyRows(connection: SqliteConnection, bodies: readonly CapturedBody[]): void {
  const insert = connection.prepare<{ body_id: number }>(
    `INSERT INTO request_bodies (request_id, direction, captured_at, content_type, size_bytes, original_size_bytes,
           truncated, redaction_applied, redaction_summary)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (request_id, direction) DO UPDATE SET captured_at = excluded.captured_at,
           content_type = excluded.content_type, size_bytes = excluded.size_bytes,
           original_size_bytes = excluded.original_size_bytes, truncated = excluded.truncated,
           redaction_applied = excluded.redaction_applied, redaction_summary = excluded.redaction_summary,
           uploaded_at = NULL
         RETURNING body_id`,
  );
  const content = connection.prepare(
    `INSERT INTO request_body_contents (body_id, content) VALUES (?, ?)
         ON CONFLICT (body_id) DO UPDATE SET content = excluded.content`,
  );
  for (const body of bodies) {
    const [row] = insert.all([
      body.requestId,
      body.direction,
      Math.round(body.capturedAt),
      body.contentType,
      body.content.length,
      body.originalSizeBytes,
      body.truncated ? 1 : 0,
      body.redactionApplied ? 1 : 0,
      JSON.stringify(body.redactionSummary),
    ]);
    if (row !== undefined) content.run([row.body_id, body.content]);
  }
}

/** Implements `BodyStore`. */
export function createBodyStore({ capture, state }: Pick<StoreConnections, "capture" | "state">): BodyStore {
  const read = (requestId: string) => readBodies(state, requestId);
  return {
    insert: (bodies) => capture.transaction(() => insertBodyRows(capture, bodies)),
    read,
    get: (requestId, direction) => read(requestId).find((body) => body.direction === direction) ?? null,
    stats: () => readStats(state),
    countBefore: (before) =>
      state
        .prepare<{ n: number }>("SELECT count(*) AS n FROM request_bodies WHERE captured_at < ?")
        .get([before])?.n ?? 0,
    deleteSome: (before) => deleteSome(state, before),
  };
}

function readBodies(state: SqliteConnection, requestId: string): StoredBody[] {
  return state
    .prepare<BodyRow>(
      `SELECT * FROM request_bodies JOIN request_body_contents USING (body_id)
       WHERE request_id = ? ORDER BY direction`,
    )
    .all([requestId])
    .map(toStoredBody);
}

interface StatsRow {
  bodies: number;
  requests: number;
  size: number;
  truncated: number;
  redacted: number;
  pending: number;
  oldest: number | null;
  newest: number | null;
}

function readStats(state: SqliteConnection): BodyStats {
  const row = state
    .prepare<StatsRow>(
      `SELECT count(*) AS bodies, count(DISTINCT request_id) AS requests, coalesce(sum(size_bytes), 0) AS size,
         count(*) FILTER (WHERE truncated = 1) AS truncated,
         count(*) FILTER (WHERE redaction_applied = 1) AS redacted,
         count(*) FILTER (WHERE uploaded_at IS NULL) AS pending,
         min(captured_at) AS oldest, max(captured_at) AS newest
       FROM request_bodies`,
    )
    .get([]);
  return {
    bodies: row?.bodies ?? 0,
    requests: row?.requests ?? 0,
    sizeBytes: row?.size ?? 0,
    truncated: row?.truncated ?? 0,
    redacted: row?.redacted ?? 0,
    pending: row?.pending ?? 0,
    oldestAt: row?.oldest ?? null,
    newestAt: row?.newest ?? null,
  };
}

function deleteSome(state: SqliteConnection, before: Millis): number {
  // `secure_delete` overwrites freed pages. The foreign key deletes the contents with their row.
  const remove = state.prepare(
    `DELETE FROM request_bodies WHERE body_id IN
       (SELECT body_id FROM request_bodies WHERE captured_at < ? ORDER BY captured_at LIMIT ${sweepBatch})`,
  );
  const deleted = state.transaction(() => {
    const n = remove.run([before]);
    if (n > 0) clampCursors(state);
    return n;
  });
  // Otherwise the WAL would keep the old pages until they are overwritten.
  if (deleted === 0) state.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all([]);
  return deleted;
}
