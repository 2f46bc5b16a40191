import type { Millis } from "../../values/time.ts";
import type { PullRequestLink } from "./log-entry.ts";

/** A call of a session, as far as it decides the pull request. */
export interface LinkableCall {
  readonly requestId: string;
  readonly at: Millis;
  readonly branch: string | null;
  readonly remote: string | null;
  readonly pullRequest: number | null;
}

/** A link with its place: that of the next call whose branch is known, or of the last one if none follows. */
interface PlacedLink extends Pick<PullRequestLink, "at" | "pullRequest"> {
  readonly branch: string | null;
  readonly remote: string | null;
}

/**
 * Returns the pull requests, by id, of those calls of one session that have none yet. `calls` and `links` are sorted by time.
 *
 * A link says that the branch of that moment has a pull request. The commits of a pull request come before it, so its cost is that of
 * all calls on this branch: until the next link of the branch, and before the first one too. A call on another branch, or in another
 * repository, has none. If the branch of a call is unknown, only a link before the call counts. A link that repeats the one before
 * it says nothing about the branch of its moment.
 */
export function linkPullRequests(
  calls: readonly LinkableCall[],
  links: readonly Pick<PullRequestLink, "at" | "pullRequest">[],
): Map<string, number> {
  const found = new Map<string, number>();
  const placed = links
    .filter(({ pullRequest }, index) => pullRequest !== links[index - 1]?.pullRequest)
    .map((link) => place(link, calls));
  for (const call of calls) {
    if (call.pullRequest !== null) continue;
    const own = placed.filter((link) => isOfPlace(link, call));
    const link = own.findLast(({ at }) => at <= call.at) ?? (call.branch === null ? undefined : own[0]);
    if (link !== undefined) found.set(call.requestId, link.pullRequest);
  }
  return found;
}

function place(
  { at, pullRequest }: Pick<PullRequestLink, "at" | "pullRequest">,
  calls: readonly LinkableCall[],
): PlacedLink {
  const known = calls.filter(({ branch }) => branch !== null);
  const { branch = null, remote = null } = known.find((call) => call.at >= at) ?? known.at(-1) ?? {};
  return { at, pullRequest, branch, remote };
}

function isOfPlace(link: PlacedLink, call: LinkableCall): boolean {
  const isOfRepository = link.remote === null || call.remote === null || link.remote === call.remote;
  return isOfRepository && (call.branch === null || call.branch === link.branch);
}
