import type { Banner } from "../core/banner/mod.ts";
import type { WatchdogStatus } from "../core/watchdog/mod.ts";
import type { ProxyCounters } from "./proxy/counters.ts";
import type { CoverageTotal, RecordWriterHealth } from "./store/mod.ts";

/** What the daemon says of itself at `/v1/status`; times are ISO 8601 in UTC. */
export interface DaemonStatus {
  version: string;
  started_at: string;
  proxy: {
    port: number;
    /** Connections to providers' hosts that are open now. */
    connections: number;
    /** How often the proxy's thread was lost and replaced. */
    restarts: number;
    /** What the watchdog saw of the port last. */
    watchdog: WatchdogStatus;
    counters: ProxyCounters;
  };
  api: { port: number };
  store: RecordWriterHealth & {
    /** Where a corrupt database was moved since this daemon started, else null. */
    set_aside: string | null;
    /** Bodies past their retention that are kept because the clock may have jumped, else null. */
    bodies_held: number | null;
  };
  last_24_hours: {
    coverage: readonly CoverageTotal[];
    /** When each client was metered last; the latest first. */
    last_captures: readonly { readonly client: string | null; readonly at: string }[];
  };
  /** What was found wrong with the configuration, or is wrong with the log or the database's past, for people. */
  warnings: readonly string[];
}

/** The answer at `/health`. The start tells a daemon from another one that has its port now. */
export interface DaemonHealth {
  readonly status: "ok" | "degraded";
  readonly version: string;
  readonly started_at: string;
}

/** What is wrong with the daemon itself: it can't store what it meters, its proxy does not answer, or nothing. */
export function troubleOf({
  store,
  proxy,
}: {
  readonly store: Pick<RecordWriterHealth, "capturing">;
  readonly proxy: { readonly watchdog: WatchdogStatus };
}): "store" | "proxy" | null {
  if (proxy.watchdog === "unhealthy" || proxy.watchdog === "exhausted") return "proxy";
  return store.capturing === "failing" ? "store" : null;
}

/** How the cloud stands, in a word and a sentence. */
export interface CloudBanner {
  readonly banner: Banner;
  readonly sentence: string;
}

/** The answer at `/v1/status`: `cloud` is null where this daemon was started without that part. */
export type StatusAnswer = DaemonStatus & { readonly cloud: CloudBanner | null };
