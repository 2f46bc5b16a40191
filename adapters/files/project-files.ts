import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { ProjectFacts, ProjectFiles } from "../../core/ports/project-files.ts";
import { readSmallFile } from "./read-small-file.ts";
import { readTomlFile } from "./read-toml-file.ts";

/** The file that names a folder's project. Source: decisions, "Names, versions, places". */
export const PROJECT_FILE = ".meter.toml";

/** Largest `.meter.toml`; two lines are what it needs. */
const MAX_PROJECT_FILE_BYTES = 64 * 1024;
/** Largest `.git` file of a worktree or submodule: one line with a path. */
const MAX_GIT_FILE_BYTES = 8 * 1024;
/** Most folders that are looked at on the way up. */
const MAX_LEVELS = 64;

/** Root of the repository to which a `.git` file points; the folder with the file itself for a submodule. */
function rootFromGitFile(folder: string, text: string): string {
  const gitDir = /^gitdir: (.+?)\r?\n?$/.exec(text)?.[1];
  if (gitDir === undefined) return folder;
  // `<main>/.git/worktrees/<name>` or, beside a bare repository, `<name>.git/worktrees/<name>`; gitrepository-layout(5).
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
 * Looks from a working directory upward for `.meter.toml` files and the root of the git repository.
 *
 * Decision: the nearest file that names a project names it, while any file on the way may refuse body capture, so that a
 * cloned repository's file can't undo what the folder around it says. A file that can't be read refuses too.
 *
 * Decision: a linked worktree counts as the repository that it belongs to; worktrees come and go by the task, and their
 * calls belong to one project.
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
          // Anything but `true` and silence: who writes `"off"` means it.
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
