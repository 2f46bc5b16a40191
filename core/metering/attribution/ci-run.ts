import type { CiRun } from "../../ports/process-table.ts";
import { branchOf } from "./git-head.ts";
import { pullRequestOf, readPullRequestNumber } from "./pull-request.ts";

/** Where one CI system states the branch and the pull request. */
interface CiSystem {
  /** The variables with the branch, the preferred first. */
  readonly branch: readonly string[];
  /** The variable with the pull request: its number, a reference, or a URL that ends in the number. */
  readonly pullRequest: string;
}

/** The variables of the CI systems, from their documentation. */
const CI_SYSTEMS: readonly CiSystem[] = [
  // GitHub Actions: "Default environment variables". `GITHUB_HEAD_REF` is set for pull requests only.
  { branch: ["GITHUB_HEAD_REF", "GITHUB_REF"], pullRequest: "GITHUB_REF" },
  // GitLab: "Predefined CI/CD variables".
  {
    branch: ["CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_BRANCH"],
    pullRequest: "CI_MERGE_REQUEST_IID",
  },
  { branch: ["CIRCLE_BRANCH"], pullRequest: "CIRCLE_PULL_REQUEST" },
  // `false` without a pull request.
  { branch: ["BUILDKITE_BRANCH"], pullRequest: "BUILDKITE_PULL_REQUEST" },
  { branch: ["BITBUCKET_BRANCH"], pullRequest: "BITBUCKET_PR_ID" },
  {
    branch: ["SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCH"],
    pullRequest: "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER",
  },
  // Jenkins, multibranch pipelines.
  { branch: ["CHANGE_BRANCH", "BRANCH_NAME"], pullRequest: "CHANGE_ID" },
];

/** The environment variables that `readCiRun()` reads. */
export const CI_VARIABLES: readonly string[] = CI_SYSTEMS.flatMap(({ branch, pullRequest }) => [
  ...branch,
  pullRequest,
]).filter((name, index, all) => all.indexOf(name) === index);

/** Reads what the environment states. `get` returns the value of a variable. Null outside of CI. */
export function readCiRun(get: (variable: string) => string | undefined): CiRun | null {
  for (const system of CI_SYSTEMS) {
    const pullRequest = readPullRequest(get(system.pullRequest) ?? "");
    const branch = system.branch.map((name) => readBranch(get(name) ?? "")).find((name) => name !== null);
    if (pullRequest !== null || branch !== undefined) return { branch: branch ?? null, pullRequest };
  }
  return null;
}

function readPullRequest(text: string): number | null {
  return pullRequestOf(text) ?? readPullRequestNumber(/^https?:\/\/.*\/(\d+)$/.exec(text)?.[1] ?? text);
}

/** Reads a branch, or a reference to one. Null for a reference of another kind. */
function readBranch(text: string): string | null {
  const reference = text.startsWith("refs/") ? text : `refs/heads/${text}`;
  return branchOf(reference);
}
