import type { ProjectOrigin } from "../../core/metering/attribution/project-origin.ts";
import { findDaemon, type RunningDaemon, readToken } from "./daemon-process.ts";
import { type LoopbackOptions, requestDaemon } from "./loopback-client.ts";

/** How long the daemon may take to name a project, in milliseconds. It may have to check whether folders exist. */
const FIND_TIMEOUT_MS = 1_500;

/** Returns the project of a folder with this name, as the daemon attributes its calls. Null if the daemon does not tell. */
export async function requestProject(
  home: string,
  daemon: RunningDaemon,
  { name, origin }: { readonly name: string; readonly origin: ProjectOrigin },
  { connection }: Pick<LoopbackOptions, "connection"> = {},
): Promise<string | null> {
  try {
    const body = JSON.stringify({ name, ...origin });
    const options = {
      ...{ method: "POST" as const, body, timeoutMs: FIND_TIMEOUT_MS },
      ...(connection && { connection }),
    };
    const response = await requestDaemon(daemon, "/v1/projects/find", readToken(home), options);
    const { project } = JSON.parse(response.body) as { readonly project?: unknown };
    return response.status === 200 && typeof project === "string" ? project : null;
  } catch {
    return null;
  }
}

/** Makes a running daemon use the stored projects as they are now. */
export async function reloadProjects(home: string): Promise<void> {
  const daemon = await findDaemon(home);
  if (daemon === null) return;
  await requestDaemon(daemon, "/v1/projects/reload", readToken(home), { method: "POST" }).catch(() => {});
}
