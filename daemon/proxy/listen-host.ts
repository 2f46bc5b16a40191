import { lookup } from "node:dns/promises";
import { isLoopbackAddress } from "./forbidden-targets.ts";

/** The configured listen host is reachable from other machines. The daemon exits with status 1. */
export class NonLoopbackHostError extends Error {
  override name = "NonLoopbackHostError";
}

/** The address to listen on, pinned so that a second resolution can't differ. */
export interface ListenHost {
  readonly address: string;
  /** False only under the override; the caller logs a warning. */
  readonly loopback: boolean;
}

/**
 * Resolves a listen host and demands that every address it has is loopback (contract, "Local daemon loopback API").
 * With `allowNonLoopback`, the value of `HALTON_METER_ALLOW_NON_LOOPBACK=1`, other hosts pass and say so. Throws a
 * `NonLoopbackHostError`, also for a name that does not resolve. Of several addresses IPv4 is preferred.
 */
export async function resolveListenHost(
  host: string,
  allowNonLoopback: boolean,
  resolve: (host: string) => Promise<readonly string[]> = resolveAll,
): Promise<ListenHost> {
  let addresses: readonly string[];
  try {
    addresses = await resolve(host);
  } catch (error) {
    throw new NonLoopbackHostError(`listen host does not resolve: ${JSON.stringify(host)}`, { cause: error });
  }
  const address = addresses.find((each) => !each.includes(":")) ?? addresses[0];
  if (address === undefined)
    throw new NonLoopbackHostError(`listen host has no address: ${JSON.stringify(host)}`);
  const outside = addresses.find((each) => !isLoopbackAddress(each));
  if (outside !== undefined && !allowNonLoopback) {
    throw new NonLoopbackHostError(
      `listen host ${JSON.stringify(host)} is not loopback: it resolves to ${outside}`,
    );
  }
  return { address, loopback: outside === undefined };
}

async function resolveAll(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map((each) => each.address);
}
