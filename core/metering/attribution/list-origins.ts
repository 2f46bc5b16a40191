import { followMerges, type OriginAssignment, type ProjectOrigin } from "./project-origin.ts";

/** What is stored of the origins of projects. */
export interface StoredOrigins {
  readonly assignments: readonly OriginAssignment[];
  /** The merged projects, each with the one that it was merged into. */
  readonly merges: ReadonlyMap<string, string>;
}

/** Returns the origins of each project, merged ones included, the first known first. */
export function originsByProject({ assignments, merges }: StoredOrigins): Map<string, ProjectOrigin[]> {
  const found = new Map<string, ProjectOrigin[]>();
  for (const { origin, folder, slug } of assignments) {
    const project = followMerges(slug, merges);
    // A repository that got a remote has an assignment for its folder too.
    const others = (found.get(project) ?? []).filter(
      (each) => each.remote !== null || each.folder !== folder,
    );
    found.set(project, [...others, { remote: origin === folder ? null : origin, folder }]);
  }
  return found;
}

/**
 * Returns the origins of the projects whose folders have a name that folders of another project have too, such as `api` and
 * `api-acme`. The names alone do not distinguish them.
 */
export function originsOfNamesakes(stored: StoredOrigins): Map<string, ProjectOrigin[]> {
  const byName = Map.groupBy(stored.assignments, ({ name }) => name);
  const namesakes = new Set<string>();
  for (const assignments of byName.values()) {
    const projects = new Set(assignments.map(({ slug }) => followMerges(slug, stored.merges)));
    if (projects.size > 1) for (const project of projects) namesakes.add(project);
  }
  return new Map([...originsByProject(stored)].filter(([project]) => namesakes.has(project)));
}

/** Formats origins: the first one, and how many others there are. `home` is the home directory, without a separator at the end. */
export function formatOrigins(origins: readonly ProjectOrigin[], home: string | null): string {
  const [first, ...others] = origins;
  if (first === undefined) return "–";
  return others.length === 0
    ? formatOrigin(first, home)
    : `${formatOrigin(first, home)} and ${others.length} more`;
}

/** Formats an origin: the remote, or the folder with `~` for the home directory. */
export function formatOrigin({ remote, folder }: ProjectOrigin, home: string | null): string {
  if (remote !== null || home === null) return remote ?? folder;
  const isBelow = folder.startsWith(`${home}/`) || folder.startsWith(`${home}\\`);
  return isBelow ? `~${folder.slice(home.length)}` : folder;
}
