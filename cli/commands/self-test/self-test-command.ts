import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class SelfTestCommand extends MeterCommand {
  static override paths = [["self-test"]];
  static override usage = Command.Usage({
    category: "Installing",
    description: "Test the parts that depend on the operating system",
    details: `
      Starts a second daemon in a temporary folder of the meter's home, sends a call to a test server on this machine through it, looks up the
      process that made a connection, and stops the daemon. Your own meter is not used or changed, and nothing leaves the
      machine. \`--report\` prints the results as Markdown without names or paths, to paste into an issue. Exits with 1 if
      a step failed.
    `,
    examples: [
      ["Try this machine", "meter self-test"],
      ["Print a report for an issue", "meter self-test --report"],
    ],
  });

  report = Option.Boolean("--report", false, { description: "Print Markdown to paste into an issue" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<number> {
    const { runSelfTest } = await import("./run-self-test.ts");
    return await runSelfTest(this.commandContext, this);
  }
}
