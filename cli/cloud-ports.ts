import { loadRootCertificates } from "../adapters/certificates/mod.ts";
import { systemClock } from "../adapters/clock/mod.ts";
import { createCloudClient } from "../adapters/cloud-client/mod.ts";
import { createCredentialStore, createMachineIdentity } from "../adapters/cloud-credentials/mod.ts";
import { sha256 } from "../adapters/crypto/mod.ts";
import { createDriver } from "../adapters/driver/mod.ts";
import { createOutbox } from "../adapters/outbox/mod.ts";
import type { Config } from "../core/config/mod.ts";
import type { Log } from "../core/ports/log.ts";
import { loadBundledRates } from "../core/pricing/mod.ts";
import type { CloudServicePorts } from "../daemon/cloud/mod.ts";
import type { Store } from "../daemon/store/mod.ts";
import { editConfig } from "./edit-config.ts";
import { readConfig } from "./read-config.ts";
import { version } from "./version.ts";

/** What the daemon and the commands have of their own. */
export interface CloudSurroundings {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly store: Store;
  readonly log: Log;
  /** Called with the configuration and its warnings whenever the cloud's side has read it anew. */
  configRead?(config: Config, warnings: readonly string[]): void;
  ratesChanged(): void;
  notice(message: string): void;
}

/** The ports of the cloud's side on this machine. `client` is the caller's to close. */
export async function createCloudPorts(given: CloudSurroundings): Promise<CloudServicePorts> {
  const { home, env } = given;
  const { config } = await readConfig(home, env);
  return {
    version,
    store: given.store,
    client: createCloudClient({
      clock: systemClock,
      roots: loadRootCertificates(config.proxy.extraCa),
      userAgent: `meter/${version}`,
    }),
    credentials: createCredentialStore(home),
    machine: createMachineIdentity(home),
    outbox: createOutbox(home),
    clock: systemClock,
    log: given.log,
    createDriver,
    sha256,
    random: Math.random,
    settings: async () => {
      const { config, warnings } = await readConfig(home, env);
      given.configRead?.(config, warnings);
      return config;
    },
    saveConnection: ({ enabled, baseUrl }) =>
      editConfig(home, [
        { path: ["cloud", "enabled"], value: enabled },
        ...(baseUrl === undefined ? [] : [{ path: ["cloud", "base_url"], value: baseUrl }]),
      ]),
    bundledRates: loadBundledRates,
    ratesChanged: given.ratesChanged,
    notice: given.notice,
  };
}
