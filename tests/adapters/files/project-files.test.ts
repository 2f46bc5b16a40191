import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createProjectFiles, isFolderGone } from "../../../adapters/files/project-files.ts";

const files = createProjectFiles();
let folder = "";
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "meter-project-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

describe("createProjectFiles()", () => {
  it("finds the nearest file that names a project", async () => {
    write("a/.meter.toml", 'project = "Outer"\n');
    write("a/b/.meter.toml", 'project = "Inner"\n');
    write("a/b/c/.meter.toml", "body_capture = true\n");
    write("a/b/c/d/x", "");
    const found = await files.find(join(folder, "a/b/c/d"));
    assert.deepEqual(found, {
      projectFile: { path: join(folder, "a/b/.meter.toml"), project: "Inner" },
      bodyCaptureRefused: false,
      gitRoot: null,
      gitFolder: null,
      gitRemote: null,
    });
    assert.equal((await files.find(join(folder, "a"))).projectFile?.project, "Outer");
    assert.equal((await files.find(folder)).projectFile, null);
  });

  it("lets any file refuse body capture, and none allow it", async () => {
    write("a/.meter.toml", "body_capture = false\n");
    write("a/b/.meter.toml", 'project = "cloned"\nbody_capture = true\n');
    assert.equal((await files.find(join(folder, "a/b"))).bodyCaptureRefused, true);
  });

  const refusing: readonly [why: string, content: string][] = [
    ["says anything but true", 'body_capture = "off"\n'],
    ["is no TOML", "project = \n"],
    ["is too large", `# ${"x".repeat(70_000)}\n`],
  ];
  for (const [why, content] of refusing) {
    it(`treats a file that ${why} as a refusal`, async () => {
      write("a/.meter.toml", content);
      const found = await files.find(join(folder, "a"));
      assert.deepEqual([found.bodyCaptureRefused, found.projectFile], [true, null]);
    });
  }

  it("treats a linked file as a refusal, and reads no name from it", {
    skip: process.platform === "win32",
  }, async () => {
    write("elsewhere", 'project = "taken"\n');
    write("a/x", "");
    symlinkSync(join(folder, "elsewhere"), join(folder, "a/.meter.toml"));
    const found = await files.find(join(folder, "a"));
    assert.deepEqual([found.bodyCaptureRefused, found.projectFile], [true, null]);
  });

  it("ignores a name that is not a string", async () => {
    write("a/.meter.toml", "project = 5\n");
    assert.equal((await files.find(join(folder, "a"))).projectFile, null);
  });

  const remote = "github.com/acme/repo";
  const config = `[remote "origin"]\n\turl = https://${remote}.git\n`;
  const repositories: readonly [why: string, gitFile: string | null, root: string, config: string | null][] =
    [
      ["a repository", null, "repo", "repo/.git/config"],
      ["a submodule", "gitdir: ../.git/modules/repo\n", "repo", ".git/modules/repo/config"],
      ["a worktree", "gitdir: FOLDER/main/.git/worktrees/repo\n", "main", "main/.git/config"],
      ["a worktree with a relative link", "gitdir: ../main/.git/worktrees/repo", "main", "main/.git/config"],
      [
        "a worktree of a bare repository",
        "gitdir: FOLDER/shop.git/worktrees/repo\r\n",
        "shop",
        "shop.git/config",
      ],
      ["a .git file that says nothing", "nonsense", "repo", null],
      ["a .git file that is too large", "x".repeat(9_000), "repo", null],
    ];
  for (const [why, gitFile, root, configFile] of repositories) {
    it(`finds the root and the remote of ${why}`, async () => {
      write("repo/src/x", "");
      if (gitFile !== null) write("repo/.git", gitFile.replace("FOLDER", folder));
      if (configFile !== null) write(configFile, config);
      assert.partialDeepStrictEqual(await files.find(join(folder, "repo/src")), {
        gitRoot: join(folder, root),
        gitFolder: join(folder, "repo"),
        gitRemote: configFile === null ? null : remote,
      });
    });
  }

  it("finds no remote in a repository without one, or whose configuration is too large", async () => {
    mkdirSync(join(folder, "repo/.git"), { recursive: true });
    assert.partialDeepStrictEqual(await files.find(join(folder, "repo")), {
      gitRoot: join(folder, "repo"),
      gitRemote: null,
    });
    write("repo/.git/config", config + "#".repeat(300_000));
    assert.equal((await files.find(join(folder, "repo"))).gitRemote, null);
  });

  it("uses the nearest repository", async () => {
    mkdirSync(join(folder, "a/.git"), { recursive: true });
    mkdirSync(join(folder, "a/b/.git"), { recursive: true });
    assert.equal((await files.find(join(folder, "a/b"))).gitRoot, join(folder, "a/b"));
  });

  it("returns nothing for a folder that no longer exists", async () => {
    const found = await files.find(join(folder, "gone/for/good"));
    assert.deepEqual(found, {
      projectFile: null,
      bodyCaptureRefused: false,
      gitRoot: null,
      gitFolder: null,
      gitRemote: null,
    });
  });
});

describe("isFolderGone()", () => {
  it("reports a folder that does not exist, and no other", async () => {
    write("shop.git/HEAD", "");
    write("file", "");
    const gone = (name: string) => isFolderGone(join(folder, name));
    assert.deepEqual(
      [await gone("."), await gone("shop"), await gone("other"), await gone("file/inside"), await gone("\0")],
      [false, false, true, true, false],
    );
  });
});
