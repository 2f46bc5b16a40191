import { loadSystemRoots, readExtraRoots } from "../../adapters/certificates/root-certificates.ts";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { createCloudClient } from "../../adapters/cloud-client/create-cloud-client.ts";
import type { CloudClient } from "../../core/ports/cloud-client.ts";
import { version } from "../program/version.ts";

/**
 * Creates the client for the cloud and for webhooks. `extraCa` is read at once, since an unreadable file must be reported; the
 * system's certificates only if something is sent.
 */
export function createHttpClient(extraCa: string | null): CloudClient {
  const extraRoots = readExtraRoots(extraCa);
  return createCloudClient({
    clock: systemClock,
    roots: () => [...new Set([...loadSystemRoots(), ...extraRoots])],
    userAgent: `meter/${version}`,
  });
}
