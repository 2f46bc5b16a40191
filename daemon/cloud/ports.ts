import type { Config } from "../../core/operations/config/config.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { CloudClient } from "../../core/ports/cloud-client.ts";
import type { CredentialStore, MachineIdentity } from "../../core/ports/cloud-credentials.ts";
import type { CreateDriver } from "../../core/ports/driver.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Outbox } from "../../core/ports/outbox.ts";
import type { RateRow } from "../../core/pricing/rates.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import type { Store } from "../store/port/store.ts";

/** The part of the configuration that the cloud service reads. */
export type CloudSettings = Pick<Config, "cloud" | "pricing" | "providers" | "redactionRules">;

/** The ports of the cloud service. */
export interface CloudServicePorts {
  /** The daemon's version, which is sent to the cloud. */
  readonly version: string;
  /** A store that is open for writing. The caller closes it after the service has stopped. */
  readonly store: Store;
  readonly client: CloudClient;
  readonly credentials: CredentialStore;
  readonly machine: MachineIdentity;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly log: Log;
  readonly createDriver: CreateDriver;
  readonly sha256: Sha256;
  /** Reads the key under which ids of sessions and agents are hashed, 64 hexadecimal digits; null: they are not sent. */
  idKey(): Promise<string | null>;
  /** Returns a number in [0, 1), which varies backoffs. */
  random(): number;
  /**
   * Reads the current configuration at each call. If the file has become unreadable, returns the last one that was read.
   * Rejects if it could never be read. Nothing is sent then.
   */
  settings(): Promise<CloudSettings>;
  /** Writes `[cloud] enabled` and, if given, `base_url` into the configuration, in one step. */
  saveConnection(change: { readonly enabled: boolean; readonly baseUrl?: string }): Promise<void>;
  /** Returns the rates that this version includes. */
  bundledRates(): readonly RateRow[];
  /** Called after a pull replaced the stored rates. */
  ratesChanged(): void;
  /** Shows a sentence to the user, in the daemon's log or on standard error. */
  notice(message: string): void;
}
