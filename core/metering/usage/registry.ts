import type { BillingMode } from "../../values/record.ts";
import { DIALECTS, type Dialect } from "./dialects.ts";
import type { PathRule } from "./path-rules.ts";
import type { Provider } from "./provider.ts";
import { EXTRA_HOST_APIS, PROVIDERS } from "./providers.ts";
import type { MeteredRoute, RouteMatch } from "./route.ts";

/** A host that the operator configured, such as a company gateway or an API-compatible server. */
export interface ExtraHost {
  /** A lower-case name or address. A leading `*.` matches all subdomains. */
  host: string;
  /** Matches any port if absent. */
  port?: number;
  provider: string;
  /** The APIs that the host serves. Of several that know a path, the first applies. */
  api: Dialect | readonly Dialect[];
  /** The path before the APIs' own paths, such as `/llm`. What is outside of it is ignored. Absent: any path may precede. */
  basePath?: string;
  /** The provider whose prices apply, such as `openai` for a gateway to OpenAI. */
  prices?: string;
  /** How all calls are billed. Absent: `free` for the APIs of local servers (`ollama`, `lmstudio`, `llama-cpp`), otherwise as the credential shows. */
  billing?: BillingMode;
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
  /**
   * Whether other programs or websites use this address too. Only its metered calls count: other traffic on its
   * connections is not missing from the totals.
   */
  isSharedHost(host: string, port: number): boolean;
  /** The names of all TLS hosts, with `*.` for suffixes. The local CA may sign for exactly these. */
  readonly hosts: readonly string[];
  /** All hosts as `host:port`, or `host` if any port matches. IPv6 addresses are in brackets. */
  readonly hostPatterns: readonly string[];
  /** The hosts among `hostPatterns` that speak plain HTTP: servers on this machine. */
  readonly plainHostPatterns: readonly string[];
  /** The hosts that the operator configured. */
  readonly operatorHosts: readonly ExtraHost[];
  /** Gateway targets by the first path segment, without slashes. */
  readonly gatewayPrefixes: ReadonlyMap<string, GatewayTarget>;
}

interface HostEntry {
  pattern: string;
  port: number | null;
  provider: string;
  apis: Provider["apis"];
  /** What precedes all paths of the APIs: empty, or a path such as `/llm`. */
  basePath: string;
  paths: readonly PathRule[];
  shared: boolean;
  /** Whether the entry is the operator's, and not built in. */
  isOperators: boolean;
  /** Whether the host is known to speak plain HTTP. */
  isPlain: boolean;
  /** Fields shared by all metered routes of this host. */
  routeDetails: Pick<MeteredRoute, "billing" | "extras" | "deployments">;
}

/** Creates a registry of the operator's hosts and the built-in providers. The operator's hosts take precedence. */
export function createRegistry(extra: readonly ExtraHost[] = [], options: RegistryOptions = {}): Registry {
  const azure = options.deployments && { deployments: new Map(Object.entries(options.deployments)) };
  const entries: HostEntry[] = [
    ...extra.map((host) => operatorEntry(host, azure)),
    ...PROVIDERS.flatMap((provider) => providerEntries(provider, azure)),
  ];
  const findHost = createCache((address: string) => {
    const colon = address.lastIndexOf(":");
    const found = findEntries(entries, address.slice(0, colon), Number(address.slice(colon + 1)));
    const match = createCache((call: string) => {
      const space = call.indexOf(" ");
      return matchEntries(found, call.slice(0, space), normalisePath(call.slice(space + 1)));
    });
    return { found, match };
  });
  const find = (host: string, port: number) => findHost(`${host}:${port}`).found;
  return {
    match: ({ host, port, method, path }) => findHost(`${host}:${port}`).match(`${method} ${path}`),
    isProviderHost: (host, port) => find(host, port).length > 0,
    isSharedHost(host, port) {
      const found = find(host, port);
      return found.length > 0 && found.every(({ shared }) => shared);
    },
    hosts: [
      ...new Set([
        ...PROVIDERS.filter(({ scheme }) => scheme === "https").flatMap(({ hosts }) => hosts),
        ...extra.map(({ host }) => normaliseHost(host)),
      ]),
    ],
    hostPatterns: patternsOf(entries),
    plainHostPatterns: patternsOf(
      // The operator's entries for a host replace the built-in ones.
      entries.filter(
        ({ isPlain, pattern, port }) => isPlain && find(pattern, Number(port))[0]?.isOperators === false,
      ),
    ),
    operatorHosts: extra,
    gatewayPrefixes: new Map(
      PROVIDERS.flatMap(({ gatewayPrefix, provider, scheme, hosts, port }) =>
        gatewayPrefix === undefined
          ? []
          : [[gatewayPrefix, { provider, scheme, host: hosts[0] as string, port, basePath: "" }]],
      ),
    ),
  };
}

/** The most results that a cache keeps, and the longest key of one, in UTF-16 code units. */
const MAX_CACHED = 200;
const MAX_KEY_LENGTH = 300;

