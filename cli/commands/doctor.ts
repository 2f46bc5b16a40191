import { Command, Option } from "clipanion";
import { exitCodes } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";
import { toPaste } from "../program-word.ts";

export class DoctorCommand extends MeterCommand {
  static override paths = [["doctor"]];
  static override usage = Command.Usage({
    category: "Installing",
    description: "whether everything that metering takes is in order",
    details: `
      Says HEALTHY, INCONSISTENT or BROKEN, then what was found, each with a command that mends it. Runs node, python3 and
      curl, where they are there, against a stand-in for the proxy on this machine, to see whether they come through it.
      Ends with 0 when HEALTHY, else with 1.
    `,
    examples: [
      ["Look", "meter doctor"],
      ["Mend what can be mended without asking", "meter doctor --fix"],
    ],
  });

  fix = Option.Boolean("--fix", false, { description: "run the cures that change nothing but the meter" });
  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<number> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { diagnose } = await import("../../core/doctor/mod.ts");
    const { gatherFacts } = await import("../doctor/gather-facts.ts");
    const { renderDiagnosis } = await import("../render/diagnosis.ts");
    const { env } = this.context;
    const home = meterHome(env);
    let diagnosis = diagnose(await gatherFacts(home, env));
    const fixed: string[] = [];
    if (this.fix) {
      const { applyFixes } = await import("../doctor/apply-fixes.ts");
      fixed.push(...(await applyFixes(home, env, diagnosis)));
      if (fixed.length > 0) diagnosis = diagnose(await gatherFacts(home, env));
    }
    if (this.json) this.printJson({ ...diagnosis, fixed });
    else {
      for (const each of fixed) this.print(`fixed   ${each}`);
      // Before lines are broken, since what is to be pasted may be longer.
      const typed = (text: string) => toPaste(text, env);
      const findings = diagnosis.findings.map(({ says, cure, ...rest }) => ({
        ...rest,
        says: typed(says),
        cure: cure === null ? null : typed(cure),
      }));
      this.print(renderDiagnosis({ ...diagnosis, findings }, this.width));
    }
    return diagnosis.verdict === "HEALTHY" ? exitCodes.ok : exitCodes.failed;
  }
}
