import { Command } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

/** The command's help. `run-statusline.ts` runs it without the parser, which takes longer than the command. */
export class StatuslineCommand extends MeterCommand {
  static override paths = [["statusline"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Print one line for Claude Code, tmux or a shell prompt",
    details: `
      Prints the cost of the session and of today, the cost of the last hour, how much of the input came from caches, and the
      limits with their resets. Claude Code passes its session on standard input; without that, the line is about today. If the
      daemon is not running, the line says so. The command always exits with 0.
    `,
    examples: [
      ["Print the line", "meter statusline"],
      ["Show it in Claude Code", "meter init --statusline"],
      ["Show it in tmux", "set -g status-right '#(meter statusline)'"],
    ],
  });

  protected override async perform(): Promise<void> {
    const { printStatusline } = await import("./print-statusline.ts");
    await printStatusline(this.context as unknown as Parameters<typeof printStatusline>[0]);
  }
}
