import { DIALECTS, type Dialect } from "./dialects.ts";
import { EXTRA_HOST_APIS, PROVIDERS, type Provider } from "./providers.ts";
import type { MeteredRoute, RouteMatch } from "./route.ts";

/** A host that the operator configured, such as a company gateway or an API-compatible server. */
export interface ExtraHost {
  /** A lower-case name or address. A leading `*.` matches all subdomains. */
  host: string;
  /** Matches any port if absent. */
  port?: number;
  provider: string;
  api: Dialect;
}

/** The target of a gateway prefix. The rest of the path is appended to the origin and `basePath`. */
export interface GatewayTarget {
  provider: string;
  scheme: "https" | "http";
  host: string;
  port: number;
  /** Always empty: the provider's own paths follow the prefix. */
  basePath: string;
}

/** Options of the registry. */
export interface RegistryOptions {
  /** The models of Azure deployments by deployment name, used to price calls whose response names no model. */
  deployments?: Readonly<Record<string, string>>;
}

/** The address and method of a request. */
export interface RequestAddress {
  host: string;
  port: number;
  method: string;
  /** The path, with or without a query. */
  path: string;
}

/** Matches requests to providers and their APIs. */
export interface Registry {
  match(request: RequestAddress): RouteMatch;
  isProviderHost(host: string, port: number): boolean;
  /** The names of all TLS hosts, with `*.` for suffixes. The local CA may sign for exactly these. */
  readonly hosts: readonly string[];
  /** All hosts as `host:port`, or `host` if any port matches. IPv6 addresses are in brackets. */
  readonly hostPatterns: readonly string[];
  /** Gateway targets by the first path segment, without slashes. */
  readonly gatewayPrefixes: ReadonlyMap<string, GatewayTarget>;
}

interface HostEntry {
  pattern: string;
  port: number | null;
  provider: string;
  apis: Provider["apis"];
  free: RegExp | null;
  /** Fields shared by all metered routes of this host. */
  routeDetails: Pick<MeteredRoute, "extras" | "deployments">;
}

/** Creates a registry of the operator's hosts and the built-in providers. The operator's hosts take precedence. */
export function createRegistry(extra: readonly ExtraHost[] = [], options: RegistryOptions = {}): Registry {
  const azure = options.deployments && { deployments: new Map(Object.entries(options.deployments)) };
  const routeDetails = (isAzure: boolean, extras?: Provider["extras"]) => ({
    ...(isAzure ? azure : undefined),
    ...(extras && { extras }),
  });
  const entries: HostEntry[] = [
    ...extra.map(({ host, port, provider, api }) => ({
      pattern: normaliseHost(host),
      port: port ?? null,
      provider,
      apis: EXTRA_HOST_APIS[api],
      free: null,
      routeDetails: routeDetails(api === "azure"),
    })),
    ...PROVIDERS.flatMap(({ hosts, port, provider, apis, free = null, extras }) =>
      hosts.map((pattern) => ({
        pattern,
        port,
        provider,
        apis,
        free,
        routeDetails: routeDetails(provider === "azure", extras),
      })),
    ),
  ];
  const find = (host: string, port: number): HostEntry | undefined => {
    const name = normaliseHost(host);
    return entries.find(
      (entry) => (entry.port === null || entry.port === port) && matchesHost(entry.pattern, name),
    );
  };
  return {
    match({ host, port, method, path }) {
      const entry = find(host, port);
      return entry === undefined ? { kind: "not_provider" } : matchPath(entry, method, normalisePath(path));
    },
    isProviderHost: (host, port) => find(host, port) !== undefined,
    hosts: [
      ...new Set([
        ...PROVIDERS.filter(({ scheme }) => scheme === "https").flatMap(({ hosts }) => hosts),
        ...extra.map(({ host }) => normaliseHost(host)),
      ]),
    ],
    hostPatterns: [
      ...new Set(
        entries.map(({ pattern, port }) => {
          const host = pattern.includes(":") ? `[${pattern}]` : pattern;
          return port === null ? host : `${host}:${port}`;
        }),
      ),
    ],
    gatewayPrefixes: new Map(
      PROVIDERS.flatMap(({ gatewayPrefix, provider, scheme, hosts, port }) =>
        gatewayPrefix === undefined
          ? []
          : [[gatewayPrefix, { provider, scheme, host: hosts[0] as string, port, basePath: "" }]],
      ),
    ),
  };
}

function matchPath(
  { provider, apis, free, routeDetails }: HostEntry,
  method: string,
  path: string,
): RouteMatch {
  // OPTIONS and HEAD requests are never billed.
  if (method === "OPTIONS" || method === "HEAD") return { kind: "free", provider };
  for (const [dialect, basePath] of apis) {
    const base = basePath.exec(path);
    if (base === null) continue;
    const below = path.slice(base[0].length);
    for (const rule of DIALECTS[dialect]) {
      if (rule.method !== "any" && rule.method !== method) continue;
      const found = rule.path.exec(below);
      if (found === null) continue;
      if (rule.metered === null) return { kind: "free", provider };
      const model = found.groups?.model ?? base.groups?.model;
      return {
        kind: "metered",
        provider,
        ...rule.metered,
        ...routeDetails,
        model: model === undefined ? null : decodeSegment(model),
      };
    }
  }
  return free?.test(path) ? { kind: "free", provider } : { kind: "unknown_path", provider };
}

/** Converts a host to lower case, and removes IPv6 brackets and a trailing dot. */
function normaliseHost(host: string): string {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  return (bare.endsWith(".") ? bare.slice(0, -1) : bare).toLowerCase();
}

function matchesHost(pattern: string, host: string): boolean {
  if (!pattern.startsWith("*.")) return pattern === host;
  return host.endsWith(pattern.slice(1)) && host.length >= pattern.length;
}

/** Removes the query, repeated slashes (from a base URL with a trailing slash) and a trailing slash. */
function normalisePath(path: string): string {
  const query = path.search(/[?#]/);
  const bare = (query === -1 ? path : path.slice(0, query)).replaceAll(/\/{2,}/g, "/");
  return bare.length > 1 && bare.endsWith("/") ? bare.slice(0, -1) : bare;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
