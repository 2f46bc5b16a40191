import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import process from "node:process";
import { openCertificateAuthority } from "../../adapters/certificates/certificate-authority.ts";
import { inspectCertificateAuthority } from "../../adapters/certificates/inspect-authority.ts";
import { sha256Hex } from "../../adapters/crypto/node-crypto.ts";
import { findDriftedSteps } from "../../adapters/installer/apply-steps.ts";
import { findMachine, type Machine } from "../../adapters/installer/find-machine.ts";
import type { RunProgram } from "../../adapters/installer/run-program.ts";
import { createRegistry } from "../../core/metering/usage/registry.ts";
import type { Config } from "../../core/operations/config/config.ts";
import { mergePlan, type PlannedStep } from "../../core/operations/install/merge-plan.ts";
import {
  type InstallFacts,
  planInstall,
  type TrustStore,
  trustCommandForUser,
} from "../../core/operations/install/plan-install.ts";
import { type InstallRecord, isAuthorityTrusted } from "../../core/operations/install/step.ts";
import { readNoProxy } from "../../core/values/text/no-proxy.ts";
import { quoteForShell } from "../../core/values/text/shell-words.ts";
import { programFile } from "../daemon/daemon-process.ts";
import { reachableHost } from "../daemon/own-address.ts";
import { supervisorScript } from "../daemon/spawn-daemon.ts";
import { authorityFiles } from "../home/prepare-home.ts";
import { readConfig } from "../home/read-config.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { version } from "../program/version.ts";
import { runEnvironment, trustVariables } from "./run-environment.ts";
import { findInSystemList, pickListed } from "./system-trust.ts";
import { bundleFor } from "./trust-bundle.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The plan of `meter init`. */
export interface InstallPlan {
  readonly steps: readonly PlannedStep[];
  /** The install record before the first step. */
  readonly record: InstallRecord;
  readonly machine: Machine;
  readonly config: Config;
  /** The authority's certificate (PEM); empty if a dry run would create it. */
  readonly certificatePem: string;
  /** A certificate of the authority that root put into the system's list and `init` can't replace; null if there is none. */
  readonly certificateByHand: string | null;
  /** Notes to show, each with a command to run if there is one. */
  readonly notes: readonly { readonly text: string; readonly command: string | null }[];
}

/** Proxy variables that the daemon reads, so the service needs them too. */
const daemonVariables = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"].flatMap((name) => [
  name,
  name.toLowerCase(),
]);

/** Whether the value of a proxy variable is this proxy's own address, with or without a user name and password. */
export const isOwnProxy = (value: string, port: number): boolean =>
  new RegExp(`^(?:http://)?(?:[^@/?#]*@)?(?:127(?:\\.\\d{1,3}){3}|localhost|\\[::1\\]):${port}/?$`).test(
    value,
  );

