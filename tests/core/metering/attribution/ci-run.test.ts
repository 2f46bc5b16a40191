import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CI_VARIABLES, readCiRun } from "../../../../core/metering/attribution/ci-run.ts";
import type { CiRun } from "../../../../core/ports/process-table.ts";

const runs: readonly [name: string, environment: Readonly<Record<string, string>>, run: CiRun | null][] = [
  ["no CI", {}, null],
  [
    "a pull request on GitHub",
    { GITHUB_REF: "refs/pull/12/merge", GITHUB_HEAD_REF: "feature/x" },
    { branch: "feature/x", pullRequest: 12 },
  ],
  [
    "a push on GitHub",
    { GITHUB_REF: "refs/heads/main", GITHUB_HEAD_REF: "" },
    { branch: "main", pullRequest: null },
  ],
  ["a tag on GitHub", { GITHUB_REF: "refs/tags/v1" }, null],
  [
    "a merge request on GitLab",
    { CI_MERGE_REQUEST_IID: "7", CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: "x" },
    { branch: "x", pullRequest: 7 },
  ],
  ["a push on GitLab", { CI_COMMIT_BRANCH: "main" }, { branch: "main", pullRequest: null }],
  [
    "CircleCI",
    { CIRCLE_BRANCH: "x", CIRCLE_PULL_REQUEST: "https://github.com/acme/api/pull/31" },
    { branch: "x", pullRequest: 31 },
  ],
  [
    "Buildkite without a pull request",
    { BUILDKITE_BRANCH: "main", BUILDKITE_PULL_REQUEST: "false" },
    { branch: "main", pullRequest: null },
  ],
  [
    "Azure Pipelines",
    { SYSTEM_PULLREQUEST_SOURCEBRANCH: "refs/heads/x", SYSTEM_PULLREQUEST_PULLREQUESTNUMBER: "5" },
    { branch: "x", pullRequest: 5 },
  ],
  ["Bitbucket", { BITBUCKET_PR_ID: "9" }, { branch: null, pullRequest: 9 }],
  ["Jenkins", { CHANGE_ID: "3", CHANGE_BRANCH: "x", BRANCH_NAME: "PR-3" }, { branch: "x", pullRequest: 3 }],
  ["nonsense", { GITHUB_REF: "refs/pull/-1/merge", GITHUB_HEAD_REF: "a b" }, null],
];

describe("readCiRun()", () => {
  for (const [name, environment, run] of runs)
    it(`reads ${name}`, () =>
      assert.deepEqual(
        readCiRun((variable) => environment[variable]),
        run,
      ));

  it("reads listed variables only", () => {
    const read = new Set<string>();
    readCiRun((variable) => {
      read.add(variable);
      return undefined;
    });
    assert.deepEqual([...read].toSorted(), [...CI_VARIABLES].toSorted());
  });
});
