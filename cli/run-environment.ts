import { httpAddress } from "./own-address.ts";

/** What `meter run` needs to know to make a program's environment. */
export interface RunSettings {
  /** Where this machine reaches the proxy; 127.0.0.1 where nothing is said. */
  proxyHost?: string | undefined;
  proxyPort: number;
  /** The certificate authority of this installation, PEM. */
  caFile: string;
  /** The system's roots, those that the caller's variables named, and ours, PEM. */
  bundleFile: string;
  project: string | null;
}

/** Hosts that a proxied program still reaches by itself. */
const neverProxied = ["localhost", "127.0.0.1", "::1"];

/**
 * The environment in which a program finds the proxy and trusts it. Both spellings of the proxy variables are set,
 * since curl reads `http_proxy` in lower case alone. Variables that name one certificate file of their own get the
 * bundle, those that add to a built-in list get our authority.
 */
export function runEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  settings: RunSettings,
): Record<string, string | undefined> {
  const proxy = httpAddress(settings.proxyHost, settings.proxyPort);
  const excepted = (own.NO_PROXY ?? own.no_proxy ?? "")
    .split(",")
    .map((host) => host.trim())
    .filter((host) => host !== "");
  const noProxy = [...new Set([...excepted, ...neverProxied])].join(",");
  return {
    ...own,
    HTTPS_PROXY: proxy,
    https_proxy: proxy,
    HTTP_PROXY: proxy,
    http_proxy: proxy,
    NO_PROXY: noProxy,
    no_proxy: noProxy,
    NODE_USE_ENV_PROXY: "1",
    // Node reads one file here, so a caller's own goes into the bundle, which then serves.
    NODE_EXTRA_CA_CERTS: own.NODE_EXTRA_CA_CERTS ? settings.bundleFile : settings.caFile,
    DENO_CERT: own.DENO_CERT ? settings.bundleFile : settings.caFile,
    CODEX_CA_CERTIFICATE: settings.bundleFile,
    SSL_CERT_FILE: settings.bundleFile,
    REQUESTS_CA_BUNDLE: settings.bundleFile,
    CURL_CA_BUNDLE: settings.bundleFile,
    AWS_CA_BUNDLE: settings.bundleFile,
    ...(settings.project !== null && { METER_PROJECT: settings.project }),
  };
}

/** The variables that may name a certificate file whose roots the caller already trusts. */
export const trustVariables = [
  "NODE_EXTRA_CA_CERTS",
  "DENO_CERT",
  "CODEX_CA_CERTIFICATE",
  "SSL_CERT_FILE",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
  "AWS_CA_BUNDLE",
] as const;

/**
 * The providers' hosts that the caller's own exceptions keep from the proxy. An entry means a host and all below it, with or
 * without a dot or star before it; `*` means every host.
 */
export function hostsPastProxy(
  own: Readonly<Record<string, string | undefined>>,
  providerHosts: readonly string[],
): string[] {
  const entries = (own.NO_PROXY ?? own.no_proxy ?? "")
    .split(/[\s,]+/)
    .map((entry) =>
      entry
        .toLowerCase()
        .replace(/^\*?\./, "")
        .replace(/:\d+$/, ""),
    )
    .filter((entry) => entry !== "");
  const isPast = (host: string) => {
    const name = host.replace(/^\*\./, "");
    return entries.some((entry) => entry === "*" || name === entry || name.endsWith(`.${entry}`));
  };
  return providerHosts.filter(isPast);
}

/** The first Node releases whose `fetch` and `http` follow `NODE_USE_ENV_PROXY`, by major version. */
const proxyAwareNode: Readonly<Record<number, number>> = { 22: 21, 24: 5 };

/**
 * Why a program is known to go past a proxy that its environment names, or null where nothing is known against it.
 * `nodeVersion` is what that `node` says of itself, such as `v20.20.2`.
 */
export function knownToIgnoreProxy(program: string, nodeVersion: string | null): string | null {
  const name = (program.split(/[\\/]/).pop() as string).replace(/\.(exe|cmd|bat)$/i, "").toLowerCase();
  if (["node", "npm", "npx", "tsx", "ts-node"].includes(name)) {
    const [, major, minor] = /^v(\d+)\.(\d+)\./.exec(nodeVersion ?? "") ?? [];
    if (major === undefined) return null;
    const since = proxyAwareNode[Number(major)];
    const aware = Number(major) > 24 || (since !== undefined && Number(minor) >= since);
    return aware
      ? null
      : `Node ${nodeVersion} does not follow proxy variables (22.21 and 24.5 are the first that do)`;
  }
  if (["java", "gradle", "mvn"].includes(name)) {
    return "Java reads its proxy from -Dhttps.proxyHost, not from the environment";
  }
  if (name === "ollama") return "Ollama's client talks to its own server on this machine, past any proxy";
  return null;
}
