/**
 * One entry of a `NO_PROXY` value. Decision: the variable has no standard, so entries mean what they mean to curl and Go:
 * `*` is every host; a name covers itself and its subdomains, with or without a leading dot or `*.`; an address or a network
 * in CIDR notation covers addresses. A name or address may have a port, an IPv6 address with a port is in brackets.
 */
type NoProxyEntry =
  | { readonly kind: "all"; readonly port: number | null }
  | { readonly kind: "name"; readonly name: string; readonly port: number | null }
  | {
      readonly kind: "network";
      readonly address: IpAddress;
      readonly bits: number;
      readonly port: number | null;
    };

/** The bytes of an IP address: 4 or 16. */
type IpAddress = readonly number[];

/** Returns the `NO_PROXY` of an environment: the lower-case variable first, as in curl and Node; "" if neither is set. */
export function readNoProxy(env: Readonly<Record<string, string | undefined>>): string {
  return env.no_proxy ?? env.NO_PROXY ?? "";
}

/** Splits a `NO_PROXY` value into its entries, which are separated by commas or white space. */
export function splitNoProxy(value: string): string[] {
  return value.split(/[\s,]+/).filter((entry) => entry !== "");
}

/** Parses the entries of a `NO_PROXY` value. An entry that is no valid network is skipped. */
export function parseNoProxy(entries: readonly string[]): NoProxyEntry[] {
  return entries.flatMap((entry) => parseEntry(entry.toLowerCase()) ?? []);
}

/** Whether a host is reached without the proxy. If the port is null, ports of entries are ignored. */
export function matchesNoProxy(entries: readonly NoProxyEntry[], host: string, port: number | null): boolean {
  const name = host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
  const address = parseAddress(name);
  return entries.some((entry) => {
    if (port !== null && entry.port !== null && entry.port !== port) return false;
    if (entry.kind === "all") return true;
    if (entry.kind === "network") return address !== null && isInNetwork(address, entry.address, entry.bits);
    return name === entry.name || (address === null && name.endsWith(`.${entry.name}`));
  });
}

/** Creates a test for hosts that are reached without the proxy, as `NO_PROXY` of an environment says. */
export function createNoProxyMatcher(
  env: Readonly<Record<string, string | undefined>>,
): (host: string, port: number) => boolean {
  const entries = parseNoProxy(splitNoProxy(readNoProxy(env)));
  return (host, port) => matchesNoProxy(entries, host, port);
}

/**
 * All functions that `createNoProxyMatcher()` needs, and itself. They use nothing else of this file, so that their text is a
 * program: another process can have the same rules.
 */
export const noProxyFunctions: readonly ((...words: never[]) => unknown)[] = [
  ...[createNoProxyMatcher, readNoProxy, splitNoProxy, parseNoProxy, matchesNoProxy],
  ...[parseEntry, parseNetwork, parseAddress, parseIpv4, parseIpv6, parseGroup, isInNetwork],
];

/** Returns the hosts that a `NO_PROXY` value may exempt on any port. A host may be a pattern such as `*.example.com`. */
export function listExemptHosts(value: string, hosts: readonly string[]): string[] {
  const entries = parseNoProxy(splitNoProxy(value));
  return hosts.filter((host) => matchesNoProxy(entries, host.replace(/^\*\./, ""), null));
}

function parseEntry(entry: string): NoProxyEntry | null {
  const slash = entry.indexOf("/");
  if (slash !== -1) return parseNetwork(entry.slice(0, slash), entry.slice(slash + 1));
  const bare = parseAddress(entry);
  if (bare !== null) return { kind: "network", address: bare, bits: bare.length * 8, port: null };
  const [, bracketed, plain = "", digits] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  const port = digits === undefined ? null : Number(digits);
  const address = parseAddress(bracketed ?? plain);
  if (address !== null) return { kind: "network", address, bits: address.length * 8, port };
  if (plain === "*") return { kind: "all", port };
  const name = plain.replace(/^\*?\./, "").replace(/\.$/, "");
  return name === "" ? null : { kind: "name", name, port };
}

function parseNetwork(base: string, prefix: string): NoProxyEntry | null {
  const address = parseAddress(base);
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.POSITIVE_INFINITY;
  if (address === null || bits > address.length * 8) return null;
  return { kind: "network", address, bits, port: null };
}

/** Parses an IP address. An IPv4 address mapped to IPv6 becomes the IPv4 address. */
function parseAddress(text: string): IpAddress | null {
  if (!text.includes(":")) return parseIpv4(text);
  const bytes = parseIpv6(text);
  const isMapped = bytes?.slice(0, 12).every((byte, at) => byte === (at < 10 ? 0 : 0xff));
  return isMapped === true ? (bytes as IpAddress).slice(12) : bytes;
}

function parseIpv4(text: string): IpAddress | null {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part))) return null;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : null;
}

function parseIpv6(text: string): IpAddress | null {
  const halves = text.split("::").map((half) => (half === "" ? [] : half.split(":").map(parseGroup)));
  if (halves.length > 2 || halves.flat().includes(null)) return null;
  const [head = [], tail] = halves.map((groups) => groups.flatMap((group) => group as IpAddress));
  if (tail === undefined) return head.length === 16 ? head : null;
  const zeros = 16 - head.length - tail.length;
  return zeros < 2 ? null : [...head, ...new Array<number>(zeros).fill(0), ...tail];
}

/** Parses a group of an IPv6 address: up to four hexadecimal digits, or an IPv4 address. */
function parseGroup(group: string): IpAddress | null {
  if (group.includes(".")) return parseIpv4(group);
  if (!/^[0-9a-f]{1,4}$/.test(group)) return null;
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}

function isInNetwork(address: IpAddress, network: IpAddress, bits: number): boolean {
  if (address.length !== network.length) return false;
  return address.every((byte, at) => {
    const mask = 0xff00 >> Math.min(Math.max(bits - at * 8, 0), 8);
    return ((byte ^ (network[at] as number)) & mask & 0xff) === 0;
  });
}
