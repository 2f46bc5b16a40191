import { Option, UsageError } from "clipanion";
import { readPullRequestNumber } from "../../core/metering/attribution/pull-request.ts";
import type { ReportQuery } from "../../daemon/store/port/reports.ts";

/** The options that choose calls by what Git says about them, each for a field of a command. `readGitFilters()` reads them. */
export const branchOption = () =>
  Option.String("--branch", { description: "Only calls from this Git branch" });

export const commitOption = () =>
  Option.String("--commit", {
    description: "Only calls made while this commit was checked out: its id or at least 4 digits of it",
  });

export const pullRequestOption = () =>
  Option.String("--pr", { description: "Only calls of the pull request with this number" });

/** Their values. */
export interface GitOptions {
  readonly branch: string | undefined;
  readonly commit: string | undefined;
  readonly pr: string | undefined;
}

/** Reads the options. Throws `UsageError` if one is invalid. */
export function readGitFilters({
  branch,
  commit,
  pr,
}: GitOptions): Pick<ReportQuery, "branch" | "commit" | "pullRequest"> {
  return {
    ...(branch !== undefined && { branch }),
    ...(commit !== undefined && { commit: readCommitOption(commit) }),
    ...(pr !== undefined && { pullRequest: readPullRequestOption(pr) }),
  };
}

function readCommitOption(text: string): string {
  const commit = text.toLowerCase();
  // Git takes four digits or more; gitrevisions(7).
  if (/^[0-9a-f]{4,64}$/.test(commit)) return commit;
  throw new UsageError(`Invalid value for --commit: ${text}. Expected 4 to 64 hexadecimal digits.`);
}

function readPullRequestOption(text: string): number {
  const number = readPullRequestNumber(text.replace(/^#/, ""));
  if (number === null) throw new UsageError(`Invalid value for --pr: ${text}. Expected a number.`);
  return number;
}
