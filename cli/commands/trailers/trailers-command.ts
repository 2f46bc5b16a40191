import { Command } from "clipanion";
import { branchOption, commitOption, pullRequestOption } from "../../program/git-filters.ts";
import { MeterCommand } from "../../program/meter-command.ts";

export class TrailersCommand extends MeterCommand {
  static override paths = [["trailers"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Print the cost as Git trailers, for a commit message",
    details: `
      Prints a line such as "LLM-Cost: $1.23 (meter)". Usage that a plan covers has its own line. Without an option, the
      calls are those since the last commit: the ones that were made on this branch while it was checked out. Prints nothing
      if there are none. For use in a hook, see docs/git.md.
    `,
    examples: [
      ["Print the cost since the last commit", "meter trailers"],
      ["Print the cost of a branch", "meter trailers --branch feature/login"],
    ],
  });

  branch = branchOption();
  commit = commitOption();
  pr = pullRequestOption();

  protected override async perform(): Promise<void> {
    const { printTrailers } = await import("./print-trailers.ts");
    return await printTrailers(this.commandContext, this);
  }
}
