import { lookup } from "node:dns/promises";
import { isLoopbackAddress } from "./forbidden-targets.ts";

/** Thrown if the configured listen host may be reachable from other machines. The daemon then exits with status 1. */
export class NonLoopbackHostError extends Error {
  override name = "NonLoopbackHostError";
  /** The address that is not loopback; null if the host has none at all. */
  readonly address: string | null;
  constructor(message: string, address: string | null, options?: ErrorOptions) {
    super(message, options);
    this.address = address;
  }
}

/** The address to listen on. It is resolved once, because a second lookup could return another address. */
interface ListenHost {
  readonly address: string;
  /** False only if non-loopback hosts are allowed. The caller then logs a warning. */
  readonly loopback: boolean;
}

/**
 * Resolves a listen host. Throws a `NonLoopbackHostError` if one of its addresses is not loopback
 * (docs/specification.md#listening-address) or if it does not resolve. `allowNonLoopback`, which is set by
 * `HALTON_METER_ALLOW_NON_LOOPBACK=1`, allows other addresses. IPv4 addresses are preferred.
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
    throw new NonLoopbackHostError(`listen host does not resolve: ${JSON.stringify(host)}`, null, {
      cause: error,
    });
  }
  const address = addresses.find((each) => !each.includes(":")) ?? addresses[0];
  if (address === undefined)
    throw new NonLoopbackHostError(`listen host has no address: ${JSON.stringify(host)}`, null);
  const outside = addresses.find((each) => !isLoopbackAddress(each));
  if (outside !== undefined && !allowNonLoopback) {
    throw new NonLoopbackHostError(
      `listen host ${JSON.stringify(host)} is not loopback: it resolves to ${outside}`,
      outside,
    );
  }
  return { address, loopback: outside === undefined };
}

async function resolveAll(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map((each) => each.address);
}
