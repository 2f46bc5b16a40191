import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import {
  type AuthorityInspection,
  inspectCertificateAuthority,
} from "../../../adapters/certificates/inspect-authority.ts";
import { withTimeout } from "../../../adapters/clock/with-timeout.ts";
import { readFreeBytes } from "../../../adapters/files/free-space.ts";
import { createProgramRunner, type RunProgram } from "../../../adapters/installer/run-program.ts";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import {
  describeCoverageCount,
  summariseCoverage,
} from "../../../core/metering/coverage/coverage-summary.ts";
import { createRegistry } from "../../../core/metering/usage/registry.ts";
import type { Config } from "../../../core/operations/config/config.ts";
import { MAX_CHECKED_BYTES } from "../../../core/operations/doctor/check-data.ts";
import type { DoctorFacts } from "../../../core/operations/doctor/doctor-facts.ts";
import { isTrustRecorded } from "../../../core/operations/install/step.ts";
import type { DaemonStatus } from "../../../daemon/api/daemon-status.ts";
import type { BudgetView } from "../../../daemon/budgets/budget-views.ts";
import { probePort } from "../../../daemon/proxy/probe-port.ts";
import { checkDatabase } from "../../../daemon/store/check-database.ts";
import { type RunningDaemon, readToken } from "../../daemon/daemon-process.ts";
import { findDaemonOrHolder, type Holder, waitForToken } from "../../daemon/find-holder.ts";
import { requestDaemon } from "../../daemon/loopback-client.ts";
import { httpAddress } from "../../daemon/own-address.ts";
import { requestBudgets } from "../../daemon/request-budgets.ts";
import { databaseBytes, databaseFile } from "../../home/database-file.ts";
import { authorityFiles } from "../../home/prepare-home.ts";
import { readConfigOrDefaults } from "../../home/read-config.ts";
import { TLS_TEST_HOST } from "../../install/install.ts";
import { runEnvironment, trustVariables } from "../../install/run-environment.ts";
import {
  checkInterception,
  SELF_TEST_MESSAGES,
  type SelfTest,
  type SelfTestTarget,
  selfTest,
} from "../../install/self-test.ts";
import { bundleFor } from "../../install/trust-bundle.ts";
import { findTrustedCertificate, listUnpermitted } from "../../install/trusted-authority.ts";
import { version } from "../../program/version.ts";
import { newestRateDate } from "../../records/current-rates.ts";
import { findBypassing } from "./find-bypassing.ts";
import { gatherInstallFacts, noInstall } from "./install-facts.ts";
import { CALL_TIMEOUT_MS, CHECK_TIMEOUT_MS, PROGRAM_TIMEOUT_MS } from "./limits.ts";
import { probeClients } from "./probe-clients.ts";
import { gatherShellFacts } from "./shell-facts.ts";
import { findTrustCommand, isTrustedBySystem } from "./trust-facts.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type Facts = Partial<DoctorFacts>;

/** How long another program on the proxy's port may take to accept a connection, in milliseconds. */
const PROBE_MS = 1_000;

/**
 * Kinds of coverage that mean calls which cost money and are not in the records. The check of the authority reports hosts without
 * a certificate.
 */
const unmeteredKinds =
  /^(tunnelled_(?!other_user|no_certificate)|websocket|unreadable|lost|dropped|capture_failed)/;

/** What is known before the checks start. */
interface Subject {
  readonly home: string;
  readonly env: Environment;
  readonly now: number;
  readonly config: Config;
  readonly configWarnings: readonly string[];
  /** Why the configuration can't be read; null if it can. */
  readonly configProblem: string | null;
  /** The https hosts of the providers. */
  readonly hosts: readonly string[];
  /** The hosts that the authority should permit. */
  readonly signedHosts: readonly string[];
  readonly caFolder: string;
  readonly caFile: string;
  readonly authority: AuthorityInspection;
  readonly running: RunningDaemon | null;
  readonly holder: Holder | null;
  readonly status: DaemonStatus | null;
  readonly proxyPort: number;
  readonly shell: DoctorFacts["shell"];
  /** Runs a program of the system with a time limit. */
  readonly run: RunProgram;
}

