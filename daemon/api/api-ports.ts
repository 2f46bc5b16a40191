import type { Hono } from "hono";
import type { Clock } from "../../core/ports/clock.ts";
import type { ConnectionOwners } from "../../core/ports/connection-owner.ts";
import type { PriceBook } from "../../core/pricing/mod.ts";
import type { CloudBanner, DaemonHealth, DaemonStatus } from "../daemon-status.ts";
import type { Store, Turn } from "../store/mod.ts";
import type { MeteredCounters } from "./metrics.ts";
import type { RecordFeed } from "./record-feed.ts";

/** What the loopback API needs of the daemon. */
export interface ApiPorts {
  version: string;
  /** The `Host` values that the API answers to, in lower case, port included. */
  allowedHosts: ReadonlySet<string>;
  /** Origins of dashboards, as browsers write them. */
  allowedOrigins: ReadonlySet<string>;
  /** The secret in `<meter_home>/loopback-token`. */
  token: string;
  /** Compares two secrets in constant time. */
  equalSecrets(one: string, other: string): boolean;
  /** Null where the platform has no way to tell whose a connection is. */
  owners: ConnectionOwners | null;
  /** The port that we listen on. */
  port(): number;
  health(): DaemonHealth;
  status(): DaemonStatus;
  store: Pick<
    Store,
    | "readStatistics"
    | "listRequests"
    | "readRequest"
    | "readRequests"
    | "readCoverage"
    | "listProjectSettings"
  >;
  feed: RecordFeed;
  counters: MeteredCounters;
  prices(): PriceBook;
  /** What is served below `/v1/cloud`, and how it stands; null where nothing is. */
  cloud: { routes: Hono; banner(): Promise<CloudBanner> } | null;
  clock: Clock;
  turn: Turn;
  /** For the log. */
  onError(error: unknown): void;
}