/** Returns a function that computes each result once. Calls have few hosts and paths, and there are hundreds of rules. */
function createCache<Result>(compute: (key: string) => Result): (key: string) => Result {
  const known = new Map<string, Result>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const result = compute(key);
    if (known.size >= MAX_CACHED) known.clear();
    if (key.length <= MAX_KEY_LENGTH) known.set(key, result);
    return result;
  };
}

/** The APIs of programs that run models on the operator's own machines. */
const LOCAL_APIS: ReadonlySet<Dialect> = new Set<Dialect>(["ollama", "lmstudio", "llama-cpp"]);

/** The models of Azure deployments, as the routes of Azure's hosts carry them. */
type AzureDetails = Pick<MeteredRoute, "deployments"> | undefined;

function operatorEntry(
  { host, port, provider, api, basePath = "", billing }: ExtraHost,
  azure: AzureDetails,
): HostEntry {
  const apis = [api].flat();
  // A server of the operator that runs models costs nothing.
  const billedAs = billing ?? (apis.every((each) => LOCAL_APIS.has(each)) ? "free" : undefined);
  return {
    pattern: normaliseHost(host),
    port: port ?? null,
    provider,
    apis: apis.flatMap((each) => EXTRA_HOST_APIS[each]),
    basePath: basePath.replace(/\/+$/, ""),
    paths: [],
    shared: false,
    isOperators: true,
    isPlain: false,
    routeDetails: { ...(apis.includes("azure") && azure), ...(billedAs && { billing: billedAs }) },
  };
}

/** Returns the entry of each host of a built-in provider. */
function providerEntries(
  { hosts, port, scheme, provider, apis, paths = [], shared, billing, extras }: Provider,
  azure: AzureDetails,
): HostEntry[] {
  return hosts.map((pattern) => ({
    pattern,
    port,
    provider,
    apis,
    basePath: "",
    paths,
    shared: shared === true,
    isOperators: false,
    isPlain: scheme === "http",
    routeDetails: {
      ...(provider === "azure" && azure),
      ...(billing && { billing }),
      ...(extras && { extras }),
    },
  }));
}

/** Returns the entries of an address. The operator's entries for a host replace the built-in ones. */
function findEntries(entries: readonly HostEntry[], host: string, port: number): HostEntry[] {
  const name = normaliseHost(host);
  const found = entries.filter(
    (entry) => (entry.port === null || entry.port === port) && matchesHost(entry.pattern, name),
  );
  return found[0]?.isOperators ? found.filter(({ isOperators }) => isOperators) : found;
}

/** Returns the hosts as `host:port`, or `host` if any port matches, each once. */
function patternsOf(entries: readonly HostEntry[]): string[] {
  const patterns = entries.map(({ pattern, port }) => {
    const host = pattern.includes(":") ? `[${pattern}]` : pattern;
    return port === null ? host : `${host}:${port}`;
  });
  return [...new Set(patterns)];
}

/** Matches a path with the entries of its host. The first entry that knows the path below its base applies. */
function matchEntries(entries: readonly HostEntry[], method: string, path: string): RouteMatch {
  let unknown: RouteMatch = { kind: "not_provider" };
  for (const entry of entries) {
    if (entry.basePath !== "" && !path.startsWith(`${entry.basePath}/`)) continue;
    const match = matchPath(entry, method, path.slice(entry.basePath.length));
    if (entry.shared) {
      if (match.kind === "metered") return match;
    } else if (match.kind !== "unknown_path") return match;
    else if (unknown.kind === "not_provider") unknown = match;
  }
  return unknown;
}

function matchPath(entry: HostEntry, method: string, path: string): RouteMatch {
  const { provider, apis, paths } = entry;
  // OPTIONS and HEAD requests are never billed.
  if (method === "OPTIONS" || method === "HEAD") return { kind: "free", provider };
  const own = matchRules(paths, entry, method, path, null);
  if (own !== null) return own;
  for (const [dialect, basePath] of apis) {
    const base = basePath.exec(path);
    if (base === null) continue;
    const below = path.slice(base[0].length);
    const match = matchRules(DIALECTS[dialect], entry, method, below, base.groups?.model ?? null);
    if (match !== null) return match;
  }
  return { kind: "unknown_path", provider };
}

/** Returns the match of the first rule that applies. `baseModel` is the model that the base path names. */
function matchRules(
  rules: readonly PathRule[],
  { provider, routeDetails }: HostEntry,
  method: string,
  path: string,
  baseModel: string | null,
): RouteMatch | null {
  for (const { methods, path: pattern, metered } of rules) {
    if (!(methods as readonly string[]).includes(method)) continue;
    const found = pattern.exec(path);
    if (found === null) continue;
    if (metered === null) return { kind: "free", provider };
    const model = found.groups?.model ?? baseModel;
    return {
      kind: "metered",
      provider,
      ...metered,
      ...routeDetails,
      model: model === null ? null : decodeSegment(model),
      ...(found.groups?.id === undefined ? undefined : { responseId: decodeSegment(found.groups.id) }),
    };
  }
  return null;
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
