import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

function blockList(subnets: readonly (readonly [address: string, prefix: number])[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of subnets)
    list.addSubnet(address, prefix, isIP(address) === 6 ? "ipv6" : "ipv4");
  return list;
}

// BlockList reads IPv4-mapped IPv6 addresses as the IPv4 addresses they are.
const loopback = blockList([
  ["127.0.0.0", 8],
  ["::1", 128],
]);

const unspecified = blockList([
  ["0.0.0.0", 8],
  ["::", 128],
]);

/** Link-local addresses, where cloud machines keep their metadata services, and AWS's unique-local one. */
const linkLocal = blockList([
  ["169.254.0.0", 16],
  ["fe80::", 10],
  ["fd00:ec2::254", 128],
]);

const within = (list: BlockList, address: string) =>
  list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

/** Whether the IP address is this machine's loopback. */
export function isLoopbackAddress(address: string): boolean {
  return isIP(address) !== 0 && within(loopback, address);
}

/** Why the proxy doesn't connect to an address. */
export type ForbiddenTarget = "own_port" | "link_local" | "unspecified";

/**
 * Says why the proxy must not connect to this IP address and port, or `null` where it may. Addresses, not names: it
 * is asked about what a name resolved to, so no spelling gets past it. Decision: the unspecified address is refused
 * on every port, since it means loopback on some systems only.
 */
export function forbiddenTarget(
  addressWithZone: string,
  port: number,
  ownPorts: ReadonlySet<number>,
): ForbiddenTarget | null {
  const address = addressWithZone.replace(/%.*$/, ""); // the zone of a link-local address
  if (isIP(address) === 0) return null;
  if (
    ownPorts.has(port) &&
    (within(loopback, address) || within(unspecified, address) || isOwnAddress(address))
  ) {
    return "own_port";
  }
  if (within(unspecified, address)) return "unspecified";
  return within(linkLocal, address) ? "link_local" : null;
}

/** Asked for the daemon's ports alone, which listen on other addresses only under the override. */
function isOwnAddress(address: string): boolean {
  const own = new BlockList();
  for (const each of Object.values(networkInterfaces()).flat()) {
    if (each) own.addAddress(each.address, each.family === "IPv6" ? "ipv6" : "ipv4");
  }
  return within(own, address);
}
