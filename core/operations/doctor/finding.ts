/** The severity of a finding. `broken`: calls fail or nothing is metered. `note`: does not affect the verdict. */
export type FindingLevel = "ok" | "note" | "inconsistent" | "broken";

/** A fix that `doctor --fix` can apply. */
export type DoctorFix = "start" | "restart" | "refresh_installation" | "close_key";

/** The result of one check. */
export interface Finding {
  readonly check: string;
  readonly level: FindingLevel;
  readonly message: string;
  /** A command that the user can run to fix it; null if nothing needs fixing or no command can. */
  readonly fixCommand: string | null;
  readonly automaticFix: DoctorFix | null;
}

type Fix = Partial<Pick<Finding, "fixCommand" | "automaticFix">>;
const finding =
  (level: FindingLevel) =>
  (check: string, message: string, fix: Fix = {}): Finding => ({
    check,
    level,
    message,
    fixCommand: null,
    automaticFix: null,
    ...fix,
  });
/** Creates a finding of each level. */
export const ok = finding("ok");
export const note = finding("note");
export const inconsistent = finding("inconsistent");
export const broken = finding("broken");

/** The fixes that start the daemon, restart it, or refresh the installation. */
export const start = { fixCommand: "meter start", automaticFix: "start" } as const;
export const restart = { fixCommand: "meter stop && meter start", automaticFix: "restart" } as const;
export const refresh = { fixCommand: "meter init --yes", automaticFix: "refresh_installation" } as const;

/**
 * Splits a problem of the store that ends with the command that fixes it, such as `the file is read-only. Allow writing to it: chmod …`, into
 * both. Any other problem becomes a sentence without a command.
 */
export function splitProblem(problem: string): {
  readonly sentence: string;
  readonly fixCommand: string | null;
} {
  const [, fact, fixCommand] = /^(.*\.) [A-Z][a-z ]+: (.+)$/s.exec(problem) ?? [];
  if (fact === undefined || fixCommand === undefined)
    return { sentence: /[.!?]$/.test(problem) ? problem : `${problem}.`, fixCommand: null };
  return { sentence: fact, fixCommand };
}
