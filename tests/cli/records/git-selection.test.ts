import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { selectByGit } from "../../../cli/records/git-selection.ts";

const commit = "01234567".repeat(5);
const options = { branch: undefined, commit: undefined, pr: undefined };

describe("selectByGit()", () => {
  let folder: string;
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "meter-selection-"));
    write("shop/.git/HEAD", "ref: refs/heads/topic\n");
    write("shop/.git/refs/heads/topic", `${commit}\n`);
    write("shop/.git/config", '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n');
    write("shop/src/x", "");
    write("fork/.git/HEAD", "ref: refs/heads/topic\n");
    write(
      "fork/.git/config",
      '[branch "topic"]\n\tmerge = refs/pull/7/head\n[remote "origin"]\n\turl = /srv/shop\n',
    );
    write("detached/.git/HEAD", `${commit}\n`);
    mkdirSync(join(folder, "plain"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const select = (
    where: string,
    preset: Parameters<typeof selectByGit>[2],
    given: Partial<Record<keyof typeof options, string>> = {},
    env: Record<string, string> = {},
  ) => selectByGit({ ...options, ...given }, { cwd: join(folder, where), env }, preset);

  const remote = "github.com/acme/shop";

  it("selects what the options name, in the repository of the folder", async () => {
    assert.deepEqual(await select("shop/src", "branch", { branch: "main" }), {
      filters: { branch: "main", remote },
      text: `branch main of ${remote}`,
    });
    assert.deepEqual(await select("shop", "branch", { pr: "#12" }), {
      filters: { pullRequest: 12, remote },
      text: `pull request #12 of ${remote}`,
    });
    assert.deepEqual(await select("shop", "branch", { commit: "ABCD" }), {
      filters: { commit: "abcd" },
      text: "commit abcd",
    });
    assert.deepEqual(await select("plain", "branch", { branch: "main" }), {
      filters: { branch: "main" },
      text: "branch main",
    });
  });

  it("selects the branch, the calls since the last commit, or the pull request without options", async () => {
    assert.deepEqual((await select("shop", "branch")).filters, { branch: "topic", remote });
    assert.deepEqual((await select("shop", "next commit")).filters, { branch: "topic", commit });
    assert.deepEqual((await select("detached", "next commit")).filters, { commit });
    assert.deepEqual((await select("fork", "next commit")).filters, { branch: "topic" }, "no commit yet");
    assert.deepEqual((await select("shop", "pull request")).filters, { branch: "topic", remote });
    assert.deepEqual((await select("fork", "pull request")).filters, { pullRequest: 7 });
  });

  it("knows the pull request and the branch of a CI run", async () => {
    const env = { GITHUB_REF: "refs/pull/12/merge", GITHUB_HEAD_REF: "feature/x" };
    assert.deepEqual((await select("shop", "pull request", {}, env)).filters, { pullRequest: 12, remote });
    assert.deepEqual((await select("detached", "branch", {}, env)).filters, { branch: "feature/x" });
  });

  it("says what is missing", async () => {
    await assert.rejects(select("plain", "branch"), /is in no Git repository\. Name what to show/);
    await assert.rejects(select("detached", "branch"), /No branch is checked out\. Name what to show/);
    await assert.rejects(select("shop", "branch", { branch: "a", pr: "1" }), /Give only one of/);
    await assert.rejects(select("shop", "branch", { commit: "abc" }), /Invalid value for --commit: abc\./);
    await assert.rejects(select("shop", "branch", { pr: "x" }), /Invalid value for --pr: x\./);
  });
});
