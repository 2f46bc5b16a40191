import type { Millis } from "../../values/time.ts";

/** How many of a period's newest calls are read for what sums do not have. It bounds the time that a page takes. */
export const NEWEST_CALLS = 3_000;

/** Calls that agree in all of these. Null is unknown. */
export interface CallGroup {
  readonly project: string | null;
  readonly branch: string | null;
  /** How the project was found: one of `ATTRIBUTION_TIERS`. */
  readonly tier: string | null;
  readonly session: string | null;
  readonly requests: number;
}

/** The newest calls of a period. */
export interface NewestCalls {
  readonly groups: readonly CallGroup[];
  /** The time of the latest call that was left out. Null if these are all calls of the period. */
  readonly since: Millis | null;
}

/** What the newest calls say about one project. */
export interface ProjectCalls {
  readonly requests: number;
  /** The calls by how their project was found, most first. */
  readonly tiers: readonly (readonly [tier: string | null, requests: number])[];
  /** How many sessions each branch had. */
  readonly sessions: ReadonlyMap<string | null, number>;
}

/** Sums up calls by project. */
export function summariseProjects(groups: readonly CallGroup[]): ReadonlyMap<string | null, ProjectCalls> {
  return new Map(
    [...Map.groupBy(groups, ({ project }) => project)].map(([project, own]) => {
      const tiers = [...Map.groupBy(own, ({ tier }) => tier)]
        .map(([tier, calls]) => [tier, countRequests(calls)] as const)
        .sort(([one, few], [other, many]) => many - few || ((one ?? "") < (other ?? "") ? -1 : 1));
      const sessions = [...Map.groupBy(own, ({ branch }) => branch)].map(
        ([branch, calls]) => [branch, new Set(calls.flatMap(({ session }) => session ?? [])).size] as const,
      );
      return [project, { requests: countRequests(own), tiers, sessions: new Map(sessions) }];
    }),
  );
}

const countRequests = (groups: readonly CallGroup[]): number =>
  groups.reduce((sum, { requests }) => sum + requests, 0);
