import type { Diagnosis, FindingLevel } from "../../core/doctor/mod.ts";
import { printable } from "./printable.ts";

const marks: Readonly<Record<FindingLevel, string>> = {
  broken: "BROKEN",
  inconsistent: "look",
  note: "note",
  ok: "ok",
};

/** The verdict first, then what is wrong, then what is not; each cure is a line to paste. */
export function renderDiagnosis({ verdict, findings }: Diagnosis): string {
  const order: FindingLevel[] = ["broken", "inconsistent", "note", "ok"];
  const lines = order.flatMap((level) =>
    findings
      .filter((finding) => finding.level === level)
      .flatMap(({ check, says, cure }) => [
        `${marks[level].padEnd(6)}  ${check.padEnd(9)}  ${printable(says)}`,
        ...(cure === null ? [] : [`${" ".repeat(19)}${cure}`]),
      ]),
  );
  return [verdict, ...lines].join("\n");
}
