import type { Clock } from "../../core/ports/clock.ts";
import type { CloudClient } from "../../core/ports/cloud-client.ts";
import type { Log } from "../../core/ports/log.ts";
import type { IdHash } from "../../core/privacy/policy/id-hash.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import type { Store } from "../store/port/store.ts";

/** The ports of the service. */
export interface WebhookPorts {
  readonly store: Pick<Store, "records" | "notes" | "trouble">;
  readonly client: CloudClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly sha256: Sha256;
  /** A number from 0 to 1. */
  random(): number;
  /** Creates the hash of ids of sessions and agents, for one message: it remembers each id. Null if its key can't be read. */
  createIdHash(): IdHash | null;
  /** By project slug: false means that nothing of the project leaves this machine. */
  perProject(): Readonly<Record<string, boolean>>;
}
