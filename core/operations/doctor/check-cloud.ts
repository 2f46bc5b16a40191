import type { DoctorFacts } from "./doctor-facts.ts";
import { broken, type Finding, inconsistent, ok } from "./finding.ts";

/** Checks the configuration and the connection to the cloud. */
export function checkCloud({ cloud, configWarnings, configProblem }: DoctorFacts): Finding[] {
  const findings: Finding[] = [];
  if (configProblem !== null)
    findings.push(
      broken("config", `${configProblem} A running daemon keeps the last configuration that it could read.`),
    );
  if (cloud !== null) {
    const reasons = cloud.reasons.length === 0 ? "" : `: ${cloud.reasons.join(", ").replaceAll("_", " ")}`;
    findings.push(
      cloud.banner === "ACTIVE" || cloud.banner === "NOT-CONFIGURED"
        ? ok("cloud", `${cloud.banner}${cloud.banner === "ACTIVE" ? "" : ": nothing is sent to a cloud"}`)
        : inconsistent("cloud", `${cloud.banner}${reasons}`, {
            fixCommand: cloud.banner === "PAUSED" ? "meter cloud resume" : "meter cloud status",
          }),
    );
    if (cloud.ledgerFault)
      findings.push(inconsistent("cloud", cloud.ledgerFault, { fixCommand: "meter cloud ledger" }));
  }
  for (const warning of configWarnings) findings.push(inconsistent("config", warning));
  return findings;
}
