import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import { noteBudgetsChanged } from "./budgets.ts";
import type { StoreConnections } from "./connections.ts";
import type {
  LastReassignment,
  Reassignment,
  ReassignmentCounts,
  ReassignmentStore,
} from "./port/reassignments.ts";
import { changeRequests } from "./rollups.ts";

const whereSql = `project = ? AND requested_at >= coalesce(?, requested_at)
  AND requested_at < coalesce(?, requested_at + 1)`;

/** Implements `ReassignmentStore`. */
export function createReassignmentStore({ state }: Pick<StoreConnections, "state">): ReassignmentStore {
  return {
    count: (move) => countRequests(state, move),
    move: (move, at) => state.transaction(() => moveRequests(state, move, at)),
    last: () => readLast(state),
    undo: () => state.transaction(() => undoLast(state)),
  };
}

function countRequests(state: SqliteConnection, { fromProject, period }: Reassignment): ReassignmentCounts {
  return (
    state
      .prepare<ReassignmentCounts>(
        `SELECT count(*) AS requests, count(synced_at) AS synced FROM requests WHERE ${whereSql}`,
      )
      .get([fromProject, period.from, period.to]) ?? { requests: 0, synced: 0 }
  );
}

function moveRequests(state: SqliteConnection, move: Reassignment, at: Millis): ReassignmentCounts {
  const moved = countRequests(state, move);
  // Later than every earlier move, even if the clock was set back: an undo applies to the latest.
  const stamp = Math.max(at, (readLast(state)?.at ?? 0) + 1);
  const selected = [move.fromProject, move.period.from, move.period.to];
  noteBudgetsChanged(state);
  changeRequests(state, { sql: whereSql, values: selected }, () =>
    state
      .prepare(
        `UPDATE requests SET project = ?, reassigned_from = project, reassigned_at = ? WHERE ${whereSql}`,
      )
      .run([move.toProject, stamp, ...selected]),
  );
  if (move.includesLaterCalls === true) mergeProject(state, move, stamp);
  return moved;
}

/** Records a merge. The target becomes a project of its own again if it was merged before. */
function mergeProject(
  state: SqliteConnection,
  { fromProject, toProject }: Reassignment,
  mergedAt: Millis,
): void {
  const merge = state.prepare(
    "INSERT INTO project_merges (project, merged_at, merged_into) VALUES (?, ?, ?)",
  );
  merge.run([fromProject, mergedAt, toProject]);
  merge.run([toProject, mergedAt, toProject]);
}

function readLast(state: SqliteConnection): LastReassignment | null {
  return state
    .prepare<LastReassignment>(
      `SELECT at, sum(requests) AS requests FROM (
         SELECT reassigned_at AS at, count(*) AS requests FROM requests WHERE reassigned_at IS NOT NULL
           GROUP BY reassigned_at
         UNION ALL SELECT merged_at, 0 FROM project_merges)
       GROUP BY at ORDER BY at DESC LIMIT 1`,
    )
    .get([]);
}

function undoLast(state: SqliteConnection): number {
  const last = readLast(state);
  if (last === null) return 0;
  noteBudgetsChanged(state);
  state.prepare("DELETE FROM project_merges WHERE merged_at = ?").run([last.at]);
  return changeRequests(state, { sql: "reassigned_at = ?", values: [last.at] }, () =>
    state
      .prepare(
        `UPDATE requests SET project = reassigned_from, reassigned_from = NULL, reassigned_at = NULL
         WHERE reassigned_at = ?`,
      )
      .run([last.at]),
  );
}
