import { BlockList, isIP } from "node:net";
import { classifyAddress } from "./classify-address.ts";
import { readOwnAddresses } from "./own-addresses.ts";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/**
 * Whether the IP address is a loopback address, also if IPv4-mapped. Other addresses that embed one, such as 6to4
 * addresses, may belong to another machine.
 */
export function isLoopbackAddress(address: string): boolean {
  return isIP(address) !== 0 && loopback.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/** Why the proxy does not connect to an address. */
export type ForbiddenTarget = "own_port" | "metadata" | "link_local" | "unspecified" | "loopback" | "private";

/**
 * Returns why the proxy must not connect to this IP address and port, or null if it may. It takes the address that a name
 * resolved to, not the name, so that no spelling of a name bypasses it. `publicOnly` is for clients on other machines,
 * which can reach neither this machine nor its networks. Decision: the unspecified address is refused on every port, since
 * only some systems treat it as loopback.
 */
export function checkTarget(
  address: string,
  port: number,
  ownPorts: ReadonlySet<number>,
  publicOnly = false,
): ForbiddenTarget | null {
  const found = classifyAddress(address);
  if (found === null) return null;
  const isOwn =
    found === "loopback" || ((publicOnly || ownPorts.has(port)) && isOwnAddress(address.replace(/%.*$/, "")));
  if (ownPorts.has(port) && (isOwn || found === "unspecified")) return "own_port";
  if (found === "metadata" || found === "unspecified" || found === "link_local") return found;
  if (!publicOnly) return null;
  if (isOwn) return "loopback";
  return found === "private" ? "private" : null;
}

/** Whether the address belongs to one of this machine's network interfaces, or may do so: they can't always be read. */
function isOwnAddress(address: string): boolean {
  const addresses = readOwnAddresses();
  if (addresses === null) return true;
  const own = new BlockList();
  for (const each of addresses) own.addAddress(each.address, each.family === "IPv6" ? "ipv6" : "ipv4");
  return own.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}
