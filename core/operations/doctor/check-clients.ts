import { quoteForShell } from "../../values/text/shell-words.ts";
import type { ClientOutcome, DoctorFacts } from "./doctor-facts.ts";
import { type Finding, inconsistent, note, ok } from "./finding.ts";
import { describeDistrust } from "./trust-advice.ts";

/** Returns the command that makes the current shell use the meter. */
const loadVariablesCommand = ({ shell, install }: Pick<DoctorFacts, "shell" | "install">): string | null =>
  shell.variablesFile === null
    ? `meter init${install.apps ? " --yes" : " --apps"}`
    : `${shell.variablesFile.endsWith(".fish") ? "source" : "."} ${quoteForShell(shell.variablesFile)}`;

/** Checks whether the shell uses the meter. */
export function checkShell({ shell, install, daemon }: DoctorFacts): Finding[] {
  const load = loadVariablesCommand({ shell, install });
  if (shell.proxy === "none" && install.apps && daemon === null)
    return [note("shell", "This shell bypasses the meter while the daemon is not running.")];
  if (shell.proxy === "none") {
    return [
      install.apps
        ? inconsistent(
            "shell",
            "This shell does not use the meter. It may have been opened before meter init.",
            { fixCommand: load },
          )
        : note("shell", "This shell does not use the meter. Use meter run, or set up your shells.", {
            fixCommand: "meter init --apps",
          }),
    ];
  }
  if (shell.proxy === "other")
    return [
      (install.apps ? inconsistent : note)(
        "shell",
        "This shell's proxy variables name another proxy. Programs started from it are not metered.",
        {
          fixCommand: install.apps ? load : null,
        },
      ),
    ];
  const findings: Finding[] = [];
  if (shell.exemptHosts.length > 0)
    findings.push(
      inconsistent(
        "shell",
        `NO_PROXY excludes these hosts from the meter: ${shell.exemptHosts.join(", ")}. Remove them where NO_PROXY is set.`,
      ),
    );
  if (shell.lacksPassword)
    findings.push(
      inconsistent(
        "shell",
        "The proxy variables of this shell lack the password in config.toml, so all calls through the proxy fail with 407.",
        { fixCommand: `meter init${install.apps ? " --yes" : " --apps"}` },
      ),
    );
  for (const name of shell.badTrustVariables)
    findings.push(
      inconsistent("shell", `${name} names a file that is missing or lacks the meter's authority.`, {
        fixCommand: load,
      }),
    );
  return findings.length > 0 ? findings : [ok("shell", "Programs started from this shell use the meter.")];
}

const clientMessages: Readonly<Record<ClientOutcome, string>> = {
  metered: "uses the proxy and trusts its certificate",
  bypasses: "bypasses the proxy, so its calls are not metered",
  outdated: "cannot use a proxy, so its calls are not metered",
  distrusts: "rejects the meter's certificate, so its calls fail",
  timed_out: "did not finish its test call in time, so it is unknown whether its calls are metered",
  expected: "has the variables that it needs (not run, because that requires a login)",
  lacks_variables: "lacks variables that it needs",
};

/** Checks the clients that were found on this machine. */
export function checkClients({ clients, shell, install }: DoctorFacts): Finding[] {
  const where = shell.proxy === "meter" ? "from this shell" : "under meter run";
  return clients.map(({ name, version, outcome, why }) => {
    const isOk = outcome === "metered" || outcome === "expected";
    const level = isOk ? ok : outcome === "timed_out" ? note : inconsistent;
    const title = version === null ? name : `${name} ${version}`;
    const lacksVariables = level === inconsistent && outcome !== "outdated" && shell.proxy === "meter";
    return level(
      "client",
      `${title}, ${where}: ${clientMessages[outcome]}${why === null ? "" : `: ${why}`}`,
      {
        fixCommand: lacksVariables ? loadVariablesCommand({ shell, install }) : null,
      },
    );
  });
}

/** Checks for connections to providers that bypass the meter. */
export function checkBypass({ bypassing, unmetered, daemon, meterHome }: DoctorFacts): Finding[] {
  const findings = bypassing.map(({ host, pid, program }) =>
    inconsistent(
      "bypass",
      `${program ?? "A program"}${pid === null ? "" : ` (process ${pid})`} has a connection to an address of ${host} that bypasses the meter. Restart it from a new shell, or with meter run.`,
    ),
  );
  for (const description of unmetered)
    findings.push(
      inconsistent("coverage", `Not metered in the last 24 hours: ${description}`, {
        fixCommand: "meter coverage",
      }),
    );
  const distrusting = daemon?.distrusting ?? [];
  for (const program of distrusting) {
    const { text, command } = describeDistrust(program, `${meterHome}/ca/ca.pem`);
    findings.push(inconsistent("coverage", text, { fixCommand: command }));
  }
  if (daemon !== null && daemon.endedUnused > 0 && distrusting.length === 0)
    findings.push(
      inconsistent(
        "coverage",
        `${daemon.endedUnused} ${daemon.endedUnused === 1 ? "connection" : "connections"} ended before a request was sent. Clients that do not trust the certificate do this.`,
      ),
    );
  return findings.length > 0
    ? findings
    : [ok("bypass", "No program was seen connecting to a provider without the meter.")];
}
