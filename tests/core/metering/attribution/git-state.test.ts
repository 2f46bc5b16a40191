import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toGitState, withoutLocalRemote } from "../../../../core/metering/attribution/git-state.ts";

const commit = "0f3c9a1e0f3c9a1e0f3c9a1e0f3c9a1e0f3c9a1e";
const detached = { branch: null, commit, pullRequest: null };
const ciRun = { branch: "feature", pullRequest: 7 };

describe("toGitState()", () => {
  it("states what the working tree says, whatever the CI says", () => {
    const checkout = { branch: "main", commit, pullRequest: 3 };
    assert.deepEqual(toGitState(checkout, "github.com/a/b", ciRun), {
      ...checkout,
      remote: "github.com/a/b",
    });
  });

  it("takes branch and pull request from the CI, which checks out a commit without its branch", () => {
    assert.deepEqual(toGitState(detached, null, ciRun), {
      ...{ branch: "feature", commit, pullRequest: 7, remote: null },
    });
  });

  it("leaves unknown what neither states", () => {
    for (const run of [null, undefined])
      assert.deepEqual(toGitState(detached, null, run), { ...detached, remote: null });
  });
});

describe("withoutLocalRemote()", () => {
  it("drops a remote that is a folder of this machine", () => {
    for (const path of ["/home/u/repo.git", "C:\\repos\\x", "\\\\server\\x"])
      assert.equal(withoutLocalRemote(path), null, path);
    assert.equal(withoutLocalRemote("github.com/a/b"), "github.com/a/b");
    assert.equal(withoutLocalRemote(null), null);
  });
});
