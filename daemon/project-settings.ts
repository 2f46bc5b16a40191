import type { SettingStore } from "./store/mod.ts";

/** The projects' switches as the daemon sees them; the command line writes them in another process. */
export interface ProjectSwitches {
  anyBodyCapture(): boolean;
  bodyCapture(project: string): boolean;
}

/** How long what was read holds, in milliseconds: a switch takes effect within that time. */
const FRESH_MS = 1000;

/** Reads the switches at most once a second, since they are asked for on each call. */
export function createProjectSettings(
  store: Pick<SettingStore, "listProjectSettings">,
  nowMs: () => number,
): ProjectSwitches {
  let capturing = new Set<string>();
  let readAtMs = Number.NEGATIVE_INFINITY;
  const current = () => {
    if (nowMs() - readAtMs < FRESH_MS) return capturing;
    readAtMs = nowMs();
    try {
      capturing = new Set(
        store
          .listProjectSettings()
          .flatMap(({ project, bodyCapture }) => (bodyCapture === true ? [project] : [])),
      );
    } catch {
      // The store is in trouble, which it reports by itself. Capture of bodies fails closed.
      capturing = new Set();
    }
    return capturing;
  };
  return { anyBodyCapture: () => current().size > 0, bodyCapture: (project) => current().has(project) };
}
