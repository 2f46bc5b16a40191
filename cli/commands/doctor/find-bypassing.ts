import { Resolver } from "node:dns/promises";
import {
  listEstablishedConnections,
  plainAddress,
} from "../../../adapters/process-table/established-connections.ts";
import type { BypassingConnection } from "../../../core/operations/doctor/doctor-facts.ts";

/** How long a name server may take to answer, in milliseconds. */
const RESOLVE_TIMEOUT_MS = 2_000;

/** Resolves a host to its IPv4 and IPv6 addresses; returns none if the name server does not answer. */
async function addressesOf(host: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: RESOLVE_TIMEOUT_MS, tries: 1 });
  const found = await Promise.all(
    [resolver.resolve4(host), resolver.resolve6(host)].map((resolved) => resolved.catch(() => [])),
  );
  return found.flat().map(plainAddress);
}

/**
 * Finds connections of processes other than the daemon to the current addresses of providers. Google's addresses are left
 * out, because its other services share them and every browser connects to those. Other providers may share addresses too,
 * so a result is a suspicion.
 */
export async function findBypassing(
  hosts: readonly string[],
  ownPids: ReadonlySet<number>,
  ports = { addressesOf, list: () => listEstablishedConnections() },
): Promise<BypassingConnection[]> {
  const distinct = hosts.filter((host) => !host.endsWith(".googleapis.com"));
  const hostOf = new Map<string, string>();
  await Promise.all(
    distinct.map(async (host) => {
      for (const address of await ports.addressesOf(host)) hostOf.set(address, host);
    }),
  );
  if (hostOf.size === 0) return [];
  const found = new Map<string, BypassingConnection>();
  for (const { remoteAddress, remotePort, pid, program } of await ports.list()) {
    const host = hostOf.get(remoteAddress);
    if (host === undefined || remotePort !== 443 || (pid !== null && ownPids.has(pid))) continue;
    // On Linux the daemon's own connections have its pid; a connection without a pid is another user's.
    found.set(`${host} ${pid}`, { host, pid, program });
  }
  return [...found.values()];
}
