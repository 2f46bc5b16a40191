import type { StoreConnections } from "./connections.ts";
import type { SettingStore } from "./port/settings.ts";

interface ProjectRow {
  project: string;
  body_capture: number | null;
}

/** Implements `SettingStore`. */
export function createSettingStore({ state }: Pick<StoreConnections, "state">): SettingStore {
  return {
    listProjects: () =>
      state
        .prepare<ProjectRow>("SELECT project, body_capture FROM project_settings ORDER BY project")
        .all([])
        .map(({ project, body_capture: on }) => ({ project, bodyCapture: on === null ? null : on === 1 })),

    setBodyCapture(project, on, at) {
      state
        .prepare(
          `INSERT INTO project_settings (project, body_capture, updated_at) VALUES (?, ?, ?)
           ON CONFLICT (project) DO UPDATE SET body_capture = excluded.body_capture, updated_at = excluded.updated_at`,
        )
        .run([project, on === null ? null : on ? 1 : 0, at]);
    },
  };
}
