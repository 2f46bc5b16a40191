import { quoteForShell } from "../install/mod.ts";
import type { ClientOutcome, DoctorFacts } from "./doctor-facts.ts";

/** How bad a finding is: `broken` means that calls fail or nothing is metered; a `note` leaves the verdict alone. */
export type FindingLevel = "ok" | "note" | "inconsistent" | "broken";

/** What `doctor --fix` can do by itself. */
export type DoctorFix = "start" | "restart" | "refresh_installation" | "close_key";

/** One check. */
export interface Finding {
  readonly check: string;
  readonly level: FindingLevel;
  readonly says: string;
  /** A command to paste; null where there is nothing to mend, or no command for it. */
  readonly cure: string | null;
  readonly fix: DoctorFix | null;
}

/** All in one word. Source: contract, "Command-line", `doctor`; the words are the issue's. */
export type DoctorVerdict = "HEALTHY" | "INCONSISTENT" | "BROKEN";

/** What the doctor says. */
export interface Diagnosis {
  readonly verdict: DoctorVerdict;
  readonly findings: readonly Finding[];
}

/** Decision: rates this old, in days, are worth a word; providers change prices a few times a year. */
export const STALE_RATES_DAYS = 90;

/** Decision: below this much free space, in bytes, capture may soon stop. */
export const LOW_DISK_BYTES = 500 * 1024 * 1024;
/** Decision: and below this much it is about to. */
export const FULL_DISK_BYTES = 20 * 1024 * 1024;

/** Source: decisions, "Metadata batch": a client clock off by more than 23 hours is flagged. */
export const CLOCK_TOLERANCE_MS = 23 * 3_600_000;

/** Decision: a database of this many bytes is worth naming where the disk is nearly full. */
export const LARGE_DATABASE_BYTES = 100 * 1024 * 1024;

/** How far back what is worth keeping may begin on a disk that is nearly full, in days. */
const KEPT_DAYS = 90;

const DAY_MS = 86_400_000;

const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Shows who listens on a port. */
const whoListens = (platform: string, port: number): string =>
  platform === "win32"
    ? `netstat -ano | findstr :${port}`
    : platform === "darwin"
      ? `lsof -nP -iTCP:${port} -sTCP:LISTEN`
      : `ss -ltnp 'sport = :${port}'`;

/** Has the system set its clock by the network. */
const setClock = (platform: string): string =>
  platform === "win32"
    ? "w32tm /resync"
    : platform === "darwin"
      ? "sudo sntp -sS time.apple.com"
      : "sudo timedatectl set-ntp true";

type Rest = Partial<Pick<Finding, "cure" | "fix">>;
const finding =
  (level: FindingLevel) =>
  (check: string, says: string, rest: Rest = {}): Finding => ({
    check,
    level,
    says,
    cure: null,
    fix: null,
    ...rest,
  });
const ok = finding("ok");
const note = finding("note");
const inconsistent = finding("inconsistent");
const broken = finding("broken");

const start = { cure: "meter start", fix: "start" } as const;
const restart = { cure: "meter stop && meter start", fix: "restart" } as const;
const refresh = { cure: "meter init --yes", fix: "refresh_installation" } as const;

function checkService({ install, daemon }: DoctorFacts): Finding[] {
  if (install.record === "unreadable")
    return [broken("service", "the record of what init did can't be read, so it can't be undone by itself")];
  if (install.record === "absent")
    return [
      note("service", "none is installed: the daemon ends with this machine's next restart", {
        cure: "meter init",
      }),
    ];
  const findings: Finding[] = [];
  if (install.missingProgram !== null)
    findings.push(broken("service", `it starts ${install.missingProgram}, which is gone`, refresh));
  if (install.unfinished > 0)
    findings.push(
      inconsistent(
        "service",
        `${install.unfinished} ${install.unfinished === 1 ? "step of init was" : "steps of init were"} begun and not finished`,
        refresh,
      ),
    );
  for (const each of install.stale)
    findings.push(inconsistent("service", `no longer as init made it: ${each}`, refresh));
  if (findings.length > 0) return findings;
  return [
    install.manager === null
      ? note(
          "service",
          "no service manager runs here: start the daemon by hand after a restart of the machine",
        )
      : ok(
          "service",
          `${install.manager} keeps the daemon running${daemon === null ? ", by its record" : ""}`,
        ),
  ];
}

