import { systemClock } from "../../adapters/clock/system-clock.ts";
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
import { readOrCreateIdKey } from "../home/read-or-create-secret.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { version } from "../program/version.ts";
import { createHttpClient } from "./http-client.ts";

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
  return {
    version,
    store: given.store,
    client: createHttpClient(lastGood.config.proxy.extraCa),
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
    idKey: () => readOrCreateIdKey(home).catch(() => null),
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
