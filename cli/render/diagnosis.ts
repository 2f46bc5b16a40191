import type { Diagnosis, FindingLevel } from "../../core/doctor/mod.ts";
import { counted } from "./count.ts";
import { labelled } from "./labelled.ts";
import { printable } from "./printable.ts";

const marks: Readonly<Record<FindingLevel, string>> = {
  broken: "BROKEN",
  inconsistent: "look",
  note: "note",
  ok: "ok",
};

/** Columns before what a finding says. */
const LABEL_WIDTH = 19;

/** The verdict first, then what is wrong, then what is not; each cure is a line of its own, to paste, and never broken. */
export function renderDiagnosis({ verdict, findings }: Diagnosis, width: number): string {
  const order: FindingLevel[] = ["broken", "inconsistent", "note", "ok"];
  const lines = order.flatMap((level) =>
    findings
      .filter((finding) => finding.level === level)
      .flatMap(({ check, says, cure }) => [
        labelled(`${marks[level].padEnd(6)}  ${check}`, printable(says), LABEL_WIDTH, width),
        ...(cure === null ? [] : [`${" ".repeat(LABEL_WIDTH)}${cure}`]),
      ]),
  );
  const count = (level: FindingLevel) => findings.filter((finding) => finding.level === level).length;
  const [broken, odd] = [count("broken"), count("inconsistent")];
  const counts = [
    ...(broken > 0 ? [`${counted(broken, "thing")} broken`] : []),
    ...(odd > 0 ? [`${counted(odd, "thing")} to look at`] : []),
  ];
  return [counts.length === 0 ? verdict : `${verdict}: ${counts.join(", ")}`, ...lines].join("\n");
}
