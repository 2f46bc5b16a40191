import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import process from "node:process";
import { openCertificateAuthority } from "../adapters/certificates/mod.ts";
import { sha256Hex } from "../adapters/crypto/node-crypto.ts";
import { findMachine, findStale, type Machine, type RunWords } from "../adapters/installer/mod.ts";
import type { Config } from "../core/config/mod.ts";
import {
  type InstallRecord,
  mergePlan,
  type PlannedStep,
  planInstall,
  trustAdvice,
} from "../core/install/mod.ts";
import { createRegistry } from "../core/usage/mod.ts";
import { programFile } from "./daemon-process.ts";
import { CommandFailure } from "./exit-codes.ts";
import { authorityFiles } from "./home.ts";
import { reachableHost } from "./own-address.ts";
import { readConfig } from "./read-config.ts";
import { runEnvironment, trustVariables } from "./run-environment.ts";
import { bundleFor } from "./trust-bundle.ts";
import { version } from "./version.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What `init` is about to do. */
export interface InstallPlan {
  readonly steps: readonly PlannedStep[];
  /** The record as it stands before the first step. */
  readonly record: InstallRecord;
  readonly machine: Machine;
  readonly config: Config;
  /** What a person should know, with a command to paste where there is one. */
  readonly notes: readonly { readonly says: string; readonly command: string | null }[];
}

/** Variables of a shell that the daemon follows, so that a service has to have them too. */
const daemonVariables = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"].flatMap((name) => [
  name,
  name.toLowerCase(),
]);

/** Whether a proxy variable names the meter itself. */
export const isOwnProxy = (value: string, port: number): boolean =>
  new RegExp(`^(?:http://)?(?:127(?:\\.\\d{1,3}){3}|localhost|\\[::1\\]):${port}/?$`).test(value);

/** A company's proxy and authority as this shell knows them, or as an earlier `init` found them. */
function daemonEnvironment(
  env: Environment,
  caFolder: string,
  port: number,
  earlier: Readonly<Record<string, string>>,
): Record<string, string> {
  const found: Record<string, string> = {};
  let ledHere = false;
  for (const name of daemonVariables) {
    const value = env[name];
    if (value === undefined || value === "") continue;
    if (isOwnProxy(value, port)) ledHere = true;
    else found[name] = value;
  }
  // A shell that leads to the meter has lost what it had before.
  if (ledHere) return { ...earlier };
  if (Object.keys(found).length > 0) {
    for (const name of ["NO_PROXY", "no_proxy"]) {
      const value = env[name];
      if (value !== undefined && value !== "") found[name] = value;
    }
  }
  const extra = env.NODE_EXTRA_CA_CERTS;
  if (extra !== undefined && extra !== "" && !isBelow(extra, caFolder))
    found.NODE_EXTRA_CA_CERTS = resolve(extra);
  for (const name of ["HALTON_METER_CLOUD_URL", "HALTON_METER_ALLOW_NON_LOOPBACK"]) {
    const value = env[name];
    if (value !== undefined && value !== "") found[name] = value;
  }
  return found;
}

const isBelow = (path: string, folder: string) => resolve(path).startsWith(resolve(folder) + sep);

/** The variables that lead programs to the proxy, without those that only one run would have. */
function appVariables(
  env: Environment,
  home: string,
  proxy: { readonly host: string; readonly port: number },
  trustedFiles: readonly string[],
  write: boolean,
): Record<string, string> {
  const { caFolder, caFile } = authorityFiles(home);
  const own = Object.fromEntries(
    trustVariables.flatMap((name) => {
      const value = env[name];
      return value && !isBelow(value, caFolder) ? [[name, value]] : [];
    }),
  );
  const noProxy = env.NO_PROXY ?? env.no_proxy;
  const variables = runEnvironment(
    { ...own, ...(noProxy !== undefined && { NO_PROXY: noProxy }) },
    {
      proxyHost: reachableHost(proxy.host),
      proxyPort: proxy.port,
      caFile,
      bundleFile: bundleFor(caFolder, caFile, trustedFiles, { write }),
      project: null,
    },
  );
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Tells the homes of one user apart: the usual one is `meter`. */
export function installName(home: string, userHome: string): string {
  const usual = home === join(userHome, ".meter");
  return usual ? "meter" : `meter-${sha256Hex(home).slice(0, 6)}`;
}

/**
 * Looks at the machine and says what `init` would do. Makes the authority where `make` is set; else nothing is written, and
 * an authority that is not there yet is described as if it were.
 */
export async function makeInstallPlan(
  home: string,
  env: Environment,
  wish: { readonly apps: boolean; readonly make: boolean },
  earlier: InstallRecord | null,
  run: RunWords,
): Promise<InstallPlan> {
  const { config } = await readConfig(home, env);
  const apps = wish.apps || (earlier?.apps ?? false);
  if (apps && config.proxy.port === 0) {
    throw new CommandFailure(
      "programs can be led to a fixed port only: set another one than 0 under [proxy] port",
    );
  }
  const { caFolder, caFile } = authorityFiles(home);
  const registry = createRegistry(config.providers, { deployments: config.azureDeployments });
  if (wish.make) openCertificateAuthority({ directory: caFolder, hosts: registry.hosts, now: Date.now() });
  const pem = existsSync(caFile) ? readFileSync(caFile, "utf8") : "";
  const sha1 = pem === "" ? "…" : new X509Certificate(pem).fingerprint.replaceAll(":", "");
  const machine = await findMachine({ env, run });
  const name = earlier?.name ?? installName(home, machine.userHome);
  const trustedFiles = [
    ...new Set([
      ...(earlier?.trusted_files ?? []),
      ...trustVariables.flatMap((each) => {
        const value = env[each];
        return value && !isBelow(value, caFolder) ? [resolve(value)] : [];
      }),
    ]),
  ];
  const daemonEnv = daemonEnvironment(env, caFolder, config.proxy.port, earlier?.daemon_environment ?? {});
  const { host, port } = config.proxy;
  const proxy = { host: host === "localhost" ? "127.0.0.1" : host, port };
  const facts = {
    program: {
      nodePath: realpathSync(process.execPath),
      programPath: programFile,
      meterHome: home,
      environment: daemonEnv,
    },
    name,
    proxy,
    service: machine.service,
    ca: { path: caFile, pem, sha1 },
    trustStores: machine.trustStores,
    apps: apps
      ? {
          variables: appVariables(env, home, proxy, trustedFiles, wish.make),
          startFiles: machine.startFiles,
          sessionFolder: machine.sessionFolder,
        }
      : null,
  };
  const entries = earlier?.entries ?? [];
  const notes: { says: string; command: string | null }[] = [];
  if (machine.service === null) {
    notes.push({
      says: "No service manager for users runs here: start the daemon after a restart of the machine.",
      command: null,
    });
  }
  const advice = machine.platform === "linux" ? trustAdvice(facts, machine.tools) : null;
  const isSystemWide = machine.trustStores.some(({ kind }) => kind !== "nss");
  if (!isSystemWide && advice !== null) {
    notes.push({
      says: "The system's own list of authorities is root's; meter run and --apps do without it. To add ours to it, later:",
      command: advice,
    });
  }
  return {
    steps: mergePlan(planInstall(facts), entries, await findStale(run, entries)),
    record: {
      format: 1,
      meter_version: version,
      name,
      apps,
      trusted_files: trustedFiles,
      daemon_environment: daemonEnv,
      entries,
    },
    machine,
    config,
    notes,
  };
}