function checkDaemon({ daemon, proxy, version, platform }: DoctorFacts): Finding[] {
  if (daemon === null) {
    return [
      proxy.taken
        ? broken(
            "daemon",
            `it does not run, and somebody else listens on its port ${proxy.configuredPort}: end that program, or set [proxy] port in config.toml. Who it is:`,
            { cure: whoListens(platform, proxy.configuredPort) },
          )
        : broken(
            "daemon",
            "it does not run: nothing is metered, and programs that are led to it fail",
            start,
          ),
    ];
  }
  const findings: Finding[] = [];
  if (!daemon.capturing)
    findings.push(broken("daemon", "it runs and can't store what it meters: meter status says why"));
  if (daemon.watchdog !== "healthy") findings.push(broken("port", "the proxy does not answer", restart));
  if (daemon.version !== version)
    findings.push(inconsistent("daemon", `version ${daemon.version} runs, ${version} is installed`, restart));
  if (daemon.setAside !== null)
    findings.push(note("database", `a damaged one was moved to ${daemon.setAside}`));
  if (proxy.configuredPort !== 0 && proxy.configuredPort !== daemon.proxyPort)
    findings.push(
      inconsistent(
        "port",
        `the proxy listens on ${daemon.proxyPort}, the configuration says ${proxy.configuredPort}`,
        restart,
      ),
    );
  return findings.length > 0
    ? findings
    : [ok("daemon", `it runs; the proxy answers on port ${daemon.proxyPort}`)];
}

function checkMetering({ selfTest, interception }: DoctorFacts): Finding[] {
  if (selfTest === null) return [];
  const findings = [
    selfTest.ok ? ok("self-test", selfTest.says) : broken("self-test", selfTest.says, restart),
  ];
  switch (interception) {
    case "intercepted":
      findings.push(ok("TLS", "a provider's connection through the proxy shows the meter's certificate"));
      break;
    case "offline":
      findings.push(note("TLS", "not tried: no provider can be reached from here now"));
      break;
    case null:
      break;
    default:
      findings.push(
        broken(
          "TLS",
          "a provider's connection through the proxy does not show the meter's certificate",
          restart,
        ),
      );
  }
  return findings;
}

function checkAuthority({ authority, meterHome, now, install, daemon }: DoctorFacts): Finding[] {
  const { state, validUntil } = authority;
  const findings: Finding[] = [];
  const days = validUntil === null ? 0 : Math.floor((validUntil - now) / DAY_MS);
  if (state === "absent")
    return [
      daemon === null
        ? note("authority", "there is none yet: the daemon makes it when it starts")
        : broken("authority", "its files are gone", restart),
    ];
  if (state === "damaged") findings.push(broken("authority", "its certificate is damaged", restart));
  else if (days <= 0) findings.push(broken("authority", "its certificate has expired", restart));
  else if (state === "expiring")
    findings.push(
      inconsistent(
        "authority",
        `its certificate ends in ${days} ${days === 1 ? "day" : "days"}; a restart renews it`,
        restart,
      ),
    );
  else if (state === "hosts_changed")
    findings.push(
      inconsistent("authority", "it may not sign for all hosts that the configuration names", {
        ...restart,
        cure: install.record === "present" ? "meter stop && meter start && meter init --yes" : restart.cure,
      }),
    );
  if (authority.keyOpenToOthers)
    findings.push(
      inconsistent("authority", "others can read its key", {
        cure: `chmod 700 ${quoteForShell(`${meterHome}/ca`)} && chmod 600 ${quoteForShell(`${meterHome}/ca/key.pem`)}`,
        fix: "close_key",
      }),
    );
  if (authority.systemTrusts === false) {
    findings.push(
      authority.trustRecorded
        ? inconsistent("trust", "init had it trusted, and it is not any more", refresh)
        : note(
            "trust",
            "the system's list of authorities lacks the meter's; meter run and init --apps do without",
            {
              cure: authority.trustCure,
            },
          ),
    );
  } else if (authority.systemTrusts === true) findings.push(ok("trust", "programs of this user trust it"));
  return findings.some(({ level }) => level !== "ok" && level !== "note")
    ? findings
    : [ok("authority", `it is there, for another ${days} days`), ...findings];
}

