import { loadRootCertificates } from "../adapters/certificates/mod.ts";
import { systemClock } from "../adapters/clock/mod.ts";
import { createCloudClient } from "../adapters/cloud-client/mod.ts";
import { createCredentialStore, createMachineIdentity } from "../adapters/cloud-credentials/mod.ts";
import { sha256 } from "../adapters/crypto/node-crypto.ts";
import { createDriver } from "../adapters/driver/mod.ts";
import { createOutbox } from "../adapters/outbox/mod.ts";
import type { Log } from "../core/ports/log.ts";
import { loadBundledRates } from "../core/pricing/mod.ts";
import { type CloudService, createCloudService } from "../daemon/cloud/mod.ts";
import type { Store } from "../daemon/store/mod.ts";
import { editConfig } from "./edit-config.ts";
import { readConfig } from "./read-config.ts";
import { version } from "./version.ts";

/** What the composition is made of. */
export interface CloudServiceParts {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Open for writing. */
  readonly store: Store;
  /** The daemon's; a command, whose output is its log, has none. */
  readonly log?: Log;
  notice(message: string): void;
  ratesChanged?(): void;
}

/** The service and what is to be closed behind it; the store stays the caller's. */
export interface OpenedCloudService {
  readonly service: CloudService;
  close(): Promise<void>;
}

const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Puts the daemon's side of the cloud together for a home: for the daemon, and for commands where none runs. */
export async function openCloudService(parts: CloudServiceParts): Promise<OpenedCloudService> {
  const { home, env, store, notice } = parts;
  const settings = async () => (await readConfig(home, env)).config;
  const client = createCloudClient({
    clock: systemClock,
    roots: loadRootCertificates((await settings()).proxy.extraCa),
    userAgent: `meter/${version}`,
  });
  const service = createCloudService({
    version,
    store,
    client,
    credentials: createCredentialStore(home),
    machine: createMachineIdentity(home),
    outbox: createOutbox(home),
    clock: systemClock,
    log: parts.log ?? silentLog,
    createDriver,
    sha256,
    random: Math.random,
    settings,
    saveConnection: ({ enabled, baseUrl }) =>
      editConfig(home, [
        { path: ["cloud", "enabled"], value: enabled },
        ...(baseUrl === undefined ? [] : [{ path: ["cloud", "base_url"], value: baseUrl }]),
      ]),
    bundledRates: loadBundledRates,
    ratesChanged: () => parts.ratesChanged?.(),
    notice,
  });
  return {
    service,
    async close() {
      await service.stop();
      await client.close();
    },
  };
}
