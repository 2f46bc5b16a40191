import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync, statfsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { inspectCertificateAuthority, readPemBundle } from "../../adapters/certificates/mod.ts";
import {
  createRunWords,
  findMachine,
  findStale,
  type RunWords,
  readInstallRecord,
} from "../../adapters/installer/mod.ts";
import { createSqliteOpener } from "../../adapters/sqlite/mod.ts";
import type { Config } from "../../core/config/mod.ts";
import { type DoctorFacts, exceptedHosts } from "../../core/doctor/mod.ts";
import { type InstallRecord, serviceWords, trustAdvice } from "../../core/install/mod.ts";
import { createRegistry } from "../../core/usage/mod.ts";
import { summariseCoverage, unmeteredWords } from "../../daemon/api/coverage-summary.ts";
import type { DaemonStatus } from "../../daemon/daemon-status.ts";
import { probePort } from "../../daemon/proxy/probe-port.ts";
import { checkDatabase } from "../../daemon/store/mod.ts";
import { currentRates } from "../current-rates.ts";
import { findDaemon, type RunningDaemon, readToken } from "../daemon-process.ts";
import { databaseBytes, databaseFile } from "../database-file.ts";
import { authorityFiles } from "../home.ts";
import { TLS_TEST_HOST } from "../install.ts";
import { installName, isOwnProxy } from "../install-plan.ts";
import { askDaemon } from "../loopback-client.ts";
import { readConfig } from "../read-config.ts";
import { runEnvironment, trustVariables } from "../run-environment.ts";
import { checkInterception, type SelfTest, selfTest } from "../self-test.ts";
import { bundleFor } from "../trust-bundle.ts";
import { version } from "../version.ts";
import { findBypassing } from "./find-bypassing.ts";
import { probeClients } from "./probe-clients.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How long whoever has the proxy's port may take to answer, in milliseconds: it is on this machine. */
const PROBE_MS = 1_000;

/** Kinds of coverage that tell of calls which cost money and are not in the records. */
const telling = /^(tunnelled_|websocket|unreadable|lost|dropped|capture_failed)/;

async function installFacts(
  home: string,
  run: RunWords,
): Promise<[DoctorFacts["install"], InstallRecord | null]> {
  const none = { manager: null, apps: false, stale: [], missingProgram: null, unfinished: 0 };
  let record: InstallRecord | null;
  try {
    record = await readInstallRecord(home);
  } catch {
    return [{ ...none, record: "unreadable" }, null];
  }
  if (record === null) return [{ ...none, record: "absent" }, null];
  const stale = await findStale(run, record.entries);
  const unit = record.entries.find(
    ({ step }) => step.kind === "file" && /\.service$|service\.xml$|\.plist$/.test(step.path),
  )?.step;
  // The two programs of the unit: quoted words, strings of a list, or words of a command line.
  const programs = unit?.kind === "file" ? programsIn(unit.text) : [];
  return [
    {
      record: "present",
      manager: serviceWords(record)?.manager ?? null,
      apps: record.apps,
      stale: [...stale].map((key) => key.replace(/^[a-z]+:/, "")),
      missingProgram: programs.find((path) => !existsSync(path)) ?? null,
      unfinished: record.entries.filter(({ state }) => state === "intended").length,
    },
    record,
  ];
}

/** The runtime and the program that a unit of ours starts. */
export function programsIn(unit: string): string[] {
  const systemd = /^ExecStart="((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"/m.exec(unit);
  if (systemd !== null)
    return systemd
      .slice(1, 3)
      .map((word) => word.replaceAll("$$", "$").replaceAll("%%", "%").replaceAll(/\\(.)/g, "$1"));
  const plain = (text: string) =>
    text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
  const launchd =
    /<key>ProgramArguments<\/key>\s*<array>\s*<string>(.*?)<\/string>\s*<string>(.*?)<\/string>/s.exec(unit);
  if (launchd !== null) return launchd.slice(1, 3).map(plain);
  const task = plain(/<Arguments>--headless (.*?)<\/Arguments>/.exec(unit)?.[1] ?? "");
  return [...task.matchAll(/"([^"]*)"|(\S+)/g)].slice(0, 2).map((word) => (word[1] ?? word[2]) as string);
}

