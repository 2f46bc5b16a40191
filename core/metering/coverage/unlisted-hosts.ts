import { formatCount } from "../../values/text/format-count.ts";
import type { CoverageKind, CoverageTotal } from "./coverage-kinds.ts";

/** An API that an unlisted host can be recognised by. */
export type UnlistedApi = "openai" | "anthropic" | "gemini";

/** The kinds of `UnlistedHost`, by API. `unlisted_tunnel` is a connection that nobody reads. */
const KIND_OF = {
  openai: "unlisted_openai",
  anthropic: "unlisted_anthropic",
  gemini: "unlisted_gemini",
} as const satisfies Record<UnlistedApi, CoverageKind>;

/** Returns the kind that counts a call of an API to a host that is not listed. */
export const unlistedKind = (api: UnlistedApi): CoverageKind => KIND_OF[api];

/** The ends of paths that a language model API has. A word that other APIs use too needs a version before it. */
const ENDINGS: readonly (readonly [UnlistedApi, RegExp])[] = [
  [
    "openai",
    /\/(chat\/completions|(?:v\d+|openai)\/(completions|responses|embeddings|images\/generations|audio\/(speech|transcriptions)))$/,
  ],
  ["anthropic", /\/(?:v\d+|anthropic)\/messages$/],
  ["gemini", /\/models\/[^/:]+:(generateContent|streamGenerateContent|embedContent|batchEmbedContents)$/],
];

/** Returns the language model API that a request looks like, or null. `path` may have a query. */
export function recogniseApi(method: string, path: string): UnlistedApi | null {
  if (method !== "POST") return null;
  const bare = path.replace(/[?#].*$/s, "").replace(/\/+$/, "");
  return ENDINGS.find(([, ending]) => ending.test(bare))?.[0] ?? null;
}

/** A host that answers like a language model API, or has the name of one, and is not metered. */
export interface UnlistedHost {
  readonly host: string;
  /** Null for the default port. */
  readonly port: number | null;
  /** The APIs that its paths showed. Empty if it was only tunnelled. */
  readonly apis: readonly UnlistedApi[];
  /** Calls, and connections that were tunnelled. */
  readonly count: number;
}

/** Formats the address of an unlisted host as coverage stores it. */
export const unlistedAddress = (host: string, port: number, defaultPort: number): string => {
  const name = host.includes(":") ? `[${host}]` : host;
  return port === defaultPort ? name : `${name}:${port}`;
};

/** Returns the unlisted hosts, the most used first. Those that were too many to be named are left out. */
export function listUnlistedHosts(coverage: readonly CoverageTotal[]): UnlistedHost[] {
  const hosts = new Map<string, { apis: UnlistedApi[]; count: number }>();
  for (const { host, kind, count } of coverage) {
    const api = (Object.keys(KIND_OF) as UnlistedApi[]).find((each) => KIND_OF[each] === kind);
    if (host === null || count <= 0 || (api === undefined && kind !== "unlisted_tunnel")) continue;
    const known = hosts.get(host) ?? { apis: [], count: 0 };
    hosts.set(host, known);
    known.count += count;
    if (api !== undefined && !known.apis.includes(api)) known.apis.push(api);
  }
  return [...hosts]
    .map(([address, found]): UnlistedHost => {
      const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]*))(?::(\d+))?$/.exec(address) ?? [];
      return {
        host: bracketed ?? plain ?? address,
        port: port === undefined ? null : Number(port),
        ...found,
      };
    })
    .sort((one, other) => other.count - one.count || (one.host < other.host ? -1 : 1));
}

/** Whether the meter knows a host by now. `port` is that of a URL. */
export type IsKnownHost = (host: string, port: number) => boolean;

/** Separates the hosts that still have to be added from those that were added after their calls were seen. */
export function splitAddedHosts(
  hosts: readonly UnlistedHost[],
  isKnown: IsKnownHost,
): { readonly unlisted: readonly UnlistedHost[]; readonly added: readonly UnlistedHost[] } {
  const { true: added = [], false: unlisted = [] } = Object.groupBy(hosts, ({ host, port }) =>
    port === null ? `${isKnown(host, 443) || isKnown(host, 80)}` : `${isKnown(host, port)}`,
  );
  return { unlisted, added };
}

const API_NAMES: Readonly<Record<UnlistedApi, string>> = {
  openai: "OpenAI's",
  anthropic: "Anthropic's",
  gemini: "Gemini's",
};

/** Describes an unlisted host in one sentence. */
export function describeUnlistedHost({ host, port, apis, count }: UnlistedHost): string {
  const name = nameOf({ host, port });
  const times = countOf({ apis, count });
  if (apis.length === 0) return `Not metered: ${times} to ${name}, an AI service.`;
  const names = apis.map((api) => API_NAMES[api]);
  const listed = names.length === 1 ? names[0] : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  return `Not metered: ${times} to ${name}, which answers like ${listed} ${names.length === 1 ? "API" : "APIs"}.`;
}

/** Describes a host that was added after its calls were seen, in two sentences. */
export const describeAddedHost = (host: UnlistedHost): string =>
  `Not metered: ${countOf(host)} to ${nameOf(host)} before the host was added. A daemon started since then meters it.`;

const nameOf = ({ host, port }: Pick<UnlistedHost, "host" | "port">) =>
  `${host}${port === null ? "" : ` (port ${port})`}`;

const countOf = ({ apis, count }: Pick<UnlistedHost, "apis" | "count">) =>
  `${formatCount(count)} ${apis.length === 0 ? "connection" : "call"}${count === 1 ? "" : "s"}`;

/** Returns a provider name for a host: its labels, joined by hyphens. */
export const providerNameOf = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\*\./, "")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "") || "own";

/** Returns the lines of `config.toml` that meter a host. */
export function providerLines({ host, port, apis }: Omit<UnlistedHost, "count">): string[] {
  const names = apis.length === 0 ? ["openai"] : apis;
  const quoted = names.map((name) => `"${name}"`);
  return [
    "[[providers]]",
    `host = ${JSON.stringify(host)}`,
    ...(port === null ? [] : [`port = ${port}`]),
    `provider = ${JSON.stringify(providerNameOf(host))}`,
    `api = ${quoted.length === 1 ? quoted[0] : `[${quoted.join(", ")}]`}`,
  ];
}

/** Returns the command that adds a host. */
export const addProviderCommand = ({ host, port, apis }: Omit<UnlistedHost, "count">): string => {
  const name = host.includes(":") ? `[${host}]` : host;
  const options = (apis.length === 0 ? ["openai"] : apis).map((api) => ` --api ${api}`).join("");
  return `meter provider add ${name}${port === null ? "" : ` --port ${port}`}${options}`;
};
