import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class RunCommand extends MeterCommand {
  static override paths = [["run"]];
  static override usage = Command.Usage({
    category: "Metering",
    description: "Run one program through the meter",
    details: `
      Sets the proxy and certificate variables for this program and the programs it starts, and for no others. Exits
      with the program's exit code. A program that ignores proxy variables needs the meter as its base URL instead, such as
      http://127.0.0.1:8081/anthropic.
    `,
    examples: [
      ["Meter a script", "meter run -- node agent.ts"],
      ["Meter a coding agent", "meter run -- claude"],
      ["Set the project", "meter run --project billing -- python3 job.py"],
      ["Compare what an agent reports itself", "meter run --telemetry -- claude"],
      ["Show the variables that are set", "meter run -- env"],
    ],
  });

  project = Option.String("--project", { description: "The project to record the requests under" });
  telemetry = Option.Boolean("--telemetry", false, {
    description: "Make coding agents report their own usage to the daemon",
  });
  // A separate positional: the parser allows no option directly before an argument that takes all words.
  program = Option.String({ name: "command" });
  words = Option.Proxy({ name: "words" });

  protected override async perform(): Promise<number> {
    const { runMetered } = await import("./run-metered.ts");
    return await runMetered(this.commandContext, this);
  }
}