/** Leads the shell that it is pasted into to the meter. */
const leadShell = ({ shell, install }: Pick<DoctorFacts, "shell" | "install">): string | null =>
  shell.variablesFile === null
    ? `meter init${install.apps ? " --yes" : " --apps"}`
    : `${shell.variablesFile.endsWith(".fish") ? "source" : "."} ${quoteForShell(shell.variablesFile)}`;

function checkShell({ shell, install }: DoctorFacts): Finding[] {
  const load = leadShell({ shell, install });
  if (shell.proxy === "none") {
    return [
      install.apps
        ? inconsistent(
            "shell",
            "this shell does not lead to the meter, as those that were open before init don't",
            { cure: load },
          )
        : note("shell", "this shell does not lead to the meter: use meter run", {
            cure: "meter init --apps",
          }),
    ];
  }
  if (shell.proxy === "other")
    return [
      (install.apps ? inconsistent : note)(
        "shell",
        "its proxy variables name another proxy: what it starts is not metered",
        {
          cure: install.apps ? load : null,
        },
      ),
    ];
  const findings: Finding[] = [];
  if (shell.excepted.length > 0)
    findings.push(
      inconsistent(
        "shell",
        `NO_PROXY keeps these from the meter: ${shell.excepted.join(", ")}: take them out where it is set`,
      ),
    );
  for (const name of shell.badTrust)
    findings.push(
      inconsistent("shell", `${name} names a file that is missing or lacks the meter's authority`, {
        cure: load,
      }),
    );
  return findings.length > 0 ? findings : [ok("shell", "what this shell starts is led to the meter")];
}

const clientWords: Readonly<Record<ClientOutcome, string>> = {
  metered: "comes through the proxy and trusts it",
  bypasses: "goes past the proxy, unmetered",
  outdated: "can't be led to a proxy, so its calls go unmetered",
  distrusts: "refuses the meter's certificate, so its calls fail",
  expected: "finds what it needs (not run, since that takes a login)",
  lacks_variables: "lacks variables that it needs",
};

function checkClients({ clients, shell, install }: DoctorFacts): Finding[] {
  const where = shell.proxy === "meter" ? "from this shell" : "under meter run";
  return clients.map(({ name, version, outcome, why }) => {
    const level = outcome === "metered" || outcome === "expected" ? ok : inconsistent;
    const title = version === null ? name : `${name} ${version}`;
    const lacksVariables = level !== ok && outcome !== "outdated" && shell.proxy === "meter";
    return level("client", `${title}, ${where}: ${clientWords[outcome]}${why === null ? "" : `: ${why}`}`, {
      cure: lacksVariables ? leadShell({ shell, install }) : null,
    });
  });
}

function checkBypass({ bypassing, unmetered, daemon }: DoctorFacts): Finding[] {
  const findings = bypassing.map(({ host, pid, program }) =>
    inconsistent(
      "bypass",
      `${program ?? "a program"}${pid === null ? "" : ` (process ${pid})`} has a connection to an address of ${host} that does not go through the meter: start it again from a new shell, or with meter run`,
    ),
  );
  for (const words of unmetered)
    findings.push(inconsistent("coverage", `in the last 24 hours not metered: ${words}`));
  if (daemon !== null && daemon.endedUnused > 0)
    findings.push(
      inconsistent(
        "coverage",
        `${daemon.endedUnused} ${daemon.endedUnused === 1 ? "connection" : "connections"} ended before a request, as those of clients do that don't trust the certificate`,
      ),
    );
  return findings.length > 0
    ? findings
    : [ok("bypass", "no program is seen talking to a provider past the meter")];
}

/** SQLite's report without its heading, in one line. */
const inOneLine = (detail: string): string =>
  detail.replace(/^\*\*\* in database \w+ \*\*\*\s*/, "").replaceAll(/\s+/g, " ");

