import type { Diagnosis } from "../../../core/operations/doctor/diagnose.ts";
import type { Finding, FindingLevel } from "../../../core/operations/doctor/finding.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { labelled } from "../../render/labelled.ts";
import { printable } from "../../render/printable.ts";

const marks: Readonly<Record<FindingLevel, string>> = {
  broken: "BROKEN",
  inconsistent: "check",
  note: "note",
  ok: "ok",
};

/** Width of the level and the check's name, in columns. */
const LABEL_WIDTH = 19;

/** Renders one finding. Its command has its own line and is never wrapped, so that it can be pasted. */
export function renderFinding({ level, check, message, fixCommand }: Finding, width: number): string {
  const line = labelled(`${marks[level].padEnd(6)}  ${check}`, printable(message), LABEL_WIDTH, width);
  return fixCommand === null ? line : `${line}\n${" ".repeat(LABEL_WIDTH)}${fixCommand}`;
}

/** What `meter doctor --json` prints. The names of the keys are a promise to programs. */
export interface DiagnosisJson extends Pick<Diagnosis, "verdict"> {
  readonly findings: readonly (Pick<Finding, "check" | "level"> & {
    readonly message: Finding["message"];
    readonly fix_command: Finding["fixCommand"];
    readonly automatic_fix: Finding["automaticFix"];
  })[];
  readonly fixed: readonly string[];
}

/** Converts a diagnosis to what `meter doctor --json` prints; `fixed` lists what `--fix` did. */
export function diagnosisJson({ verdict, findings }: Diagnosis, fixed: readonly string[]): DiagnosisJson {
  return {
    verdict,
    findings: findings.map(({ check, level, message, fixCommand, automaticFix }) => ({
      check,
      level,
      message,
      fix_command: fixCommand,
      automatic_fix: automaticFix,
    })),
    fixed,
  };
}

/** Renders the verdict with the number of problems. */
export function renderVerdict({ verdict, findings }: Diagnosis): string {
  const count = (level: FindingLevel) => findings.filter((finding) => finding.level === level).length;
  const [broken, odd] = [count("broken"), count("inconsistent")];
  const counts = [
    ...(broken > 0 ? [`${formatQuantity(broken, "check")} failed`] : []),
    ...(odd > 0 ? [formatQuantity(odd, "inconsistency", "inconsistencies")] : []),
  ];
  return counts.length === 0 ? verdict : `${verdict}: ${counts.join(", ")}`;
}
