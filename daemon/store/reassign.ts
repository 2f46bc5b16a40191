import type { Millis } from "../../core/time.ts";
import type { Period, StoreConnections } from "./connections.ts";

/** Which requests move to which project. */
export interface Reassignment {
  fromProject: string;
  toProject: string;
  period: Period;
}

/** What a move moves. */
export interface Reassigned {
  requests: number;
  /** Those of them that a cloud has already, under the old name. */
  synced: number;
}

/** A move that can be taken back. */
export interface LastReassignment {
  at: Millis;
  requests: number;
}

/** Moves past requests from project to project. */
export interface ReassignStore {
  countReassignment(move: Reassignment): Reassigned;
  /** Moves them in one transaction. Where they were before is kept. */
  reassign(move: Reassignment, at: Millis): Reassigned;
  /** The last move that was not taken back; `null` when there is none. */
  lastReassignment(): LastReassignment | null;
  /** Takes that move back. Gives the number of requests. */
  undoReassignment(): number;
}

const whereSql = `project = ? AND requested_at >= coalesce(?, requested_at)
  AND requested_at < coalesce(?, requested_at + 1)`;

/** Makes the part of the store that moves requests. */
export function createReassignStore({ state }: Pick<StoreConnections, "state">): ReassignStore {
  const countReassignment = ({ fromProject, period }: Reassignment): Reassigned =>
    state
      .prepare<Reassigned>(
        `SELECT count(*) AS requests, count(synced_at) AS synced FROM requests WHERE ${whereSql}`,
      )
      .get([fromProject, period.from, period.to]) ?? { requests: 0, synced: 0 };
  const lastReassignment = () =>
    state
      .prepare<LastReassignment>(
        `SELECT reassigned_at AS at, count(*) AS requests FROM requests WHERE reassigned_at IS NOT NULL
         GROUP BY reassigned_at ORDER BY reassigned_at DESC LIMIT 1`,
      )
      .get([]);
  return {
    countReassignment,

    reassign: (move, at) =>
      state.transaction(() => {
        const moved = countReassignment(move);
        // Later than every move before, also where the clock went back: the last one is what an undo takes back.
        const stamp = Math.max(at, (lastReassignment()?.at ?? 0) + 1);
        state
          .prepare(
            `UPDATE requests SET project = ?, reassigned_from = project, reassigned_at = ? WHERE ${whereSql}`,
          )
          .run([move.toProject, stamp, move.fromProject, move.period.from, move.period.to]);
        return moved;
      }),

    lastReassignment,

    undoReassignment: () =>
      state.transaction(() => {
        const last = lastReassignment();
        if (last === null) return 0;
        return state
          .prepare(
            `UPDATE requests SET project = reassigned_from, reassigned_from = NULL, reassigned_at = NULL
             WHERE reassigned_at = ?`,
          )
          .run([last.at]);
      }),
  };
}
