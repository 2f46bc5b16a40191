import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readGitRemote } from "../../core/metering/attribution/git-remote.ts";
import type { ProjectFacts, ProjectFiles } from "../../core/ports/project-files.ts";
import { readSmallFile } from "./read-small-file.ts";
import { readTomlFile } from "./read-toml-file.ts";

/** The file that states a folder's project. Source: docs/specification.md#names-and-places. */
const PROJECT_FILE = ".meter.toml";

/** Maximum size of `.meter.toml`, in bytes. Two lines are enough. */
const MAX_PROJECT_FILE_BYTES = 64 * 1024;
/** Maximum size of a worktree's or submodule's `.git` file, in bytes. It is one line with a path. */
const MAX_GIT_FILE_BYTES = 8 * 1024;
/** Maximum number of folders that are searched. */
const MAX_LEVELS = 64;

/** Maximum size of a repository's configuration in bytes. A hundred branches take about 10 KiB. */
const MAX_GIT_CONFIG_BYTES = 256 * 1024;

/** A repository: its root as in `ProjectFacts`, and the folder with its configuration. */
interface Repository {
  readonly root: string;
  readonly gitDir: string;
}

/** Returns the repository that a `.git` file points to. For a submodule, its root is the folder with the file. */
function followGitFile(folder: string, text: string): Repository {
  const link = /^gitdir: (.+?)\r?\n?$/.exec(text)?.[1];
  if (link === undefined) return { root: folder, gitDir: join(folder, ".git") };
  const gitDir = resolve(folder, link);
  // `<main>/.git/worktrees/<name>`, or `<name>.git/worktrees/<name>` for a bare repository; gitrepository-layout(5).
  const common = /^(.+)[/\\]worktrees[/\\][^/\\]+[/\\]?$/.exec(gitDir)?.[1];
  if (common === undefined) return { root: folder, gitDir };
  return { root: common.replace(/[/\\]\.git$/, "").replace(/\.git$/, ""), gitDir: common };
}

async function findRepository(folder: string): Promise<Repository | null> {
  const path = join(folder, ".git");
  try {
    if ((await stat(path)).isDirectory()) return { root: folder, gitDir: path };
  } catch {
    return null;
  }
  const file = await readSmallFile(path, { maxBytes: MAX_GIT_FILE_BYTES });
  return followGitFile(folder, file.ok ? file.text : "");
}

async function readRemote(repository: Repository): Promise<string | null> {
  const config = await readSmallFile(join(repository.gitDir, "config"), { maxBytes: MAX_GIT_CONFIG_BYTES });
  return config.ok ? readGitRemote(config.text) : null;
}

/** Whether neither the folder nor a bare repository of its name exists. An unreadable folder exists. Never rejects. */
export async function isFolderGone(folder: string): Promise<boolean> {
  const isGone = async (path: string) => {
    try {
      await stat(path);
      return false;
    } catch (cause) {
      return ["ENOENT", "ENOTDIR"].includes((cause as NodeJS.ErrnoException).code ?? "");
    }
  };
  // The root of a linked worktree of the bare repository `shop.git` is `shop`: see `followGitFile()`.
  return (await isGone(folder)) && (await isGone(`${folder}.git`));
}

/**
 * Searches a working directory and its parents for `.meter.toml` files and the root of the Git repository.
 *
 * Decision: the nearest file that names a project decides the project, but every file may switch off body capture, so that
 * a cloned repository cannot override the folder around it. An unreadable file also switches it off.
 *
 * Decision: a linked worktree belongs to its repository's project. Worktrees are often created for a single task.
 */
export function createProjectFiles(): ProjectFiles {
  return {
    async find(cwd) {
      let projectFile: ProjectFacts["projectFile"] = null;
      let bodyCaptureRefused = false;
      let repository: (Repository & { readonly folder: string }) | null = null;
      let folder = resolve(cwd);
      for (let level = 0; level < MAX_LEVELS; level += 1) {
        const path = join(folder, PROJECT_FILE);
        const file = await readTomlFile(path, { maxBytes: MAX_PROJECT_FILE_BYTES });
        if (file.ok) {
          const { project, body_capture: bodyCapture } = file.table;
          if (typeof project === "string") projectFile ??= { path, project };
          // Any value except `true` switches capture off. A user who writes `"off"` means it.
          if (bodyCapture !== undefined && bodyCapture !== true) bodyCaptureRefused = true;
        } else if (file.reason !== "absent") {
          bodyCaptureRefused = true;
        }
        if (repository === null) {
          const found = await findRepository(folder);
          if (found !== null) repository = { ...found, folder };
        }
        const parent = dirname(folder);
        if (parent === folder) break;
        folder = parent;
      }
      return {
        projectFile,
        bodyCaptureRefused,
        gitRoot: repository?.root ?? null,
        gitFolder: repository?.folder ?? null,
        gitRemote: repository === null ? null : await readRemote(repository),
      };
    },
  };
}
