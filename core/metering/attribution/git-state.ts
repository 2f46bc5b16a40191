import type { CiRun } from "../../ports/process-table.ts";
import type { Checkout } from "../../ports/project-files.ts";
import { isAbsolutePath } from "./file-path.ts";

/** The state of a working tree. */
export interface GitState extends Checkout {
  /** The repository's remote as host and path. Null if it has none, or one on this machine. */
  readonly remote: string | null;
}

/** Returns the state of a working tree. CI checks out a commit without its branch, and states branch and pull request itself. */
export function toGitState(
  { branch, commit, pullRequest }: Checkout,
  remote: string | null,
  ciRun: CiRun | null | undefined,
): GitState {
  return {
    branch: branch ?? ciRun?.branch ?? null,
    commit,
    pullRequest: pullRequest ?? ciRun?.pullRequest ?? null,
    remote: withoutLocalRemote(remote),
  };
}

/** Returns a remote, unless it is a folder of this machine. */
export const withoutLocalRemote = (remote: string | null): string | null =>
  remote !== null && isAbsolutePath(remote) ? null : remote;
