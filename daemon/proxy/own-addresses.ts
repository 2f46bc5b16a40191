import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";

/**
 * Returns the addresses of this machine's network interfaces; null if they can't be read. The system needs a descriptor for
 * that (getifaddrs(3)), and a process with too many open files has none.
 */
export function readOwnAddresses(
  read: () => NodeJS.Dict<NetworkInterfaceInfo[]> = networkInterfaces,
): Pick<NetworkInterfaceInfo, "address" | "family">[] | null {
  try {
    return Object.values(read()).flatMap((addresses) => addresses ?? []);
  } catch {
    return null;
  }
}