/** Runs one check with a time limit. If the check fails or takes longer, returns `substitute`. */
type RunCheck = <Value>(check: string, work: Promise<Value>, substitute: Value) => Promise<Value>;

/**
 * Gathers the facts of the doctor's verdict, and calls `learned` with all known facts as soon as there are more. Each check
 * has a time limit; a check that exceeds it is listed as overdue. Changes nothing, except that the self-test stores a
 * record and deletes it.
 */
export async function gatherFacts(
  home: string,
  env: Environment,
  learned: (known: Facts) => void = () => {},
): Promise<DoctorFacts> {
  let known: Facts = {};
  const learn = (part: Facts) => {
    known = { ...known, ...part };
    learned(known);
  };
  const overdue: Record<string, number> = {};
  const check: RunCheck = (name, work, substitute) =>
    withTimeout(
      work.catch(() => substitute),
      CHECK_TIMEOUT_MS,
      () => {
        overdue[name] = CHECK_TIMEOUT_MS / 1000;
        return substitute;
      },
    );
  const subject = await findSubject(home, env);
  learn({ overdue, ...(await gatherQuickFacts(subject)) });
  learn({ budgets: await gatherBudgets(subject) });
  // Reads every page in this thread, so what is known already is printed first.
  const database = await checkDatabaseFile(home);
  learn({ database });
  const checks = [
    checkTrust(subject, check),
    checkMetering(subject, check),
    check("client", findClients(subject), []).then((clients) => ({ clients })),
    check("bypass", findBypassing(subject.hosts, ownPids(subject)), []).then((bypassing) => ({ bypassing })),
    check("prices", newestRateDate(env), null).then((newestRate) => ({ newestRate })),
    check("cloud", checkCloud(subject, database), null).then((cloud) => ({ cloud })),
  ];
  await Promise.all(checks.map(async (facts) => learn(await facts)));
  return known as DoctorFacts;
}

async function findSubject(home: string, env: Environment): Promise<Subject> {
  const { config, warnings, problem } = await readConfigOrDefaults(home, env);
  const registry = createRegistry(config.providers, { deployments: config.azureDeployments });
  const hosts = [...registry.gatewayPrefixes.values()]
    .filter(({ scheme }) => scheme === "https")
    .map(({ host }) => host);
  const { caFolder, caFile } = authorityFiles(home);
  const now = Date.now();
  const authority = inspectCertificateAuthority({ directory: caFolder, hosts: registry.hosts, now });
  const { running, holder } = await findDaemonOrHolder(home).catch(() => ({ running: null, holder: null }));
  const proxyPort = running?.proxy_port ?? config.proxy.port;
  const run = createProgramRunner(env);
  return {
    ...{ home, env, now, config, hosts, caFolder, caFile, authority, running, holder, proxyPort },
    signedHosts: registry.hosts,
    configWarnings: warnings,
    configProblem: problem,
    status: running === null ? null : await requestStatus(home, running),
    shell: gatherShellFacts(
      env,
      home,
      { proxyPort, password: config.proxy.password },
      hosts,
      authority.certificatePem,
    ),
    run: (words, options) => run(words, { timeoutMs: PROGRAM_TIMEOUT_MS, ...options }),
  };
}

async function requestStatus(home: string, running: RunningDaemon): Promise<DaemonStatus | null> {
  await waitForToken(home);
  try {
    const { status, body } = await requestDaemon(running, "/v1/status", readToken(home));
    return status === 200 ? (JSON.parse(body) as DaemonStatus) : null;
  } catch {
    return null;
  }
}

