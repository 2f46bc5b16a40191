import { DIALECTS, type Dialect } from "./dialects.ts";
import { EXTRA_HOST_APIS, PROVIDERS, type Provider } from "./providers.ts";
import type { MeteredRoute, RouteMatch } from "./route.ts";

/** A host that the operator has configured: a gateway of the company's own, a server that imitates a provider. */
export interface ExtraHost {
  /** Lower-case name or address; `*.` before it stands for every name below. */
  host: string;
  /** Any port when absent. */
  port?: number;
  provider: string;
  api: Dialect;
}

/** Where a gateway prefix leads: what follows the prefix is appended to the origin and `basePath`. */
export interface GatewayTarget {
  provider: string;
  scheme: "https" | "http";
  host: string;
  port: number;
  /** Empty: the prefix stands for the provider's origin, so that the provider's own paths follow it. */
  basePath: string;
}

/** What else an operator knows of the providers. */
export interface RegistryOptions {
  /** The models behind Azure's deployments, by the deployments' names: what prices a call whose answer names no model. */
  deployments?: Readonly<Record<string, string>>;
}

/** A request's address. */
export interface RequestAddress {
  host: string;
  port: number;
  method: string;
  /** The path, with or without a query. */
  path: string;
}

/** Knows which hosts are providers and what their paths are. */
export interface Registry {
  match(request: RequestAddress): RouteMatch;
  isProviderHost(host: string, port: number): boolean;
  /** The names of all hosts reached over TLS, with `*.` for suffixes: what the local CA may sign for. */
  readonly hosts: readonly string[];
  /** All hosts as `host:port`, `host` alone where any port counts; an IPv6 address stands in brackets. */
  readonly hostPatterns: readonly string[];
  /** By the path's first segment, without slashes. */
  readonly gatewayPrefixes: ReadonlyMap<string, GatewayTarget>;
}

interface HostEntry {
  pattern: string;
  port: number | null;
  provider: string;
  apis: Provider["apis"];
  free: RegExp | null;
  /** What every metered route of this host has. */
  around: Pick<MeteredRoute, "extras" | "deployments">;
}

/** Creates the registry of the built-in providers and the operator's hosts; the operator's win. */
export function createRegistry(extra: readonly ExtraHost[] = [], options: RegistryOptions = {}): Registry {
  const azure = options.deployments && { deployments: new Map(Object.entries(options.deployments)) };
  const around = (isAzure: boolean, extras?: Provider["extras"]) => ({
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
      around: around(api === "azure"),
    })),
    ...PROVIDERS.flatMap(({ hosts, port, provider, apis, free = null, extras }) =>
      hosts.map((pattern) => ({
        pattern,
        port,
        provider,
        apis,
        free,
        around: around(provider === "azure", extras),
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

function matchPath({ provider, apis, free, around }: HostEntry, method: string, path: string): RouteMatch {
  // A preflight or a look at the headers is never billed, whatever its path.
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
        ...around,
        model: model === undefined ? null : decodeSegment(model),
      };
    }
  }
  return free?.test(path) ? { kind: "free", provider } : { kind: "unknown_path", provider };
}

/** Lower case, without IPv6 brackets and the root's dot. */
function normaliseHost(host: string): string {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  return (bare.endsWith(".") ? bare.slice(0, -1) : bare).toLowerCase();
}

function matchesHost(pattern: string, host: string): boolean {
  if (!pattern.startsWith("*.")) return pattern === host;
  return host.endsWith(pattern.slice(1)) && host.length >= pattern.length;
}

/** Without query, repeated slashes (a base URL that ends in one) and a slash at the end. */
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
