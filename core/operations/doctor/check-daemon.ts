import { FULL_DISK_BYTES } from "./check-data.ts";
import type { DoctorFacts } from "./doctor-facts.ts";
import {
  broken,
  type Finding,
  inconsistent,
  note,
  ok,
  refresh,
  restart,
  splitProblem,
  start,
} from "./finding.ts";

const isDiskFull = (freeBytes: number | null): boolean => freeBytes !== null && freeBytes < FULL_DISK_BYTES;

/** Returns the command that lists the programs that listen on a port. */
const listListenersCommand = (platform: string, port: number): string =>
  platform === "win32"
    ? `netstat -ano | findstr :${port}`
    : platform === "darwin"
      ? `lsof -nP -iTCP:${port} -sTCP:LISTEN`
      : `ss -ltnp 'sport = :${port}'`;

/** Checks the installed service and the record of the installation. */
export function checkService({ install, daemon }: DoctorFacts): Finding[] {
  if (install.record === "unreadable")
    return [
      broken(
        "service",
        "The record of what meter init changed cannot be read, so the changes cannot be undone automatically.",
      ),
    ];
  if (install.record === "absent")
    return [
      note(
        "service",
        "No service is installed. The daemon does not start again when this machine restarts.",
        {
          fixCommand: "meter init",
        },
      ),
    ];
  const findings: Finding[] = [];
  if (install.missingProgram !== null)
    findings.push(
      broken("service", `The service starts ${install.missingProgram}, which no longer exists.`, refresh),
    );
  if (install.unfinished > 0)
    findings.push(
      inconsistent(
        "service",
        `${install.unfinished} ${install.unfinished === 1 ? "step" : "steps"} of meter init did not finish.`,
        refresh,
      ),
    );
  for (const each of install.changed)
    findings.push(inconsistent("service", `Changed since meter init: ${each}`, refresh));
  if (findings.length > 0) return findings;
  return [
    install.manager === null
      ? note(
          "service",
          "No service manager is available. Start the daemon yourself after this machine restarts.",
        )
      : ok(
          "service",
          daemon === null
            ? `The installation record says that ${install.manager} keeps the daemon running.`
            : `${install.manager} keeps the daemon running.`,
        ),
  ];
}

/** What is wrong with `daemon.json`, by the state in `DoctorFacts.unresponsiveDaemon`. */
const FILE_PROBLEMS = {
  valid: null,
  absent: "is missing",
  damaged: "is damaged",
  stale: "names another process",
} as const;

/** Checks whether the daemon runs, stores records and listens on the configured port. */
export function checkDaemon({
  daemon,
  unresponsiveDaemon,
  proxy,
  version,
  platform,
  freeDiskBytes,
}: DoctorFacts): Finding[] {
  if (daemon === null && unresponsiveDaemon !== null) {
    const { pid, announcement } = unresponsiveDaemon;
    const process = pid === null ? "" : ` (process ${pid})`;
    if (isDiskFull(freeDiskBytes))
      return [
        broken(
          "daemon",
          `The daemon${process} does not respond. The disk is full, so it may not have been able to write daemon.json.`,
        ),
      ];
    const problem = announcement === undefined ? null : FILE_PROBLEMS[announcement];
    if (problem !== null) {
      const message = `The daemon${process} is using this home, but commands can't find it, because daemon.json ${problem}.`;
      return [broken("daemon", message, restart)];
    }
    return [
      broken("daemon", `The daemon hangs${process}. It holds this home directory but does not respond.`, {
        fixCommand: pid === null || platform === "win32" ? null : `kill -KILL ${pid} && meter start`,
      }),
    ];
  }
  if (daemon === null) {
    return [
      proxy.inUse
        ? broken(
            "daemon",
            `The daemon is not running, and another program listens on its port ${proxy.configuredPort}. Stop that program, or set [proxy] port in config.toml. To find the program:`,
            { fixCommand: listListenersCommand(platform, proxy.configuredPort) },
          )
        : broken(
            "daemon",
            "The daemon is not running. Nothing is metered, and programs that use the proxy fail.",
            start,
          ),
    ];
  }
  const findings: Finding[] = [];
  if (!daemon.capturing) findings.push(describeStoreProblem(daemon.storeProblem ?? null));
  if (daemon.watchdog === "exhausted")
    findings.push(broken("port", "The proxy kept hanging, so calls pass without being metered.", restart));
  else if (daemon.watchdog !== "healthy")
    findings.push(broken("port", "The proxy does not respond.", restart));
  if (daemon.version !== version)
    findings.push(
      inconsistent("daemon", `Version ${daemon.version} is running, but ${version} is installed.`, restart),
    );
  if (daemon.setAside !== null)
    findings.push(note("database", `A damaged database was moved to ${daemon.setAside}`));
  if (proxy.configuredPort !== 0 && proxy.configuredPort !== daemon.proxyPort)
    findings.push(
      inconsistent(
        "port",
        `The proxy listens on port ${daemon.proxyPort}, but the configuration says ${proxy.configuredPort}.`,
        restart,
      ),
    );
  return findings.length > 0
    ? findings
    : [ok("daemon", `The daemon is running. The proxy responds on port ${daemon.proxyPort}.`)];
}

function describeStoreProblem(problem: string | null): Finding {
  const message = "The daemon is running but cannot store what it meters";
  if (problem === null) return broken("daemon", `${message}. meter status shows why.`);
  const { sentence, fixCommand } = splitProblem(problem);
  return broken("daemon", `${message}: ${sentence}`, { fixCommand });
}

/** Whether another finding says why no record is stored, with its fix. */
const isStoreBroken = ({ daemon, database: { state } }: DoctorFacts): boolean =>
  daemon?.capturing === false || (state !== "ok" && state !== "absent");

/** Checks whether the proxy intercepts a connection to a provider. */
export function checkMetering(facts: DoctorFacts): Finding[] {
  const { selfTest, interception, freeDiskBytes } = facts;
  if (selfTest === null) return [];
  const findings = [
    selfTest.ok
      ? ok("self-test", selfTest.message)
      : isDiskFull(freeDiskBytes)
        ? broken("self-test", `${selfTest.message} The disk is full.`)
        : broken("self-test", selfTest.message, isStoreBroken(facts) ? {} : restart),
  ];
  switch (interception) {
    case "intercepted":
      findings.push(ok("TLS", "A provider connection through the proxy presents the meter's certificate."));
      break;
    case "offline":
      findings.push(note("TLS", "Not checked: no provider can be reached from this machine."));
      break;
    case null:
      break;
    default:
      findings.push(
        broken(
          "TLS",
          "A provider connection through the proxy does not present the meter's certificate.",
          restart,
        ),
      );
  }
  return findings;
}
