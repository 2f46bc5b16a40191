import { gitConfigValues } from "./git-config.ts";

/** The largest number of a pull request that is accepted. */
const MAX_NUMBER = 2 ** 31 - 1;

/** The references under which GitHub and GitLab publish pull requests. */
const PULL_REFERENCE = /^refs\/(?:pull|merge-requests)\/(\d+)\/(?:head|merge)$/;

/** Reads the number of a pull request. Null for any other text. */
export function readPullRequestNumber(text: string): number | null {
  const number = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
  return number > 0 && number <= MAX_NUMBER ? number : null;
}

/** Returns the number in a reference such as `refs/pull/12/head`. Null for any other reference. */
export function pullRequestOf(reference: string): number | null {
  return readPullRequestNumber(PULL_REFERENCE.exec(reference)?.[1] ?? "");
}

/**
 * Returns the pull request that a branch follows according to the text of `.git/config`, as `gh pr checkout` sets it for a fork:
 * `branch.<name>.merge = refs/pull/12/head`. Null if there is none.
 */
export function readBranchPullRequest(config: string, branch: string): number | null {
  let found: number | null = null;
  // The last value counts; git-config(1).
  for (const { subsection, value } of gitConfigValues(config, "branch", "merge"))
    if (subsection === branch) found = pullRequestOf(value);
  return found;
}
