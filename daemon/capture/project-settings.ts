import type { SettingStore } from "../store/port/settings.ts";

/** The body capture settings of projects. The command line changes them in another process. */
interface ProjectCaptureSettings {
  anyBodyCapture(): boolean;
  bodyCapture(project: string): boolean;
}

/** How long settings are cached, in milliseconds. A change takes effect within this time. */
export const FRESH_MS = 1000;

/** Creates a cache of the settings, since they are needed for each call. */
export function createProjectSettings(
  settings: Pick<SettingStore, "listProjects">,
  nowMs: () => number,
): ProjectCaptureSettings {
  let capturing = new Set<string>();
  let readAtMs = Number.NEGATIVE_INFINITY;
  const current = () => {
    if (nowMs() - readAtMs < FRESH_MS) return capturing;
    readAtMs = nowMs();
    try {
      capturing = new Set(
        settings
          .listProjects()
          .flatMap(({ project, bodyCapture }) => (bodyCapture === true ? [project] : [])),
      );
    } catch {
      // The store reports its own failures. Body capture fails closed.
      capturing = new Set();
    }
    return capturing;
  };
  return { anyBodyCapture: () => current().size > 0, bodyCapture: (project) => current().has(project) };
}