/** Returns the facts that are there without a check. */
async function gatherQuickFacts(subject: Subject): Promise<Facts> {
  const { home, now, config, configProblem, running, holder, status, proxyPort, shell } = subject;
  const inUse =
    running === null && holder === null && config.proxy.port !== 0
      ? (await probePort("127.0.0.1", config.proxy.port, PROBE_MS)) === "open"
      : false;
  const missing = status === null ? [] : summariseCoverage(status.last_24_hours.coverage).missing;
  return {
    now,
    platform: process.platform,
    meterHome: home,
    version,
    configWarnings: subject.configWarnings,
    configProblem,
    unresponsiveDaemon: holder && { pid: holder.pid, announcement: holder.announcement },
    daemon: running === null ? null : daemonFacts(running, status),
    telemetry: running === null ? null : telemetryFacts(subject, running),
    proxy: { configuredPort: configProblem === null ? config.proxy.port : proxyPort, inUse },
    shell,
    unmetered: missing
      .filter(({ kind }) => unmeteredKinds.test(kind))
      .map(({ kind, count }) => `${count} ${describeCoverageCount(kind, count)}`),
    ratesHaveSource:
      config.pricing.pullUrl !== null || config.pricing.source !== null || config.cloud.enabled,
    freeDiskBytes: readFreeBytes(home),
  };
}

function daemonFacts(running: RunningDaemon, status: DaemonStatus | null): DoctorFacts["daemon"] {
  return {
    version: running.version,
    proxyPort: running.proxy_port,
    capturing: status?.store.capturing === "ok",
    storeProblem: status?.store.lastError?.message ?? null,
    watchdog: status?.proxy.watchdog ?? "unknown",
    endedUnused: (status?.proxy.counters.endedUnused ?? 0) - (status?.proxy.unused_by_trusting ?? 0),
    distrusting: status?.proxy.distrusting_programs ?? [],
    setAside: status?.store.set_aside ?? null,
  };
}

async function gatherBudgets({ home, running }: Subject): Promise<DoctorFacts["budgets"]> {
  const read = running === null ? null : await requestBudgets(home);
  if (read === null) return null;
  const { budgets, let_through, confirmed } = read;
  const named = (test: (view: BudgetView) => boolean) => budgets.filter(test).map(({ name }) => name);
  const isUsedUp = ({ status }: BudgetView) => status === "exceeded" || status === "tripped";
  const blocks = ({ budget }: BudgetView) => budget.at_limit === "block";
  return {
    count: budgets.length,
    unread: named(({ status }) => status === "unknown"),
    refusing: named((view) => isUsedUp(view) && blocks(view)),
    usedUp: named((view) => isUsedUp(view) && !blocks(view)),
    letThrough: let_through ?? 0,
    isConfirmed: confirmed !== false,
  };
}

function telemetryFacts(
  { config, configProblem, status }: Subject,
  running: RunningDaemon,
): DoctorFacts["telemetry"] {
  const telemetry = status?.telemetry;
  if (telemetry === undefined || configProblem !== null) return null;
  return {
    configured: config.telemetry.receive,
    address: telemetry && `${httpAddress(running.api_host, running.api_port)}${telemetry.path}`,
    lastReportAt: telemetry?.last_report ? Date.parse(telemetry.last_report.at) : null,
    refused: telemetry?.refused ?? 0,
    lastRefusal: telemetry?.last_refusal?.reason ?? null,
  };
}

async function checkDatabaseFile(home: string): Promise<DoctorFacts["database"]> {
  const bytes = databaseBytes(home);
  const pages = bytes > MAX_CHECKED_BYTES ? "unread" : "read";
  return { ...(await checkDatabase(createSqliteOpener(), databaseFile(home), pages)), bytes, pages };
}

async function checkTrust(
  { home, env, caFile, authority, signedHosts, run }: Subject,
  check: RunCheck,
): Promise<Facts> {
  const { certificatePem } = authority;
  const [[install, record], systemTrusts, trustCommand, trusted] = await Promise.all([
    check("service", gatherInstallFacts(home, run), [noInstall, null] as const),
    check("trust", certificatePem === null ? Promise.resolve(null) : isTrustedBySystem(env, caFile), null),
    check("trust", findTrustCommand(env, caFile, home, run), null),
    check("trust", findTrustedCertificate(home, env, authority), null),
  ]);
  const inUse = trusted?.certificatePem ?? certificatePem;
  // A current certificate permits exactly these hosts. Comparing each takes a tenth of a second.
  const permitsAll = inUse === certificatePem && authority.state === "current";
  return {
    install,
    authority: {
      state: authority.state,
      validUntil: authority.validUntil,
      keyOpenToOthers: authority.keyOpenToOthers,
      keyDamaged: authority.keyDamaged,
      systemTrusts,
      trustRecorded: isTrustRecorded(record),
      replacedBy: trusted === null ? "daemon" : "init",
      unpermittedHosts: inUse === null || permitsAll ? [] : listUnpermitted(inUse, signedHosts),
      trustCommand,
    },
  };
}

