import { lookup } from "node:dns/promises";
import { matchesNoProxy, parseNoProxy, readNoProxy, splitNoProxy } from "../../core/values/text/no-proxy.ts";
import { formatAuthority, parseAuthority } from "./authority.ts";
import { checkTarget, isLoopbackAddress } from "./forbidden-targets.ts";
import { normaliseHost } from "./host-patterns.ts";

/** An HTTP proxy that upstream connections go through, as plain data for the worker. */
export interface ParentProxy {
  readonly host: string;
  readonly port: number;
  /** Whether the connection to the proxy itself is TLS. */
  readonly tls: boolean;
  /** The value of `Proxy-Authorization`. */
  readonly authorization: string | null;
}

/** The parent proxies in force. */
export interface ParentProxies {
  /** For CONNECT requests, and for gateway routes to https. */
  readonly https: ParentProxy | null;
  /** For plain http in absolute form. */
  readonly http: ParentProxy | null;
  /** Hosts that are reached directly: entries of `NO_PROXY`. */
  readonly noProxy: readonly string[];
}

/** The configured source of parent proxies: none, one URL for all requests, or the environment variables. */
type ParentProxySetting =
  | { readonly kind: "none" }
  | { readonly kind: "url"; readonly url: string; readonly noProxy: string | null }
  | { readonly kind: "environment" };

/** No parent proxy. */
export const noParentProxies: ParentProxies = { https: null, http: null, noProxy: [] };

/**
 * Resolves the setting to plain data. A proxy is ignored with a warning if its URL is invalid, if it uses another protocol,
 * or if it is the daemon itself, which would be a loop. Calls then go directly to the upstream.
 */
export async function resolveParentProxies(
  setting: ParentProxySetting,
  environment: Readonly<Record<string, string | undefined>>,
  ownPorts: ReadonlySet<number>,
): Promise<{ proxies: ParentProxies; warnings: string[] }> {
  const warnings: string[] = [];
  const read = async (url: string | null, source: string): Promise<ParentProxy | null> => {
    if (url === null || url.trim() === "") return null;
    const proxy = readProxyUrl(url.trim());
    if (proxy === null) {
      warnings.push(`The parent proxy from ${source} is ignored: it is not an http:// or https:// URL.`);
      return null;
    }
    if (await isOwnEndpoint(proxy, ownPorts)) {
      warnings.push(`The parent proxy from ${source} is ignored: ${formatAuthority(proxy)} is this daemon.`);
      return null;
    }
    return proxy;
  };
  if (setting.kind === "none") return { proxies: noParentProxies, warnings };
  if (setting.kind === "url") {
    const proxy = await read(setting.url, "the configuration");
    return { proxies: { https: proxy, http: proxy, noProxy: splitNoProxy(setting.noProxy ?? "") }, warnings };
  }
  // Lower case takes precedence, as in curl and Node. An empty value counts as set.
  const variable = (name: string) => environment[name] ?? environment[name.toUpperCase()] ?? null;
  const all = variable("all_proxy");
  return {
    proxies: {
      https: await read(variable("https_proxy") ?? all, "HTTPS_PROXY"),
      http: await read(variable("http_proxy") ?? all, "HTTP_PROXY"),
      noProxy: splitNoProxy(readNoProxy(environment)),
    },
    warnings,
  };
}

/** Parses a proxy URL. The default scheme is http. Returns null for an invalid URL. */
export function readProxyUrl(text: string): ParentProxy | null {
  let url: URL;
  try {
    url = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  } catch {
    return null;
  }
  const tls = url.protocol === "https:";
  if (!tls && url.protocol !== "http:") return null;
  // The URL parser drops the default port of the scheme.
  const authority = parseAuthority(url.host, tls ? 443 : 80);
  if (authority === null) return null;
  let credentials: string;
  try {
    credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch {
    return null;
  }
  const authorization = credentials === ":" ? null : `Basic ${Buffer.from(credentials).toString("base64")}`;
  return { ...authority, tls, authorization };
}

async function isOwnEndpoint(proxy: ParentProxy, ownPorts: ReadonlySet<number>): Promise<boolean> {
  if (!ownPorts.has(proxy.port)) return false;
  try {
    const addresses = await lookup(proxy.host, { all: true });
    return addresses.some((each) => checkTarget(each.address, proxy.port, ownPorts) === "own_port");
  } catch {
    return false; // a host that does not resolve is reported when it is dialled
  }
}

/** Creates a test for hosts that are reached without the parent proxy: the entries of `NO_PROXY`, and loopback. */
export function createDirectMatcher(entries: readonly string[]): (host: string, port: number) => boolean {
  const noProxy = parseNoProxy(entries);
  return (host, port) => {
    const name = normaliseHost(host);
    const isLocal = name === "localhost" || name.endsWith(".localhost") || isLoopbackAddress(name);
    return isLocal || matchesNoProxy(noProxy, name, port);
  };
}
