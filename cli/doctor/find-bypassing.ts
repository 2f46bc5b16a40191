import { Resolver } from "node:dns/promises";
import { listEstablishedConnections, plainAddress } from "../../adapters/process-table/mod.ts";
import type { BypassingConnection } from "../../core/doctor/mod.ts";

/** A name server that is silent must not keep the doctor waiting, in milliseconds. */
const RESOLVE_WITHIN_MS = 2_000;

/** Both kinds of addresses that a name stands for; none where the name server does not say. */
async function addressesOf(host: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: RESOLVE_WITHIN_MS, tries: 1 });
  const found = await Promise.all(
    [resolver.resolve4(host), resolver.resolve6(host)].map((asked) => asked.catch(() => [])),
  );
  return found.flat().map(plainAddress);
}

/**
 * Connections from this machine to the addresses that providers' names stand for now, of processes other than the daemon.
 * Addresses of Google's are left out: its other services are behind the same ones, as every browser is. Other providers
 * share addresses too, at times, so that a hit is a suspicion.
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
    // On Linux the daemon's own connections are seen with its pid; one without a holder is another user's.
    found.set(`${host} ${pid}`, { host, pid, program });
  }
  return [...found.values()];
}
