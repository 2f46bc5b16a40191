import { homedir } from "node:os";
import { sep } from "node:path";
import { followMerges, type ProjectOrigin } from "../../../core/metering/attribution/project-origin.ts";
import type { OriginStore } from "../../../daemon/store/port/origins.ts";

/** Returns the origins of each project, merged ones included, the first known first. */
export function listOrigins(origins: OriginStore): Map<string, ProjectOrigin[]> {
  const merges = origins.listMerges();
  const found = new Map<string, ProjectOrigin[]>();
  for (const { origin, folder, slug } of origins.list()) {
    const project = followMerges(slug, merges);
    // A repository that got a remote has an assignment for its folder too.
    const others = (found.get(project) ?? []).filter(
      (each) => each.remote !== null || each.folder !== folder,
    );
    found.set(project, [...others, { remote: origin === folder ? null : origin, folder }]);
  }
  return found;
}

/** Formats origins for a table: the first one, and how many others there are. */
export function formatOrigins(origins: readonly ProjectOrigin[]): string {
  const [first, ...others] = origins;
  if (first === undefined) return "–";
  return others.length === 0 ? formatOrigin(first) : `${formatOrigin(first)} and ${others.length} more`;
}

/** Formats an origin: the remote, or the folder with `~` for the home directory. */
export function formatOrigin({ remote, folder }: ProjectOrigin): string {
  const home = homedir();
  return remote ?? (folder.startsWith(home + sep) ? `~${folder.slice(home.length)}` : folder);
}
