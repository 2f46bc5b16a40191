import type { Config } from "../../core/config/mod.ts";
import type { Sha256 } from "../../core/hash.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { CloudClient } from "../../core/ports/cloud-client.ts";
import type { CredentialStore, MachineIdentity } from "../../core/ports/cloud-credentials.ts";
import type { CreateDriver } from "../../core/ports/driver.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Outbox } from "../../core/ports/outbox.ts";
import type { RateRow } from "../../core/pricing/mod.ts";
import type { Store } from "../store/mod.ts";

/** The part of the configuration that the cloud's side reads. */
export type CloudSettings = Pick<Config, "cloud" | "pricing" | "redactionRules">;

/** All that the daemon's side of the cloud needs. */
export interface CloudServicePorts {
  /** The daemon's version, as it is told to the cloud. */
  readonly version: string;
  /** Open for writing; stays open while the service is used, and is the caller's to close. */
  readonly store: Store;
  readonly client: CloudClient;
  readonly credentials: CredentialStore;
  readonly machine: MachineIdentity;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly log: Log;
  readonly createDriver: CreateDriver;
  readonly sha256: Sha256;
  /** In [0, 1): spreads backoffs. */
  random(): number;
  /**
   * The configuration as it stands now, read anew at each call. Rejects where it can't be read: then nothing is sent,
   * since it may hold what must not be.
   */
  settings(): Promise<CloudSettings>;
  /** Writes `[cloud] enabled` and, where it is given, `base_url` into the configuration, in one step. */
  saveConnection(change: { readonly enabled: boolean; readonly baseUrl?: string }): Promise<void>;
  /** The rates that come with this version. */
  bundledRates(): readonly RateRow[];
  /** Called after a pull replaced the stored rates. */
  ratesChanged(): void;
  /** Shows a sentence to a person: the daemon's log, or standard error. */
  notice(message: string): void;
}
