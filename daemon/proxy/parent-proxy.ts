import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { formatAuthority, parseAuthority } from "./authority.ts";
import { forbiddenTarget, isLoopbackAddress } from "./forbidden-targets.ts";
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
  /** For what the client asked through CONNECT, and for gateway routes to https. */
  readonly https: ParentProxy | null;
  /** For plain http in absolute form. */
  readonly http: ParentProxy | null;
  /** Hosts that are reached directly: entries of `NO_PROXY`. */
  readonly noProxy: readonly string[];
}

/** What the configuration says: none, a URL for everything, or the environment's variables. */
export type ParentProxySetting =
  | { readonly kind: "none" }
  | { readonly kind: "url"; readonly url: string; readonly noProxy: string | null }
  | { readonly kind: "environment" };

/** No parent proxy. */
export const noParentProxies: ParentProxies = { https: null, http: null, noProxy: [] };

/**
 * Resolves the setting into plain data. A proxy that is the daemon itself, that can't be read or that speaks another
 * protocol is left out with a warning (without its password): calls then go directly rather than in a circle.
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
      warnings.push(`parent proxy of ${source} is ignored: not an http:// or https:// URL`);
      return null;
    }
    if (await isOwnEndpoint(proxy, ownPorts)) {
      warnings.push(`parent proxy of ${source} is ignored: ${formatAuthority(proxy)} is this daemon`);
      return null;
    }
    return proxy;
  };
  if (setting.kind === "none") return { proxies: noParentProxies, warnings };
  if (setting.kind === "url") {
    const proxy = await read(setting.url, "the configuration");
    return { proxies: { https: proxy, http: proxy, noProxy: splitNoProxy(setting.noProxy) }, warnings };
  }
  // Lower case first, as curl and Node have it; an empty value counts as set.
  const variable = (name: string) => environment[name] ?? environment[name.toUpperCase()] ?? null;
  const all = variable("all_proxy");
  return {
    proxies: {
      https: await read(variable("https_proxy") ?? all, "HTTPS_PROXY"),
      http: await read(variable("http_proxy") ?? all, "HTTP_PROXY"),
      noProxy: splitNoProxy(variable("no_proxy")),
    },
    warnings,
  };
}

/** Reads a proxy's URL; a missing scheme means http. `null` where it is no such URL. */
export function readProxyUrl(text: string): ParentProxy | null {
  let url: URL;
  try {
    url = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  } catch {
    return null;
  }
  const tls = url.protocol === "https:";
  if (!tls && url.protocol !== "http:") return null;
  // The URL parser drops a port that is its scheme's default one; proxies of http:// are then on 80.
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
    return addresses.some((each) => forbiddenTarget(each.address, proxy.port, ownPorts) === "own_port");
  } catch {
    return false; // it does not resolve: dialling says so
  }
}

function splitNoProxy(list: string | null): string[] {
  return (list ?? "").split(/[\s,]+/).filter((entry) => entry !== "");
}

/**
 * Makes the test for `NO_PROXY`: `*`, a name with everything below it (a leading dot or `*.` changes nothing), an
 * address, a network in CIDR form, each but the last with an optional port. Loopback is always reached directly.
 */
export function createDirectMatcher(entries: readonly string[]): (host: string, port: number) => boolean {
  const networks = new BlockList();
  const names: { name: string; port: number | null }[] = [];
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/");
    const family = isIP(address);
    if (family !== 0) {
      const kind = family === 6 ? "ipv6" : "ipv4";
      const bits = prefix === undefined ? (family === 6 ? 128 : 32) : Number(prefix);
      if (Number.isInteger(bits) && bits >= 0 && bits <= (family === 6 ? 128 : 32)) {
        networks.addSubnet(address, bits, kind);
      }
      continue;
    }
    const [, name = "", port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(entry) ?? [];
    names.push({
      name: normaliseHost(name).replace(/^\*?\./, ""),
      port: port === undefined ? null : Number(port),
    });
  }
  return (host, port) => {
    const name = normaliseHost(host);
    if (name === "localhost" || name.endsWith(".localhost") || isLoopbackAddress(name)) return true;
    const family = isIP(name);
    if (family !== 0 && networks.check(name, family === 6 ? "ipv6" : "ipv4")) return true;
    return names.some(
      (each) =>
        (each.port === null || each.port === port) &&
        (each.name === "*" || each.name === name || (family === 0 && name.endsWith(`.${each.name}`))),
    );
  };
}