async function checkMetering(
  { home, config, authority: { certificatePem }, running, proxyPort }: Subject,
  check: RunCheck,
): Promise<Facts> {
  if (running === null) return { selfTest: null, interception: null };
  const target: SelfTestTarget = {
    ...{ home, proxyPort },
    proxyHost: running.proxy_host,
    proxyPassword: config.proxy.password,
    timeoutMs: CALL_TIMEOUT_MS,
  };
  const [test, interception] = await Promise.all([
    check<SelfTest | null>("self-test", selfTest(target), null),
    certificatePem === null
      ? null
      : check<DoctorFacts["interception"]>(
          "self-test",
          checkInterception(target, TLS_TEST_HOST, certificatePem),
          null,
        ),
  ]);
  return {
    selfTest: test === null ? null : { ok: test.ok, message: describeSelfTest(test) },
    interception,
  };
}

/** Describes a self-test, without the advice to run this command. */
const describeSelfTest = (test: SelfTest): string =>
  test.ok ? SELF_TEST_MESSAGES[test.how] : test.why.replace(/ Check it: meter doctor$/, "");

/** Runs the clients on this machine against a test proxy, with this shell's variables or those of `meter run`. */
async function findClients(subject: Subject): Promise<DoctorFacts["clients"]> {
  const { env, caFolder, caFile, running, proxyPort, shell } = subject;
  const { certificatePem } = subject.authority;
  const keyFile = join(caFolder, "key.pem");
  if (certificatePem === null || !existsSync(keyFile)) return [];
  const trustedFiles = trustVariables.flatMap((name) => env[name] ?? []);
  const metered =
    shell.proxy === "meter"
      ? env
      : runEnvironment(env, {
          ...{ proxyHost: running?.proxy_host, proxyPort, caFile, project: null },
          bundleFile: bundleFor(caFolder, caFile, trustedFiles),
        });
  return probeClients(metered, proxyPort, { certificatePem, keyPem: readFileSync(keyFile, "utf8") });
}

/** The processes whose connections to providers are the meter's own. */
const ownPids = ({ running }: Subject): ReadonlySet<number> =>
  new Set([process.pid, ...(running === null ? [] : [running.pid])]);

async function checkCloud(
  { home, env, config, configProblem }: Subject,
  database: DoctorFacts["database"],
): Promise<DoctorFacts["cloud"]> {
  if (database.state !== "ok" || configProblem !== null) return null;
  if (!config.cloud.enabled) return { banner: "NOT-CONFIGURED", reasons: [] };
  try {
    const { withCloud } = await import("../../cloud/cloud-control.ts");
    const { describeLedgerFault } = await import("../../../daemon/cloud/describe-ledger-fault.ts");
    const { describeBanner } = await import("../../../daemon/cloud/cloud-banner.ts");
    return await withCloud({ home, env, notice: () => {} }, async (cloud) => {
      const runningSince = cloud.daemon === null ? null : Date.parse(cloud.daemon.started_at);
      const captureFailing = await cloud.isCaptureFailing();
      const state = await cloud.state();
      const fault = state.ledger?.fault ?? null;
      return {
        ...describeBanner(state, { runningSince, captureFailing }, Date.now()),
        ledgerFault: fault === null ? null : describeLedgerFault(fault),
      };
    });
  } catch (cause) {
    return { banner: "UNKNOWN", reasons: [(cause as Error).message] };
  }
}
