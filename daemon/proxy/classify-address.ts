import { BlockList, isIP } from "node:net";

/** The kinds of IP addresses that the proxy treats differently. */
export type AddressClass = "loopback" | "unspecified" | "metadata" | "link_local" | "private" | "public";

function blockList(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address = "", prefix] = subnet.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    list.addSubnet(address, prefix === undefined ? (family === "ipv6" ? 128 : 32) : Number(prefix), family);
  }
  return list;
}

/**
 * The metadata services of cloud machines, which return credentials to any client on the machine. The addresses are from
 * the vendors' documentation, read in 2026-11.
 */
const metadataAddresses = [
  "169.254.169.254", // AWS, Azure, Google Cloud, Oracle Cloud, OpenStack, DigitalOcean, Hetzner: instance metadata
  "169.254.170.2", // AWS ECS: credentials of a task
  "169.254.170.23", // AWS EKS: Pod Identity agent
  "fd00:ec2::254", // AWS: instance metadata over IPv6
  "fd00:ec2::23", // AWS EKS: Pod Identity agent over IPv6
  "fd20:ce::254", // Google Cloud: metadata server over IPv6
  "168.63.129.16", // Azure: WireServer, which holds the machine's certificates
  "100.100.100.200", // Alibaba Cloud: instance metadata
  "192.0.0.192", // Oracle Cloud Classic: instance metadata
  "169.254.42.42", // Scaleway: instance metadata
  "fd00:42::42", // Scaleway: instance metadata over IPv6
];

/** The classes and their addresses. The first class that contains an address applies. */
const classLists: readonly (readonly [AddressClass, BlockList])[] = [
  ["metadata", blockList(metadataAddresses)],
  ["loopback", blockList(["127.0.0.0/8", "::1"])],
  ["unspecified", blockList(["0.0.0.0/8", "::"])],
  ["link_local", blockList(["169.254.0.0/16", "fe80::/10"])],
  [
    "private",
    blockList([
      "10.0.0.0/8", // RFC 1918
      "172.16.0.0/12",
      "192.168.0.0/16",
      "100.64.0.0/10", // shared address space, RFC 6598
      "192.0.0.0/24", // protocol assignments, RFC 6890
      "198.18.0.0/15", // benchmarks, RFC 2544
      "224.0.0.0/3", // multicast, reserved and broadcast
      "fc00::/7", // unique local, RFC 4193
      "fec0::/10", // site-local, RFC 3879
      "ff00::/8", // multicast
    ]),
  ],
];

/** The classes, most dangerous first. If an address embeds others, the most dangerous class of them applies. */
const bySeverity: readonly AddressClass[] = [
  "metadata",
  "link_local",
  "unspecified",
  "loopback",
  "private",
  "public",
];

/** Parses a valid IPv6 address, in any notation, into its eight groups. */
function parseIpv6Groups(address: string): number[] {
  const [, head = "", dotted] = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? [];
  const [a = 0, b = 0, c = 0, d = 0] = dotted?.split(".").map(Number) ?? [];
  const text =
    dotted === undefined ? address : `${head}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  const [left = [], right] = text
    .split("::")
    .map((part) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16))));
  if (right === undefined) return left;
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right];
}

/** Formats the four octets at an offset as an IPv4 address. */
const formatIpv4At = (octets: readonly number[], offset: number) =>
  octets.slice(offset, offset + 4).join(".");

const startsWith = (groups: readonly number[], ...prefix: readonly number[]) =>
  prefix.every((group, index) => groups[index] === group);

/** Returns the IPv4 addresses that some network may translate an IPv6 address to. */
function embeddedIpv4Addresses(groups: readonly number[]): string[] {
  const octets = groups.flatMap((group) => [group >> 8, group & 255]);
  const last = formatIpv4At(octets, 12);
  const zero = (count: number) => Array<number>(count).fill(0);
  if (startsWith(groups, ...zero(5), 0xffff)) return [last]; // IPv4-mapped, RFC 4291
  if (startsWith(groups, ...zero(6))) return [last]; // IPv4-compatible, RFC 4291
  if (startsWith(groups, ...zero(4), 0xffff, 0)) return [last]; // IPv4-translated, RFC 2765
  if (startsWith(groups, 0x64, 0xff9b, ...zero(4))) return [last]; // NAT64, RFC 6052
  if (startsWith(groups, 0x64, 0xff9b, 1)) {
    // Local-use NAT64, RFC 8215. The length of the prefix differs between networks. Octet 8 is skipped (RFC 6052, section 2.2).
    const without8 = octets.toSpliced(8, 1);
    return [formatIpv4At(without8, 6), formatIpv4At(without8, 7), formatIpv4At(without8, 8), last].filter(
      (each) => !each.startsWith("0."),
    );
  }
  if (startsWith(groups, 0x2002)) return [formatIpv4At(octets, 2)]; // 6to4, RFC 3056
  if (startsWith(groups, 0x2001, 0)) {
    // Teredo, RFC 4380: the server, and the client with its bits inverted.
    const inverted = octets.map((each) => each ^ 255);
    return [formatIpv4At(octets, 4), formatIpv4At(inverted, 12)];
  }
  const isIsatap = ((groups[4] ?? 0) & 0xfdff) === 0 && groups[5] === 0x5efe; // RFC 5214
  return isIsatap ? [last] : [];
}

function classifyLiteral(address: string): AddressClass {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  return classLists.find(([, list]) => list.check(address, family))?.[0] ?? "public";
}

/**
 * Classifies an IP address. Returns null for any other text. An IPv6 address that embeds an IPv4 address, in any form that
 * a network may translate, gets the more dangerous class of the two, so that it does not bypass a rule.
 */
export function classifyAddress(addressWithZone: string): AddressClass | null {
  const address = addressWithZone.replace(/%.*$/, ""); // the zone of a link-local address
  const family = isIP(address);
  if (family === 0) return null;
  if (family === 4) return classifyLiteral(address);
  const own = classifyLiteral(address);
  if (own === "loopback" || own === "unspecified") return own;
  const found = new Set([own, ...embeddedIpv4Addresses(parseIpv6Groups(address)).map(classifyLiteral)]);
  return bySeverity.find((each) => found.has(each)) ?? own;
}
