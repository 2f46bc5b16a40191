import { UsageError } from "clipanion";
import { createProjectFiles } from "../../adapters/files/project-files.ts";
import { readCiRun } from "../../core/metering/attribution/ci-run.ts";
import { type GitState, toGitState } from "../../core/metering/attribution/git-state.ts";
import type { ReportQuery } from "../../daemon/store/port/reports.ts";
import { type GitOptions, readGitFilters } from "../program/git-filters.ts";

/** The calls of a branch, a commit or a pull request. */
export interface GitSelection {
  readonly filters: Pick<ReportQuery, "remote" | "branch" | "commit" | "pullRequest">;
  /** What is selected: `branch main of github.com/acme/shop`. */
  readonly text: string;
}

/** Where a command runs. */
interface Place {
  /** Null if it was deleted. */
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What is selected without options. */
type Preset = "branch" | "next commit" | "pull request";

/**
 * Selects the calls that the options name, in the repository of the working directory if it has a remote. Without options: those
 * of its branch; those since its last commit; or those of the pull request of the CI run or of the branch, else of the branch.
 * Throws `UsageError` if nothing can be selected.
 */
export async function selectByGit(options: GitOptions, place: Place, preset: Preset): Promise<GitSelection> {
  const filters = readGitFilters(options);
  if (Object.keys(filters).length > 1) throw new UsageError("Give only one of --branch, --commit and --pr.");
  const repository = await readRepository(place);
  const chosen = Object.keys(filters).length === 1 ? filters : choose(repository, preset);
  const { remote } = repository ?? { remote: null };
  // A commit is in one repository only.
  const isWithin = remote !== null && chosen.commit === undefined;
  return {
    filters: { ...chosen, ...(isWithin && { remote }) },
    text: `${describe(chosen)}${isWithin ? ` of ${remote}` : ""}`,
  };
}

function choose(repository: GitState | null, preset: Preset): GitSelection["filters"] {
  const { branch = null, commit = null, pullRequest = null } = repository ?? {};
  if (preset === "next commit" && commit !== null) return { ...(branch !== null && { branch }), commit };
  if (preset === "pull request" && pullRequest !== null) return { pullRequest };
  if (branch !== null) return { branch };
  throw new UsageError(
    repository === null
      ? "The working directory is in no Git repository. Name what to show with --branch, --commit or --pr."
      : "No branch is checked out. Name what to show with --branch, --commit or --pr.",
  );
}

const describe = ({ branch, commit, pullRequest }: GitSelection["filters"]): string =>
  pullRequest !== undefined
    ? `pull request #${pullRequest}`
    : commit !== undefined
      ? `commit ${commit.slice(0, 12)}`
      : `branch ${branch}`;

async function readRepository({ cwd, env }: Place): Promise<GitState | null> {
  if (cwd === null) return null;
  const files = createProjectFiles();
  const { gitFolder, gitRemote } = await files.find(cwd);
  const checkout = gitFolder === null ? null : await files.checkout(gitFolder);
  if (checkout === null) return null;
  const ciRun = readCiRun((variable) => env[variable]);
  return toGitState(checkout, gitRemote, ciRun);
}
