import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import { noteBudgetsChanged } from "./budgets.ts";
import { deleteReportsBefore } from "./client-reports.ts";
import type { StoreConnections } from "./connections.ts";
import { deleteLimitsBefore } from "./limits.ts";
import { createNoteStore } from "./notes.ts";
import { changePending, countPendingAmong } from "./pending.ts";
import type { Deletion, DeletionStore } from "./port/deletion.ts";
import { WEBHOOK_EVENTS_KEY } from "./port/settings.ts";
import { deleteUnusedPeaks } from "./request-peaks.ts";
import {
  changeRequests,
  clampThroughSeq,
  deleteUnusedSeries,
  type RequestCondition,
  requestsById,
} from "./rollups.ts";
import { forgetSpans } from "./summed-spans.ts";

/** How many requests one transaction deletes, so that capture does not wait long. */
const batchSize = 500;

/** How many bodies one transaction deletes. Each may overwrite half a megabyte. */
const bodyBatchSize = 100;

/** What is known about the logs of agents, besides the records. */
export const LOG_TABLES = ["log_files", "log_matches", "log_pull_requests"];

/** The note with the instant before which the user deleted the records. */
const PRUNED_BEFORE = "pruned_before";

/** Later than any capture, and still an integer that SQLite can store. */
const anyTime = Number.MAX_SAFE_INTEGER;

/**
 * Moves the cursors back to the last row, also those of webhooks and of the OTLP export in their notes. SQLite reuses the number of
 * a deleted last row, so a cursor that stayed beyond it would skip what is captured next. The caller has begun a transaction.
 */
export function clampCursors(state: SqliteConnection): void {
  const lower = (table: string, cursor: string, key: string, owner: string) =>
    state
      .prepare(
        `UPDATE ${table} SET ${cursor} = min(${cursor}, coalesce((SELECT max(${key}) FROM ${owner}), 0))`,
      )
      .run([]);
  clampThroughSeq(state);
  state
    .prepare(
      `UPDATE meta SET value = json_set(value, '$.recordSeq', max_seq)
       FROM (SELECT coalesce(max(seq), 0) AS max_seq FROM requests)
       WHERE CASE WHEN json_valid(value) THEN json_extract(value, '$.recordSeq') END > max_seq`,
    )
    .run([]);
  lower("cloud_sync_state", "cursor_seq", "seq", "requests");
  lower("cloud_body_sync_state", "cursor_body_id", "body_id", "request_bodies");
}

/** Implements `DeletionStore`. */
export function createDeletionStore({ state }: Pick<StoreConnections, "state">): DeletionStore {
  return {
    count: (before) => countDeletion(state, before ?? anyTime),
    deleteSome: (before) =>
      state.transaction(() => {
        noteBudgetsChanged(state);
        return deleteSome(state, before ?? anyTime);
      }),
    deleteRequests: (requestIds) =>
      state.transaction(() => {
        noteBudgetsChanged(state);
        deleteRequests(state, requestIds);
      }),
    finish(before, shrink) {
      state.transaction(() => {
        deleteLeftovers(state, before ?? anyTime);
        notePruned(state, before);
        if (before === null) {
          deleteOrigins(state);
          deleteLogPositions(state);
          createNoteStore({ state }).write(WEBHOOK_EVENTS_KEY, null);
        }
      });
      if (shrink) state.execute("VACUUM");
      // Otherwise the WAL would keep the old pages until they are overwritten.
      state.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all([]);
    },
  };
}

function countDeletion(state: SqliteConnection, before: Millis): Deletion {
  const count = (sql: string) => state.prepare<{ n: number }>(sql).get([before])?.n ?? 0;
  return {
    requests: count("SELECT count(*) AS n FROM requests WHERE requested_at < ?"),
    bodies: count("SELECT count(*) AS n FROM request_bodies WHERE captured_at < ?"),
    unsent: count(
      `SELECT count(*) AS n FROM requests WHERE requested_at < ? AND synced_at IS NULL AND sync_skipped_at IS NULL
         AND (SELECT enabled FROM cloud_state) = 1`,
    ),
  };
}

