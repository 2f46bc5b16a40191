import process from "node:process";
import { readExtraRoots } from "../../../adapters/certificates/root-certificates.ts";
import { readInstallRecord } from "../../../adapters/installer/install-record.ts";
import { readOpenFilesLimit } from "../../../adapters/process-table/open-files-limit.ts";
import type { Registry } from "../../../core/metering/usage/registry.ts";
import type { Config } from "../../../core/operations/config/config.ts";
import { MAX_WARM } from "../../../core/operations/warm/warm-machine.ts";
import { CertificateStoreError } from "../../../core/ports/certificates.ts";
import { readNoProxy } from "../../../core/values/text/no-proxy.ts";
import { isLoopbackAddress } from "../../../daemon/proxy/forbidden-targets.ts";
import { resolveListenHost } from "../../../daemon/proxy/listen-host.ts";
import { type ParentProxies, resolveParentProxies } from "../../../daemon/proxy/parent-proxy.ts";
import { defaultProxyLimits, type ProxyConfig } from "../../../daemon/proxy/proxy-config.ts";
import { configFile } from "../../home/config-file.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { inheritedSocket } from "./inherited-socket.ts";
import { resolveProxyLogin } from "./proxy-login.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the override for addresses beyond loopback is set. Source: docs/specification.md#listening-address. */
const allowsNonLoopback = (env: Environment) => env.HALTON_METER_ALLOW_NON_LOOPBACK === "1";

/** Resolves a configured host to the address to listen on. Throws if it is not a loopback address and that is not allowed. */
export async function resolveListenAddress(
  host: string,
  env: Environment,
  warnings: string[],
): Promise<string> {
  const { address, loopback } = await resolveListenHost(host, allowsNonLoopback(env));
  if (!loopback)
    warnings.push(`Listening beyond this machine, on ${host}, because HALTON_METER_ALLOW_NON_LOOPBACK=1.`);
  return address;
}

/** Reads the certificates in the file of `extra_ca`. Throws a `CommandFailure` if it can't, since calls would fail without them. */
export function readConfiguredRoots(home: string, { proxy: { extraCa } }: Config): string[] {
  try {
    return readExtraRoots(extraCa);
  } catch (cause) {
    if (!(cause instanceof CertificateStoreError)) throw cause;
    throw new CommandFailure(`proxy.extra_ca: ${cause.message}. Fix it in ${configFile(home)}.`);
  }
}

/**
 * Creates the proxy's settings, without an authority and further certificates, from the configuration and the environment. Adds
 * warnings to `warnings`.
 */
export async function createProxySettings(
  home: string,
  config: Config,
  registry: Registry,
  env: Environment,
  warnings: string[],
): Promise<Omit<ProxyConfig, "authority" | "roots">> {
  const host = await resolveListenAddress(config.proxy.host, env, warnings);
  const ownPorts = [config.proxy.port, config.api.port].filter((port) => port !== 0);
  const parents = await findParentProxies(home, config, env, ownPorts);
  const place = config.proxy.parent === null ? "" : ` Fix [proxy] parent in ${configFile(home)}.`;
  warnings.push(...parents.warnings.map((warning) => `${warning}${place}`));
  const login = await resolveProxyLogin(home, config.proxy, host);
  if (!isLoopbackAddress(host) && login.proxyPassword === null)
    warnings.push(
      "Anyone who reaches this machine can use the proxy, because require_authorization is false.",
    );
  const listenFd = inheritedSocket(env);
  return {
    host,
    port: config.proxy.port,
    ownPorts,
    providerHosts: registry.hostPatterns,
    plainHosts: registry.plainHostPatterns,
    gatewayRoutes: gatewayRoutesOf(registry),
    systemRoots: true,
    parentProxies: parents.proxies,
    ...login,
    sharedTargets: config.proxy.sharedTargets,
    ownUid: process.geteuid?.(),
    otherUsers: config.proxy.otherUsers,
    warmConnections: config.proxy.warmConnections,
    limits: { maxConnections: maxConnectionsFor(readOpenFilesLimit()) },
    ...(listenFd !== null && { listenFd }),
  };
}

/** Finds the upstream proxy: that of the configuration, else the one that the environment of `meter init` named. */
async function findParentProxies(
  home: string,
  { proxy: { parent, parentFromEnvironment } }: Config,
  env: Environment,
  ownPorts: readonly number[],
): Promise<{ readonly proxies: ParentProxies; readonly warnings: readonly string[] }> {
  const own = new Set(ownPorts);
  if (parent !== null)
    return resolveParentProxies({ kind: "url", url: parent, noProxy: readNoProxy(env) }, env, own);
  if (parentFromEnvironment) return resolveParentProxies({ kind: "environment" }, env, own);
  // `doctor` reports a record that can't be read.
  const record = await readInstallRecord(home).catch(() => null);
  return resolveParentProxies({ kind: "environment" }, record?.daemon_environment ?? {}, own);
}

const gatewayRoutesOf = ({ gatewayPrefixes }: Registry): ProxyConfig["gatewayRoutes"] =>
  [...gatewayPrefixes].map(([prefix, target]) => ({
    prefix: `/${prefix}`,
    host: target.host,
    port: target.port,
    tls: target.scheme === "https",
    basePath: target.basePath,
  }));

/** Files and sockets that the daemon itself needs: its database, log and API, lookups of callers, and warm connections. */
const OWN_DESCRIPTORS = 48 + MAX_WARM;

/** Returns how many client connections fit; each needs a second socket to its provider. */
function maxConnectionsFor(openFilesLimit: number | null): number {
  const { maxConnections } = defaultProxyLimits;
  if (openFilesLimit === null) return maxConnections;
  return Math.max(4, Math.min(maxConnections, Math.floor((openFilesLimit - OWN_DESCRIPTORS) / 2)));
}
