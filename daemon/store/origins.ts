import type { OriginAssignment } from "../../core/metering/attribution/project-origin.ts";
import type { StoreConnections } from "./connections.ts";
import type { OriginStore } from "./port/origins.ts";
import { findLatest, inUsageSnapshot } from "./usage-parts.ts";

const ANY_TIME = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };

/** Implements `OriginStore`. */
export function createOriginStore({ state }: Pick<StoreConnections, "state">): OriginStore {
  return {
    list: () =>
      state
        .prepare<OriginAssignment>("SELECT name, origin, folder, slug FROM project_origins ORDER BY seq")
        .all([])
        .map((row) => ({ ...row })),

    assign: ({ name, origin, folder, slug }, replaced) =>
      state.transaction(() => {
        const remove = state.prepare("DELETE FROM project_origins WHERE name = ? AND origin = ?");
        for (const each of [...replaced, { name, origin }]) remove.run([each.name, each.origin]);
        state
          .prepare("INSERT INTO project_origins (name, origin, folder, slug) VALUES (?, ?, ?, ?)")
          .run([name, origin, folder, slug]);
      }),

    isUsed: (project) =>
      inUsageSnapshot(state, (usage) =>
        usage.latest === null
          ? state.prepare("SELECT 1 FROM requests WHERE project = ? LIMIT 1").get([project]) !== null
          : findLatest(usage, ANY_TIME, { columns: [], filters: { project } }) !== null,
      ),

    listMerges: () =>
      new Map(
        state
          .prepare<{ project: string; merged_into: string }>(
            "SELECT project, merged_into FROM project_merges ORDER BY merged_at",
          )
          .all([])
          .map(({ project, merged_into }) => [project, merged_into]),
      ),
  };
}
