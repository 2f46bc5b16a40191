import { loadSystemRoots, readExtraRoots } from "../../adapters/certificates/root-certificates.ts";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { createCloudClient } from "../../adapters/cloud-client/create-cloud-client.ts";
import { createCredentialStore } from "../../adapters/cloud-credentials/credential-store.ts";
import { createMachineIdentity } from "../../adapters/cloud-credentials/machine-identity.ts";
import { createRestoringStore } from "../../adapters/cloud-credentials/restoring-store.ts";
import { sha256 } from "../../adapters/crypto/node-crypto.ts";
import { createDriver } from "../../adapters/driver/create-driver.ts";
import { createOutbox } from "../../adapters/outbox/create-outbox.ts";
import type { Config, ResolvedConfig } from "../../core/operations/config/config.ts";
import type { Log } from "../../core/ports/log.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import type { CloudServicePorts } from "../../daemon/cloud/ports.ts";
import type { Store } from "../../daemon/store/port/store.ts";
import { editConfig } from "../home/edit-config.ts";
import { readConfig, readConfigOrDefaults } from "../home/read-config.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { version } from "../program/version.ts";

/** The parts of the cloud ports that differ between the daemon and commands. */
export interface CloudPortOptions {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly store: Store;
  readonly log: Log;
  /** Called with the configuration and its warnings whenever the cloud service has read the file. */
  configRead?(config: Config, warnings: readonly string[]): void;
  /** Whether to start with the defaults, under which nothing is sent, if the configuration can't be read. */
  readonly toleratesInvalidConfig?: boolean;
  ratesChanged(): void;
  notice(message: string): void;
  /** Called once when lost credentials were restored; defaults to `notice`. */
  credentialsRestored?(message: string): void;
}

/** Creates the ports of the cloud service on this machine. The caller must close `client`. */
export async function createCloudPorts(given: CloudPortOptions): Promise<CloudServicePorts> {
  const { home, env } = given;
  /** The last configuration that could be read. */
  const read = given.toleratesInvalidConfig === true ? readConfigOrDefaults : readConfig;
  let lastGood: ResolvedConfig = await read(home, env);
  // Read at once, since an unreadable file must be reported; the system's only if something is sent.
  const extraRoots = readExtraRoots(lastGood.config.proxy.extraCa);
  return {
    version,
    store: given.store,
    client: createCloudClient({
      clock: systemClock,
      roots: () => [...new Set([...loadSystemRoots(), ...extraRoots])],
      userAgent: `meter/${version}`,
    }),
    credentials: createRestoringStore(createCredentialStore(home), {
      mirror: () => given.store.delivery.readState("cloud_state").api_key_mirror,
      restored: given.credentialsRestored ?? given.notice,
    }),
    machine: createMachineIdentity(home),
    outbox: createOutbox(home),
    clock: systemClock,
    log: given.log,
    createDriver,
    sha256,
    random: Math.random,
    settings: async () => {
      let problem: readonly string[] = [];
      try {
        lastGood = await readConfig(home, env);
      } catch (cause) {
        if (!(cause instanceof CommandFailure)) throw cause;
        problem = [`config.toml: ${cause.message} The previous settings stay in force until it is fixed.`];
      }
      given.configRead?.(lastGood.config, [...lastGood.warnings, ...problem]);
      return lastGood.config;
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
