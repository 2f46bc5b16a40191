import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { ProjectFacts, ProjectFiles } from "../../core/ports/project-files.ts";
import { findGitRepository, type GitRepository, readCheckout, readRemote } from "./git-repository.ts";
import { readTomlFile } from "./read-toml-file.ts";

/** The file that states a folder's project. Source: docs/specification.md#names-and-places. */
const PROJECT_FILE = ".meter.toml";

/** Maximum size of `.meter.toml`, in bytes. Two lines are enough. */
const MAX_PROJECT_FILE_BYTES = 64 * 1024;
/** Maximum number of folders that are searched. */
const MAX_LEVELS = 64;

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
  // The root of a linked worktree of the bare repository `shop.git` is `shop`: see `findGitRepository()`.
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
      let repository: (GitRepository & { readonly folder: string }) | null = null;
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
          const found = await findGitRepository(folder);
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
    async checkout(gitFolder) {
      const repository = await findGitRepository(gitFolder);
      return repository === null ? null : readCheckout(repository);
    },
  };
}
