import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class DoctorCommand extends MeterCommand {
  static override paths = [["doctor"]];
  static override usage = Command.Usage({
    category: "Installing",
    description: "Check everything that metering depends on",
    details: `
      Prints each check as it finishes, with a command that fixes the problem, and ends with HEALTHY, INCONSISTENT or
      BROKEN. Takes at most 15 s. Runs node, python3 and curl, if installed, against a test proxy on this machine to see
      whether they use it. Exits with 0 if HEALTHY, otherwise with 1.
    `,
    examples: [
      ["Check this machine", "meter doctor"],
      ["Check, and fix what can be fixed automatically", "meter doctor --fix"],
    ],
  });

  fix = Option.Boolean("--fix", false, { description: "Apply fixes that change only meter itself" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<number> {
    const { runDoctor } = await import("./run-doctor.ts");
    return await runDoctor(this.commandContext, this);
  }
}
