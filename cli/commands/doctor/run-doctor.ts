import process from "node:process";
import { diagnose, newFindings } from "../../../core/operations/doctor/diagnose.ts";
import type { DoctorFacts } from "../../../core/operations/doctor/doctor-facts.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { exitCodes } from "../../program/exit-codes.ts";
import { withProgramName } from "../../program/program-name.ts";
import { gatherFacts } from "./gather-facts.ts";
import { diagnosisJson, renderFinding, renderVerdict } from "./render-diagnosis.ts";

/** Time to write what was printed, in milliseconds. */
const EXIT_AFTER_MS = 500;

/** The options of `meter doctor`. */
export interface RunDoctorOptions {
  readonly fix: boolean;
  readonly json: boolean;
}

/** Checks that everything metering depends on works. */
export async function runDoctor(context: CommandContext, options: RunDoctorOptions): Promise<number> {
  const { env, home } = context;
  // Applied before lines are wrapped, because the name may be longer. What was wrapped is printed as it is.
  const typed = (text: string) => withProgramName(text, env);
  const check = async () => {
    let before: Partial<DoctorFacts> = {};
    const facts = await gatherFacts(home, env, (known) => {
      for (const { message, fixCommand, ...rest } of options.json ? [] : newFindings(before, known)) {
        const finding = {
          ...rest,
          message: typed(message),
          fixCommand: fixCommand === null ? null : typed(fixCommand),
        };
        context.printAsIs(renderFinding(finding, context.width));
      }
      before = known;
    });
    // An overdue check may keep the process alive, and its result is no longer needed.
    if (Object.keys(facts.overdue).length > 0) setTimeout(() => process.exit(), EXIT_AFTER_MS).unref();
    return diagnose(facts);
  };
  let diagnosis = await check();
  const fixed: string[] = [];
  if (options.fix) {
    const { applyFixes } = await import("./apply-fixes.ts");
    fixed.push(...(await applyFixes(home, env, diagnosis)));
    if (!options.json) for (const each of fixed) context.print(`fixed   ${each}`);
    if (fixed.length > 0) diagnosis = await check();
  }
  if (options.json) context.printJson(diagnosisJson(diagnosis, fixed));
  else context.print(renderVerdict(diagnosis));
  return diagnosis.verdict === "HEALTHY" ? exitCodes.ok : exitCodes.failed;
}