/** Returns the variables for the daemon, such as a company's proxy: from this shell, or as an earlier `init` recorded them. */
function daemonEnvironment(
  env: Environment,
  caFolder: string,
  port: number,
  earlier: Readonly<Record<string, string>>,
): Record<string, string> {
  const found: Record<string, string> = {};
  let usesOwnProxy = false;
  for (const name of daemonVariables) {
    const value = env[name];
    if (value === undefined || value === "") continue;
    if (isOwnProxy(value, port)) usesOwnProxy = true;
    else found[name] = value;
  }
  // In a shell that already uses this proxy, the original values are gone.
  if (usesOwnProxy) return { ...earlier };
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

/** A user name of the proxy that names no project, since its slug is empty. Some clients send no password without a user name. */
const USER_WITHOUT_PROJECT = "-";

/** Returns the variables that make programs use the proxy, without those specific to one `meter run`. */
function appVariables(
  env: Environment,
  home: string,
  proxy: { readonly host: string; readonly port: number; readonly password: string | null },
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
  const variables = runEnvironment(
    { ...own, no_proxy: readNoProxy(env) },
    {
      proxyHost: reachableHost(proxy.host),
      proxyPort: proxy.port,
      ...(proxy.password !== null && {
        login: { user: USER_WITHOUT_PROJECT, password: encodeURIComponent(proxy.password) },
      }),
      caFile,
      bundleFile: bundleFor(caFolder, caFile, trustedFiles, { write }),
      project: null,
    },
  );
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Returns the name of an installation, unique per home of a user: `meter` for the default home. */
export function installName(home: string, userHome: string | null): string {
  const isDefault = userHome !== null && home === join(userHome, ".meter");
  return isDefault ? "meter" : `meter-${sha256Hex(home).slice(0, 6)}`;
}

/**
 * Inspects the machine and plans what `init` does. With `create`, creates the certificate authority; without it nothing is
 * written, and the plan assumes an authority that does not exist yet.
 */
export async function makeInstallPlan(
  home: string,
  env: Environment,
  options: { readonly apps: boolean; readonly create: boolean; readonly statusline?: boolean },
  earlier: InstallRecord | null,
  run: RunProgram,
  findInSystem: typeof findInSystemList = findInSystemList,
): Promise<InstallPlan> {
  const { config } = await readConfig(home, env);
  const apps = options.apps || (earlier?.apps ?? false);
  if (apps) requireFixedPort(config);
  const machine = await findMachine({ env, run });
  const authority = await readAuthority(home, config, options.create, (caFile) =>
    machine.trustStores.some(isSystemWide) ? null : findInSystem(env, caFile),
  );
  const { caFolder } = authorityFiles(home);
  const trustedFiles = findTrustedFiles(env, caFolder, earlier?.trusted_files ?? []);
  const environment = daemonEnvironment(env, caFolder, config.proxy.port, earlier?.daemon_environment ?? {});
  const proxy = proxyAddress(config);
  const { password } = config.proxy;
  const facts: InstallFacts = {
    program: programFacts(home, environment),
    name: earlier?.name ?? installName(home, machine.userHome),
    proxy,
    service: machine.service,
    ca: authority.ca,
    trustStores: machine.trustStores,
    apps: apps
      ? {
          variables: appVariables(env, home, { ...proxy, password }, trustedFiles, options.create),
          hasPassword: password !== null,
          startFiles: machine.startFiles,
          sessionFolder: machine.sessionFolder,
        }
      : null,
    ...((hasStatusline(earlier) || options.statusline) && {
      statusline: statuslineFacts(env, home, machine),
    }),
  };
  const entries = earlier?.entries ?? [];
  return {
    steps: mergePlan(planInstall(facts), entries, await findDriftedSteps(run, entries)),
    record: {
      format: 1,
      meter_version: version,
      name: facts.name,
      apps,
      trusted_files: trustedFiles,
      daemon_environment: environment,
      // Replaced once programs trust the new one.
      ...(earlier !== null && trustedSince(earlier, authority.before)),
      entries,
    },
    machine,
    config,
    certificatePem: authority.ca.pem,
    certificateByHand: authority.byHand,
    notes: notesFor(machine, facts, authority),
  };
}

function programFacts(meterHome: string, environment: Record<string, string>): InstallFacts["program"] {
  return {
    nodePath: realpathSync(process.execPath),
    programPath: programFile,
    supervisorPath: supervisorScript,
    meterHome,
    environment,
  };
}

/** Whether an earlier `init` set the status line of Claude Code. */
const hasStatusline = (record: InstallRecord | null): boolean =>
  record?.entries.some(({ step }) => step.kind === "member") ?? false;

/** Returns the settings of Claude Code, and a command that works in any folder and without a `PATH`. */
function statuslineFacts(
  env: Environment,
  home: string,
  { userHome, platform }: Machine,
): NonNullable<InstallFacts["statusline"]> {
  const folder = env.CLAUDE_CONFIG_DIR ? resolve(env.CLAUDE_CONFIG_DIR) : join(userHome, ".claude");
  const quote = (text: string) => (platform === "win32" ? `"${text}"` : quoteForShell(text));
  const isDefaultHome = home === join(userHome, ".meter");
  const variable = isDefaultHome || platform === "win32" ? "" : `METER_HOME=${quote(home)} `;
  const command = `${variable}${quote(realpathSync(process.execPath))} ${quote(programFile)} statusline`;
  return { settingsPath: join(folder, "settings.json"), command };
}

/** Returns the address of the proxy that the variables name. `localhost` could be resolved to `::1`. */
function proxyAddress({ proxy: { host, port } }: Config): InstallFacts["proxy"] {
  return { host: host === "localhost" ? "127.0.0.1" : host, port };
}

/** Throws if the proxy takes any free port: variables that outlive the daemon must name its port. */
function requireFixedPort({ proxy }: Config): void {
  if (proxy.port !== 0) return;
  throw new CommandFailure(
    "--apps needs a fixed proxy port, and config.toml sets port 0. In its section [proxy], set port to another value.",
  );
}

/** Returns the certificate that programs trust since an earlier `init`; `current` if its version recorded only the steps. */
function trustedSince(earlier: InstallRecord, current: string | null): Pick<InstallRecord, "authority"> {
  if (earlier.authority !== undefined) return { authority: earlier.authority };
  return isAuthorityTrusted(earlier) && current !== null ? { authority: current } : {};
}

/** The authority of a plan. */
interface PlannedAuthority {
  /** Its text is empty if there is none. */
  readonly ca: InstallFacts["ca"];
  /** The certificate as this run found it; null if there was none. */
  readonly before: string | null;
  /** The certificate that root put into the system's list; null if there is none, or if `init` can replace it. */
  readonly byHand: string | null;
  /** Whether the system's list will have the certificate of this plan. */
  readonly isListed: boolean;
}

/** Reads the certificate authority, and creates or reissues it first with `create`. `findByHand` reads the system's list. */
async function readAuthority(
  home: string,
  { providers, azureDeployments }: Config,
  create: boolean,
  findByHand: (caFile: string) => ReturnType<typeof findInSystemList> | null,
): Promise<PlannedAuthority> {
  const { caFolder, caFile } = authorityFiles(home);
  const { hosts } = createRegistry(providers, { deployments: azureDeployments });
  const options = { directory: caFolder, hosts, now: Date.now() };
  const before = inspectCertificateAuthority(options);
  const listed = existsSync(caFile) ? await findByHand(caFile) : null;
  if (create) openCertificateAuthority(options);
  const pem = existsSync(caFile) ? readFileSync(caFile, "utf8") : "";
  const sha1 = pem === "" ? "…" : new X509Certificate(pem).fingerprint.replaceAll(":", "");
  const byHand = pickListed(listed, pem);
  return {
    ca: { path: caFile, pem, sha1 },
    before: before.certificatePem,
    byHand,
    isListed: byHand?.trim() === pem.trim() && (create || before.state === "current"),
  };
}

/** Returns the certificate files to trust: those of an earlier `init`, and those that this shell's variables name. */
function findTrustedFiles(env: Environment, caFolder: string, earlier: readonly string[]): string[] {
  const named = trustVariables.flatMap((name) => {
    const value = env[name];
    return value && !isBelow(value, caFolder) ? [resolve(value)] : [];
  });
  return [...new Set([...earlier, ...named])];
}

const isSystemWide = ({ kind }: TrustStore) => kind !== "nss";

function notesFor(
  machine: Machine,
  facts: InstallFacts,
  { byHand, isListed }: PlannedAuthority,
): InstallPlan["notes"] {
  const notes: { text: string; command: string | null }[] = [];
  if (machine.service === null) {
    notes.push({
      text: "This machine has no service manager for users. After each restart of the machine, start the daemon: meter start",
      command: null,
    });
  }
  const command = machine.platform === "linux" ? trustCommandForUser(facts, machine.tools) : null;
  if (command === null || isListed || machine.trustStores.some(isSystemWide)) return notes;
  notes.push(
    byHand !== null
      ? {
          text: "The system's certificate list has an earlier certificate of the meter, and only root can replace it. Until then, calls to hosts that were added are not metered. After this installation:",
          command: `${command} && meter init --yes`,
        }
      : {
          text: "Only root can change the system's certificate list. meter run and --apps work without it. To add meter's authority to the list:",
          command,
        },
  );
  return notes;
}
