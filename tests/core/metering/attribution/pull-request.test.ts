import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  pullRequestOf,
  readBranchPullRequest,
  readPullRequestNumber,
} from "../../../../core/metering/attribution/pull-request.ts";

describe("readPullRequestNumber()", () => {
  it("reads a number, and nothing else", () => {
    assert.equal(readPullRequestNumber("12"), 12);
    assert.equal(readPullRequestNumber("2147483647"), 2_147_483_647);
    for (const text of ["", "0", "012", "-1", "1.5", "1e3", "2147483648", "99999999999", "false", " 1"])
      assert.equal(readPullRequestNumber(text), null, text);
  });
});

describe("pullRequestOf()", () => {
  it("reads the references of GitHub and GitLab", () => {
    assert.equal(pullRequestOf("refs/pull/12/head"), 12);
    assert.equal(pullRequestOf("refs/pull/12/merge"), 12);
    assert.equal(pullRequestOf("refs/merge-requests/7/head"), 7);
    for (const reference of ["refs/heads/pull/12/head", "refs/pull/x/head", "refs/pull/12", "12"])
      assert.equal(pullRequestOf(reference), null, reference);
  });
});

describe("readBranchPullRequest()", () => {
  it("finds the pull request that a branch follows", () => {
    const config = `[branch "main"]\n\tmerge = refs/heads/main\n[branch "fork"]\n\tremote = origin\n\tmerge = refs/pull/12/head\n`;
    assert.equal(readBranchPullRequest(config, "fork"), 12);
    assert.equal(readBranchPullRequest(config, "main"), null);
    assert.equal(readBranchPullRequest(config, "other"), null);
    assert.equal(
      readBranchPullRequest(`${config}\tmerge = refs/heads/x\n`, "fork"),
      null,
      "the last value counts",
    );
  });
});