/** Deletes a batch of bodies, or of requests once no body is left. */
function deleteSome(state: SqliteConnection, before: Millis): Omit<Deletion, "unsent"> {
  const oldest = {
    sql: `seq IN (SELECT seq FROM requests WHERE requested_at < ? ORDER BY requested_at, seq LIMIT ${batchSize})`,
    values: [before],
  };
  // A response may have come after the instant, and goes with its request.
  const bodies =
    deleteBodies(state, "captured_at < ? ORDER BY captured_at", before) ||
    deleteBodies(state, `request_id IN (SELECT request_id FROM requests WHERE ${oldest.sql})`, before);
  return { requests: bodies > 0 ? 0 : deleteRows(state, oldest), bodies };
}

/** Deletes a batch of the bodies. Returns their number. */
function deleteBodies(state: SqliteConnection, which: string, before: Millis): number {
  return state
    .prepare(
      `DELETE FROM request_bodies WHERE body_id IN
         (SELECT body_id FROM request_bodies WHERE ${which} LIMIT ${bodyBatchSize})`,
    )
    .run([before]);
}

/** Deletes requests with their quarantine, and returns their number. The caller has begun a transaction. */
export function deleteRows(state: SqliteConnection, requests: RequestCondition): number {
  const { sql, values } = requests;
  let deleted = 0;
  changePending(state, () => {
    const pending = countPendingAmong(state, requests);
    deleted = changeRequests(state, requests, () => {
      state
        .prepare(
          `DELETE FROM cloud_quarantine WHERE kind = 'metadata'
             AND request_id IN (SELECT request_id FROM requests WHERE ${sql})`,
        )
        .run(values);
      return state.prepare(`DELETE FROM requests WHERE ${sql}`).run(values);
    });
    clampCursors(state);
    return -pending;
  });
  return deleted;
}

function deleteRequests(state: SqliteConnection, requestIds: readonly string[]): void {
  const removeBodies = state.prepare("DELETE FROM request_bodies WHERE request_id = ?");
  for (const id of requestIds) removeBodies.run([id]);
  deleteRows(state, requestsById(requestIds));
}

/** Remembers the latest instant before which records were deleted; none after a deletion of everything. */
function notePruned(state: SqliteConnection, before: Millis | null): void {
  const latest = Math.max(before ?? 0, readPrunedBefore(state) ?? 0);
  createNoteStore({ state }).write(PRUNED_BEFORE, before === null ? null : String(latest));
}

/** Returns the instant before which `meter prune` deleted everything. Null: it never did. */
export function readPrunedBefore(state: SqliteConnection): Millis | null {
  const stored = Number(createNoteStore({ state }).read(PRUNED_BEFORE) ?? Number.NaN);
  return Number.isFinite(stored) ? stored : null;
}

/** So that the next import of logs reads everything again. */
function deleteLogPositions(state: SqliteConnection): void {
  for (const table of LOG_TABLES) state.prepare(`DELETE FROM ${table}`).run([]);
}

function deleteOrigins(state: SqliteConnection): void {
  state.prepare("DELETE FROM project_origins").run([]);
  state.prepare("DELETE FROM project_merges").run([]);
}

/** Deletes coverage before the instant, and what belonged to requests and bodies that are gone. */
function deleteLeftovers(state: SqliteConnection, before: Millis): void {
  deleteUnusedSeries(state);
  deleteUnusedPeaks(state);
  forgetSpans(state, { first: 0, last: before - 1 });
  deleteLimitsBefore(state, before);
  deleteReportsBefore(state, before);
  // Those of budgets by session name the session.
  state.prepare("DELETE FROM budget_warnings WHERE fired_at < ?").run([before]);
  state.prepare("DELETE FROM coverage WHERE slot < ?").run([before]);
  state.prepare("DELETE FROM coverage_calls WHERE slot < ?").run([before]);
  state.prepare("DELETE FROM daemon_runs WHERE run_to < ?").run([before]);
  state
    .prepare(
      `DELETE FROM cloud_quarantine WHERE
         (kind = 'metadata' AND request_id NOT IN (SELECT request_id FROM requests))
         OR (kind = 'body' AND request_id NOT IN (SELECT request_id FROM request_bodies))`,
    )
    .run([]);
}
