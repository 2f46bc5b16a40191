import { Command } from "clipanion";
import { branchOption, commitOption, pullRequestOption } from "../../program/git-filters.ts";
import { MeterCommand } from "../../program/meter-command.ts";

export class PrCommentCommand extends MeterCommand {
  static override paths = [["pr-comment"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Print the cost of a pull request as Markdown",
    details: `
      Prints a table of models for a comment on a pull request. Without an option, the pull request is that of the CI run or
      of the branch that is checked out; if none is known, the calls are those of the branch. For use in CI, see docs/git.md.
    `,
    examples: [
      ["Print the cost of a pull request", "meter pr-comment --pr 12"],
      ["Comment on it on GitHub", "meter pr-comment --pr 12 | gh pr comment 12 --body-file -"],
    ],
  });

  branch = branchOption();
  commit = commitOption();
  pr = pullRequestOption();

  protected override async perform(): Promise<void> {
    const { printPullRequestComment } = await import("./print-pr-comment.ts");
    return await printPullRequestComment(this.commandContext, this);
  }
}