/** Asks another process, whose lists of authorities are the system's and not those that this shell names. */
async function systemTrusts(env: Environment, caFile: string): Promise<boolean | null> {
  const script = `const t=require("tls");if(!t.getCACertificates)process.exit(2);
    const own=require("fs").readFileSync(process.argv[1],"utf8").trim();
    process.exit(t.getCACertificates("system").some((each)=>each.trim()===own)?0:1)`;
  const plain = Object.fromEntries(Object.entries(env).filter(([name]) => !/^SSL_CERT_|^NODE_/.test(name)));
  const { code } = await createRunWords(plain)([process.execPath, "-e", script, caFile], {
    timeoutMs: 10_000,
  });
  return code === 0 ? true : code === 1 ? false : null;
}

function shellFacts(
  env: Environment,
  home: string,
  proxyPort: number,
  hosts: readonly string[],
  caPem: string | null,
) {
  const variablesFile = join(home, /(^|\/)fish$/.test(env.SHELL ?? "") ? "env.fish" : "env.sh");
  const named = env.HTTPS_PROXY ?? env.https_proxy ?? env.ALL_PROXY ?? env.all_proxy ?? "";
  const proxy = named === "" ? "none" : isOwnProxy(named, proxyPort) ? "meter" : "other";
  const own = caPem === null ? null : new X509Certificate(caPem).fingerprint256;
  const holdsOurs = (path: string) => {
    try {
      return readPemBundle(readFileSync(path, "utf8"), path).some(
        (pem) => new X509Certificate(pem).fingerprint256 === own,
      );
    } catch {
      return false;
    }
  };
  return {
    proxy,
    variablesFile: existsSync(variablesFile) ? variablesFile : null,
    excepted: proxy === "meter" ? exceptedHosts(env.NO_PROXY ?? env.no_proxy ?? "", hosts) : [],
    badTrust:
      proxy === "meter" ? trustVariables.filter((name) => env[name] && !holdsOurs(env[name] as string)) : [],
  } as const;
}

async function askStatus(home: string, running: RunningDaemon): Promise<DaemonStatus | null> {
  try {
    const token = readToken(home);
    const { status, body } = await askDaemon(running, "/v1/status", token);
    return status === 200 ? (JSON.parse(body) as DaemonStatus) : null;
  } catch {
    return null;
  }
}

async function cloudFacts(home: string, env: Environment, config: Config): Promise<DoctorFacts["cloud"]> {
  if (!config.cloud.enabled) return { banner: "NOT-CONFIGURED", reasons: [] };
  try {
    const { withCloud } = await import("../cloud-control.ts");
    const { bannerOf } = await import("../../daemon/cloud/mod.ts");
    return await withCloud({ home, env, notice: () => {} }, async (cloud) => {
      const startedAt = cloud.daemon === null ? null : Date.parse(cloud.daemon.started_at);
      const captureFailing = await cloud.isCaptureFailing();
      return bannerOf(await cloud.state(), { runningSince: startedAt, captureFailing }, Date.now());
    });
  } catch (cause) {
    return { banner: "UNKNOWN", reasons: [(cause as Error).message] };
  }
}

/** `init` does what this user may; the rest is a line for root. */
async function trustCure(
  env: Environment,
  path: string,
  home: string,
  run: RunWords,
): Promise<string | null> {
  const { platform, trustStores, userHome, tools } = await findMachine({ env, run });
  if (platform !== "linux" || trustStores.some(({ kind }) => kind !== "nss")) return "meter init";
  return trustAdvice({ ca: { path, pem: "", sha1: "" }, name: installName(home, userHome) }, tools);
}

const selfTestWords = (test: SelfTest): string =>
  !test.ok
    ? test.why
    : test.how === "metered"
      ? "a call through the proxy, to a stand-in on this machine, was metered"
      : "a question to the Ollama on this machine passed through the proxy and was counted";

