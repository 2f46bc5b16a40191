import process from "node:process";

/** Returns the working directory; null if it was deleted, as with a Git worktree that was removed under an open shell. */
export function findWorkingDirectory(): string | null {
  try {
    return process.cwd();
  } catch {
    return null;
  }
}
