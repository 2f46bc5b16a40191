import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
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

/** Returns the root of the repository that a `.git` file points to. For a submodule, this is the folder with the file. */
function rootFromGitFile(folder: string, text: string): string {
  const gitDir = /^gitdir: (.+?)\r?\n?$/.exec(text)?.[1];
  if (gitDir === undefined) return folder;
  // `<main>/.git/worktrees/<name>`, or `<name>.git/worktrees/<name>` for a bare repository; gitrepository-layout(5).
  const common = /^(.+)[/\\]worktrees[/\\][^/\\]+[/\\]?$/.exec(resolve(folder, gitDir))?.[1];
  if (common === undefined) return folder;
  return common.replace(/[/\\]\.git$/, "").replace(/\.git$/, "");
}

async function findGitRoot(folder: string): Promise<string | null> {
  const path = join(folder, ".git");
  try {
    if ((await stat(path)).isDirectory()) return folder;
  } catch {
    return null;
  }
  const file = await readSmallFile(path, { maxBytes: MAX_GIT_FILE_BYTES });
  return file.ok ? rootFromGitFile(folder, file.text) : folder;
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
      let gitRoot: string | null = null;
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
        gitRoot ??= await findGitRoot(folder);
        const parent = dirname(folder);
        if (parent === folder) break;
        folder = parent;
      }
      return { projectFile, bodyCaptureRefused, gitRoot };
    },
  };
}