function checkData(facts: DoctorFacts): Finding[] {
  const { database, newestRate, ratesHaveSource, now, freeDiskBytes, platform } = facts;
  const findings: Finding[] = [];
  switch (database.state) {
    case "ok":
      findings.push(ok("database", "every page of it reads well"));
      break;
    case "absent":
      findings.push(note("database", "nothing was metered yet"));
      break;
    case "older_schema":
      findings.push(inconsistent("database", "it is from an older version", restart));
      break;
    case "newer_schema":
      findings.push(broken("database", "it was written by a newer version: update this one"));
      break;
    default:
      findings.push(
        broken(
          "database",
          `it can't be read: ${inOneLine(database.detail ?? database.state)}. The daemon moves a damaged one aside and begins another`,
          restart,
        ),
      );
  }
  if (newestRate !== null) {
    const days = Math.floor((now - Date.parse(newestRate)) / DAY_MS);
    findings.push(
      days > STALE_RATES_DAYS
        ? ratesHaveSource
          ? inconsistent("prices", `the newest is ${days} days old`, { cure: "meter pricing refresh" })
          : inconsistent(
              "prices",
              `the newest is ${days} days old: a newer version brings newer ones, and so does a [pricing] pull_url in config.toml`,
            )
        : ok("prices", `the newest is of ${newestRate}`),
    );
    // Nobody can have a price list of the day after tomorrow.
    if (days < -1)
      findings.push(
        broken("clock", `it says a time before the prices of ${newestRate} were made`, {
          cure: setClock(platform),
        }),
      );
  }
  if (database.newestRequestAt !== null && database.newestRequestAt - now > CLOCK_TOLERANCE_MS)
    findings.push(inconsistent("clock", "requests are stored with times to come: the clock has gone back"));
  if (!findings.some(({ check }) => check === "clock"))
    findings.push(ok("clock", "nothing speaks against it"));
  if (freeDiskBytes !== null) {
    const mebibytes = Math.floor(freeDiskBytes / 1024 / 1024);
    const isLow = freeDiskBytes < LOW_DISK_BYTES;
    const level =
      freeDiskBytes < FULL_DISK_BYTES ? broken : freeDiskBytes < LOW_DISK_BYTES ? inconsistent : ok;
    findings.push(
      level(
        "disk",
        `${mebibytes} MiB are free${isLow ? `; the meter's database takes ${Math.ceil(database.bytes / 1024 / 1024)} MiB` : ""}`,
        isLow && database.bytes >= LARGE_DATABASE_BYTES
          ? { cure: `meter prune --before ${dateOf(now - KEPT_DAYS * DAY_MS)}` }
          : {},
      ),
    );
  }
  return findings;
}

function checkCloud({ cloud, configWarnings }: DoctorFacts): Finding[] {
  const findings: Finding[] = [];
  if (cloud !== null) {
    const reasons = cloud.reasons.length === 0 ? "" : `: ${cloud.reasons.join(", ").replaceAll("_", " ")}`;
    findings.push(
      cloud.banner === "ACTIVE" || cloud.banner === "NOT-CONFIGURED"
        ? ok("cloud", `${cloud.banner}${cloud.banner === "ACTIVE" ? "" : ": nothing leaves this machine"}`)
        : inconsistent("cloud", `${cloud.banner}${reasons}`, {
            cure: cloud.banner === "PAUSED" ? "meter cloud resume" : "meter cloud status",
          }),
    );
  }
  for (const warning of configWarnings) findings.push(inconsistent("config", warning));
  return findings;
}

/** Makes findings and a verdict from the facts; the findings come in a fixed order. */
export function diagnose(facts: DoctorFacts): Diagnosis {
  const findings = [
    checkDaemon,
    checkService,
    checkMetering,
    checkAuthority,
    checkShell,
    checkClients,
    checkBypass,
    checkData,
    checkCloud,
  ].flatMap((check) => check(facts));
  const has = (level: FindingLevel) => findings.some((each) => each.level === level);
  return { verdict: has("broken") ? "BROKEN" : has("inconsistent") ? "INCONSISTENT" : "HEALTHY", findings };
}
