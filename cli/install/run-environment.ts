import { readNoProxy, splitNoProxy } from "../../core/values/text/no-proxy.ts";
import { httpAddress } from "../daemon/own-address.ts";

/** The proxy and certificates for a program's environment. */
export interface RunSettings {
  /** The address at which this machine reaches the proxy; 127.0.0.1 by default. */
  proxyHost?: string | undefined;
  proxyPort: number;
  /** The file with this installation's certificate authority (PEM). */
  caFile: string;
  /** The file with the system's roots, those that the caller's variables name, and ours (PEM). */
  bundleFile: string;
  project: string | null;
  /** The user name and password for the proxy. Both consist of characters that a URL need not encode, or are encoded. */
  login?: { readonly user: string; readonly password: string };
}

/** Hosts that a program reaches without the proxy. */
const neverProxied = ["localhost", "127.0.0.1", "::1"];

/**
 * Returns the environment in which a program uses the proxy and trusts it. Both spellings of the proxy variables are set,
 * because curl reads `http_proxy` only in lower case. Variables that replace a program's own list of authorities get the
 * bundle; variables that add to the list get only our authority.
 */
export function runEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  settings: RunSettings,
): Record<string, string | undefined> {
  const { login } = settings;
  const address = httpAddress(settings.proxyHost, settings.proxyPort);
  const proxy = login === undefined ? address : address.replace("://", `://${login.user}:${login.password}@`);
  const noProxy = [...new Set([...splitNoProxy(readNoProxy(own)), ...neverProxied])].join(",");
  return {
    ...own,
    HTTPS_PROXY: proxy,
    https_proxy: proxy,
    HTTP_PROXY: proxy,
    http_proxy: proxy,
    NO_PROXY: noProxy,
    no_proxy: noProxy,
    NODE_USE_ENV_PROXY: "1",
    // Node reads only one file here. If the caller has one, it is part of the bundle.
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

/** The variables that may name a file with certificates that the caller already trusts. */
export const trustVariables = [
  "NODE_EXTRA_CA_CERTS",
  "DENO_CERT",
  "CODEX_CA_CERTIFICATE",
  "SSL_CERT_FILE",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
  "AWS_CA_BUNDLE",
] as const;

/** The first Node releases whose `fetch` and `http` follow `NODE_USE_ENV_PROXY`, by major version. */
const proxyAwareNode: Readonly<Record<number, number>> = { 22: 21, 24: 5 };

/**
 * Returns why a program is known to ignore the proxy variables; null if it is not. `nodeVersion` is what its `node` prints,
 * such as `v20.20.2`.
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
  return null;
}
