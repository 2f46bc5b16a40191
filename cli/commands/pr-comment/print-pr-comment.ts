import { sumRows } from "../../../daemon/store/report-rows.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import type { GitOptions } from "../../program/git-filters.ts";
import { findWorkingDirectory } from "../../program/working-directory.ts";
import { selectByGit } from "../../records/git-selection.ts";
import { renderPullRequestComment } from "../../render/git-cost.ts";

/** Prints the cost of a pull request as Markdown. */
export async function printPullRequestComment(context: CommandContext, options: GitOptions): Promise<void> {
  const { home, env } = context;
  const { filters, text } = await selectByGit(options, { cwd: findWorkingDirectory(), env }, "pull request");
  const query = { from: null, to: null, ...filters };
  await withStore(home, { readOnly: true }, async ({ reports }) => {
    const rows = await reports.read({ ...query, by: "model" });
    const fromLogs = await reports.readFromLogs(query);
    context.printAsIs(renderPullRequestComment(text, rows, sumRows(rows), fromLogs));
  });
}
