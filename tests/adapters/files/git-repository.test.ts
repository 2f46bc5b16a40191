import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createProjectFiles } from "../../../adapters/files/project-files.ts";

const sha = "0123456789abcdef0123456789abcdef01234567";
const files = createProjectFiles();
let folder = "";
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "meter-git-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

const checkout = (path: string) => files.checkout(join(folder, path));

/** Whether Git is installed. The meter never runs it; here it creates repositories as users have them. */
const hasGit = (() => {
  try {
    execFileSync("git", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

function git(path: string, ...args: readonly string[]): string {
  const settings = ["user.name=Ann", "user.email=ann@example.com", "init.defaultBranch=main"];
  const options = [...settings, "protocol.file.allow=always"].flatMap((setting) => ["-c", setting]);
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", [...options, ...args], {
    cwd: join(folder, path),
    env,
    encoding: "utf8",
    stdio: "pipe",
  }).trim();
}

function makeRepository(path: string): string {
  mkdirSync(join(folder, path), { recursive: true });
  git(path, "init", "--quiet");
  return commit(path, "first");
}

function commit(path: string, message: string): string {
  git(path, "commit", "--quiet", "--allow-empty", "--message", message);
  return git(path, "rev-parse", "HEAD");
}

describe("createProjectFiles().checkout()", { skip: !hasGit && "git is not installed" }, () => {
  it("reads the branch and the commit, before and after a commit, a switch and packing", async () => {
    mkdirSync(join(folder, "shop"));
    git("shop", "init", "--quiet");
    assert.deepEqual(await checkout("shop"), { branch: "main", commit: null, pullRequest: null });
    const first = commit("shop", "first");
    assert.deepEqual(await checkout("shop"), { branch: "main", commit: first, pullRequest: null });
    git("shop", "switch", "--quiet", "--create", "feature/login");
    git("shop", "pack-refs", "--all");
    assert.deepEqual(await checkout("shop"), { branch: "feature/login", commit: first, pullRequest: null });
    const second = commit("shop", "second");
    assert.deepEqual(await checkout("shop"), { branch: "feature/login", commit: second, pullRequest: null });
    git("shop", "switch", "--quiet", "--detach", first);
    assert.deepEqual(await checkout("shop"), { branch: null, commit: first, pullRequest: null });
  });

  it("reads a linked worktree and a submodule on their own", async () => {
    const first = makeRepository("shop");
    git("shop", "worktree", "add", "--quiet", "-b", "task", "../task");
    const second = commit("task", "second");
    assert.deepEqual(await checkout("task"), { branch: "task", commit: second, pullRequest: null });
    assert.deepEqual(await checkout("shop"), { branch: "main", commit: first, pullRequest: null });
    const inner = makeRepository("library");
    git("shop", "submodule", "--quiet", "add", "../library", "vendor/library");
    assert.deepEqual(await checkout("shop/vendor/library"), {
      branch: "main",
      commit: inner,
      pullRequest: null,
    });
  });

  it("names the branch that is being rebased", async () => {
    makeRepository("shop");
    git("shop", "switch", "--quiet", "--create", "topic");
    commit("shop", "second");
    // The rebase stops at this command, with HEAD at a commit.
    assert.throws(() => git("shop", "rebase", "--quiet", "--exec", "false", "--root"));
    const { branch, commit: at } = (await checkout("shop")) ?? {};
    assert.equal(branch, "topic");
    assert.equal(at, git("shop", "rev-parse", "HEAD"));
  });

  it("finds the pull request that a branch follows", async () => {
    const first = makeRepository("shop");
    git("shop", "config", "branch.main.merge", "refs/pull/12/head");
    assert.deepEqual(await checkout("shop"), { branch: "main", commit: first, pullRequest: 12 });
  });
});

describe("createProjectFiles().checkout() with damaged and hostile repositories", () => {
  const nothing = { branch: null, commit: null, pullRequest: null };

  it("returns null where there is no repository", async () => {
    assert.equal(await checkout("."), null);
    assert.equal(await checkout("gone"), null);
  });

  const heads: readonly [why: string, head: string][] = [
    ["uses the format reftable", "ref: refs/heads/.invalid\n"],
    ["leaves its folder", "ref: refs/heads/../../../secret\n"],
    ["is empty", ""],
    ["is too large", `ref: refs/heads/${"x".repeat(5_000)}`],
    ["is not text", "\0\0\0"],
  ];
  for (const [why, head] of heads) {
    it(`finds no branch and no commit if HEAD ${why}`, async () => {
      write("secret", `${sha}\n`);
      write("shop/.git/HEAD", head);
      assert.deepEqual(await checkout("shop"), nothing);
    });
  }

  it("does not follow a linked HEAD or reference", { skip: process.platform === "win32" }, async () => {
    write("secret", `${sha}\n`);
    mkdirSync(join(folder, "shop/.git/refs/heads"), { recursive: true });
    symlinkSync(join(folder, "secret"), join(folder, "shop/.git/HEAD"));
    assert.deepEqual(await checkout("shop"), nothing);
    rmSync(join(folder, "shop/.git/HEAD"));
    write("shop/.git/HEAD", "ref: refs/heads/main\n");
    symlinkSync(join(folder, "secret"), join(folder, "shop/.git/refs/heads/main"));
    assert.deepEqual(await checkout("shop"), { ...nothing, branch: "main" });
  });

  it("finds no commit if the reference or packed-refs is damaged or too large", async () => {
    write("shop/.git/HEAD", "ref: refs/heads/main\n");
    write("shop/.git/packed-refs", `${sha} refs/heads/main\n${"#".repeat(2 * 1024 * 1024)}`);
    assert.deepEqual(await checkout("shop"), { ...nothing, branch: "main" });
    write("shop/.git/packed-refs", `${sha} refs/heads/main\n`);
    assert.deepEqual(await checkout("shop"), { ...nothing, branch: "main", commit: sha });
    write("shop/.git/refs/heads/main", "damaged");
    assert.deepEqual(await checkout("shop"), { ...nothing, branch: "main" });
  });
});