/** Finds out everything that the doctor's verdict is made from. Changes nothing, but for the self-test's passing record. */
export async function gatherFacts(home: string, env: Environment): Promise<DoctorFacts> {
  const { config, warnings } = await readConfig(home, env);
  const run = createRunWords(env);
  const registry = createRegistry(config.providers, { deployments: config.azureDeployments });
  const hosts = [...registry.gatewayPrefixes.values()]
    .filter(({ scheme }) => scheme === "https")
    .map(({ host }) => host);
  const [install, record] = await installFacts(home, run);
  const { caFolder, caFile } = authorityFiles(home);
  const now = Date.now();
  const authority = inspectCertificateAuthority({ directory: caFolder, hosts: registry.hosts, now });
  const running = await findDaemon(home);
  const status = running === null ? null : await askStatus(home, running);
  const proxyHost = running?.proxy_host;
  const proxyPort = running?.proxy_port ?? config.proxy.port;
  const shell = shellFacts(env, home, proxyPort, hosts, authority.certificatePem);
  const target = { home, proxyHost, proxyPort, proxyPassword: config.proxy.password };
  const { certificatePem } = authority;
  const database = await checkDatabase(createSqliteOpener(), databaseFile(home));

  const clients = async () => {
    const keyFile = join(caFolder, "key.pem");
    if (certificatePem === null || !existsSync(keyFile)) return [];
    const led =
      shell.proxy === "meter"
        ? env
        : runEnvironment(env, {
            proxyHost,
            proxyPort,
            caFile,
            bundleFile: bundleFor(
              caFolder,
              caFile,
              trustVariables.flatMap((name) => env[name] ?? []),
            ),
            project: null,
          });
    return probeClients(led, proxyPort, { certificatePem, keyPem: readFileSync(keyFile, "utf8") });
  };
  const newestRate = async () => {
    const rows = await currentRates(env);
    return (
      rows
        .map(({ provenanceDate }) => provenanceDate)
        .sort()
        .at(-1) ?? null
    );
  };
  const [test, interception, trusted, found, bypassing, rate, cloud, taken] = await Promise.all([
    running === null ? null : selfTest(target),
    running === null || certificatePem === null
      ? null
      : checkInterception(target, TLS_TEST_HOST, certificatePem),
    certificatePem === null ? null : systemTrusts(env, caFile),
    clients(),
    findBypassing(hosts, new Set([process.pid, ...(running === null ? [] : [running.pid])])),
    newestRate().catch(() => null),
    database.state === "ok" ? cloudFacts(home, env, config) : null,
    running === null && config.proxy.port !== 0 ? probePort("127.0.0.1", config.proxy.port, PROBE_MS) : false,
  ]);
  const missing = status === null ? [] : summariseCoverage(status.last_24_hours.coverage).missing;
  return {
    now,
    platform: process.platform,
    meterHome: home,
    version,
    configWarnings: warnings,
    install,
    daemon:
      running === null
        ? null
        : {
            version: running.version,
            proxyPort,
            capturing: status?.store.capturing === "ok",
            watchdog: status?.proxy.watchdog ?? "unknown",
            endedUnused: status?.proxy.counters.endedUnused ?? 0,
            setAside: status?.store.set_aside ?? null,
          },
    proxy: { configuredPort: config.proxy.port, taken },
    selfTest: test === null ? null : { ok: test.ok, says: selfTestWords(test) },
    interception,
    authority: {
      state: authority.state,
      validUntil: authority.validUntil,
      keyOpenToOthers: authority.keyOpenToOthers,
      systemTrusts: trusted,
      trustRecorded:
        record?.entries.some(
          ({ step, state }) =>
            state === "done" && step.kind === "commands" && /^ca-(?!nss|collect-after)/.test(step.id),
        ) ?? false,
      trustCure: await trustCure(env, caFile, home, run),
    },
    shell,
    clients: found,
    bypassing,
    unmetered: missing
      .filter(({ kind }) => telling.test(kind))
      .map(({ kind, count }) => `${count} ${unmeteredWords(kind, count)}`),
    newestRate: rate,
    ratesHaveSource: config.pricing.pullUrl !== null || config.cloud.enabled,
    database: { ...database, bytes: databaseBytes(home) },
    freeDiskBytes: freeBytes(home),
    cloud,
  };
}

function freeBytes(home: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(home);
    return bavail * bsize;
  } catch {
    return null;
  }
}
