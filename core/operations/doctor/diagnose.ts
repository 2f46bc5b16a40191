import { checkAuthority } from "./check-authority.ts";
import { checkBudgets } from "./check-budgets.ts";
import { checkBypass, checkClients, checkShell } from "./check-clients.ts";
import { checkCloud } from "./check-cloud.ts";
import { checkDaemon, checkMetering, checkService } from "./check-daemon.ts";
import { checkData } from "./check-data.ts";
import { checkTelemetry } from "./check-telemetry.ts";
import type { DoctorFacts } from "./doctor-facts.ts";
import { type Finding, type FindingLevel, inconsistent } from "./finding.ts";

/** The overall verdict. Source: docs/specification.md#command-line, `doctor`. */
export type DoctorVerdict = "HEALTHY" | "INCONSISTENT" | "BROKEN";

/** The verdict and the findings that it follows from. */
export interface Diagnosis {
  readonly verdict: DoctorVerdict;
  readonly findings: readonly Finding[];
}

type FactName = keyof DoctorFacts;

/** A check with the facts that it needs. `name` is the key in `DoctorFacts.overdue`. */
interface Check {
  readonly name: string;
  readonly from: readonly FactName[];
  readonly find: (facts: DoctorFacts) => Finding[];
}

const checks: readonly Check[] = [
  {
    name: "daemon",
    from: ["daemon", "unresponsiveDaemon", "proxy", "version", "platform", "freeDiskBytes"],
    find: checkDaemon,
  },
  { name: "budgets", from: ["budgets"], find: checkBudgets },
  { name: "telemetry", from: ["telemetry"], find: checkTelemetry },
  { name: "service", from: ["install", "daemon"], find: checkService },
  {
    name: "self-test",
    from: ["selfTest", "interception", "freeDiskBytes", "daemon", "database"],
    find: checkMetering,
  },
  { name: "trust", from: ["authority", "daemon", "meterHome", "now"], find: checkAuthority },
  { name: "shell", from: ["shell", "install", "daemon"], find: checkShell },
  { name: "client", from: ["clients", "shell", "install"], find: checkClients },
  { name: "bypass", from: ["bypassing", "unmetered", "daemon", "meterHome"], find: checkBypass },
  {
    name: "prices",
    from: [
      "database",
      "daemon",
      "newestRate",
      "ratesHaveSource",
      "now",
      "freeDiskBytes",
      "meterHome",
      "platform",
    ],
    find: checkData,
  },
  { name: "cloud", from: ["cloud", "configWarnings", "configProblem"], find: checkCloud },
];

/**
 * Runs a check. If it is overdue, its facts are incomplete: its `ok` findings are dropped, and a finding reports the
 * timeout.
 */
function runCheck({ name, find }: Check, facts: DoctorFacts): Finding[] {
  const seconds = facts.overdue[name];
  const found = find(facts);
  if (seconds === undefined) return found;
  return [
    inconsistent(name, `This check did not finish within ${seconds} s.`),
    ...found.filter(({ check, level }) => check !== name || level !== "ok"),
  ];
}

/** Returns the findings of the checks whose facts became complete between `before` and `after`. */
export function newFindings(before: Partial<DoctorFacts>, after: Partial<DoctorFacts>): Finding[] {
  const isReady = (known: Partial<DoctorFacts>, { from }: Check) => from.every((fact) => fact in known);
  return checks
    .filter((check) => isReady(after, check) && !isReady(before, check))
    .flatMap((check) => runCheck(check, { overdue: {}, ...after } as DoctorFacts));
}

/** Returns the verdict for the findings: the worst level decides. */
export function verdictOf(findings: readonly Finding[]): DoctorVerdict {
  const has = (level: FindingLevel) => findings.some((each) => each.level === level);
  return has("broken") ? "BROKEN" : has("inconsistent") ? "INCONSISTENT" : "HEALTHY";
}

/** Checks the facts. Findings come in a fixed order. */
export function diagnose(facts: DoctorFacts): Diagnosis {
  const findings = checks.flatMap((check) => runCheck(check, facts));
  return { verdict: verdictOf(findings), findings };
}
