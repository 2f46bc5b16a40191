import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  branchOf,
  findPackedCommit,
  readCommit,
  readGitHead,
} from "../../core/metering/attribution/git-head.ts";
import { readGitRemote } from "../../core/metering/attribution/git-remote.ts";
import { readBranchPullRequest } from "../../core/metering/attribution/pull-request.ts";
import type { Checkout } from "../../core/ports/project-files.ts";
import { readSmallFile } from "./read-small-file.ts";

/** Maximum size of a worktree's or submodule's `.git` file, in bytes. It is one line with a path. */
const MAX_GIT_FILE_BYTES = 8 * 1024;

/** Maximum size of `HEAD` and of a file with one reference, in bytes. Each is one line. */
const MAX_HEAD_BYTES = 4 * 1024;

/** Maximum size of `packed-refs` in bytes: about 30,000 references. In a longer one, no commit is found. */
const MAX_PACKED_REFS_BYTES = 2 * 1024 * 1024;

/** Maximum size of a repository's configuration in bytes. A hundred branches take about 10 KiB. */
const MAX_GIT_CONFIG_BYTES = 256 * 1024;

/** A Git repository, as seen from a working tree. */
export interface GitRepository {
  /** As `ProjectFacts.gitRoot`. */
  readonly root: string;
  /** The folder with the working tree's `HEAD`. */
  readonly gitDir: string;
  /** The folder with the references and the configuration. It differs from `gitDir` in a linked worktree. */
  readonly commonDir: string;
}

/** Returns the repository that a `.git` file points to. For a submodule, its root is the folder with the file. */
function followGitFile(folder: string, text: string): GitRepository {
  const link = /^gitdir: (.+?)\r?\n?$/.exec(text)?.[1];
  if (link === undefined) return plainRepository(folder, join(folder, ".git"));
  const gitDir = resolve(folder, link);
  // `<main>/.git/worktrees/<name>`, or `<name>.git/worktrees/<name>` for a bare repository; gitrepository-layout(5).
  const commonDir = /^(.+)[/\\]worktrees[/\\][^/\\]+[/\\]?$/.exec(gitDir)?.[1];
  if (commonDir === undefined) return plainRepository(folder, gitDir);
  return { root: commonDir.replace(/[/\\]\.git$/, "").replace(/\.git$/, ""), gitDir, commonDir };
}

const plainRepository = (root: string, gitDir: string): GitRepository => ({
  root,
  gitDir,
  commonDir: gitDir,
});

/** Finds the repository whose working tree has this root. Null if there is none. Never rejects. */
export async function findGitRepository(folder: string): Promise<GitRepository | null> {
  const path = join(folder, ".git");
  try {
    if ((await stat(path)).isDirectory()) return plainRepository(folder, path);
  } catch {
    return null;
  }
  const file = await readSmallFile(path, { maxBytes: MAX_GIT_FILE_BYTES });
  return followGitFile(folder, file.ok ? file.text : "");
}

/** Reads a repository's remote, as `readGitRemote()` returns it. Never rejects. */
export async function readRemote({ commonDir }: GitRepository): Promise<string | null> {
  const config = await read(join(commonDir, "config"), MAX_GIT_CONFIG_BYTES);
  return config === null ? null : readGitRemote(config);
}

/**
 * Reads what a working tree has checked out, without running Git. During a rebase, `branch` is the branch that is rebased.
 * What can't be read is unknown. Never rejects.
 */
export async function readCheckout(repository: GitRepository): Promise<Checkout> {
  const { gitDir, commonDir } = repository;
  const head = readGitHead((await read(join(gitDir, "HEAD"), MAX_HEAD_BYTES)) ?? "");
  if (head === null) return { branch: null, commit: null, pullRequest: null };
  const isDetached = head.kind === "commit";
  const branch = isDetached ? await readRebasedBranch(gitDir) : branchOf(head.reference);
  const commit = isDetached ? head.commit : await readReference(repository, head.reference);
  const config = branch === null ? null : await read(join(commonDir, "config"), MAX_GIT_CONFIG_BYTES);
  const pullRequest = branch === null || config === null ? null : readBranchPullRequest(config, branch);
  return { branch, commit, pullRequest };
}

async function readRebasedBranch(gitDir: string): Promise<string | null> {
  for (const state of ["rebase-merge", "rebase-apply"]) {
    const name = await read(join(gitDir, state, "head-name"), MAX_HEAD_BYTES);
    if (name !== null) return branchOf(name.trim());
  }
  return null;
}

/** Reads the commit of a reference: its own file counts, else the line in `packed-refs`; gitrepository-layout(5). */
async function readReference({ commonDir }: GitRepository, reference: string): Promise<string | null> {
  const loose = await read(join(commonDir, reference), MAX_HEAD_BYTES);
  if (loose !== null) return readCommit(loose);
  const packed = await read(join(commonDir, "packed-refs"), MAX_PACKED_REFS_BYTES);
  return packed === null ? null : findPackedCommit(packed, reference);
}

async function read(path: string, maxBytes: number): Promise<string | null> {
  const file = await readSmallFile(path, { maxBytes });
  return file.ok ? file.text : null;
}
