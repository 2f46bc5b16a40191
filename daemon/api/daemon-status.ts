import type { Banner } from "../../core/delivery/banner/status-banner.ts";
import type { CoverageTotal } from "../../core/metering/coverage/coverage-kinds.ts";
import type { UnlistedHost } from "../../core/metering/coverage/unlisted-hosts.ts";
import type { ExtraHost } from "../../core/metering/usage/registry.ts";
import type { DistrustFacts } from "../../core/operations/doctor/trust-advice.ts";
import type { WatchdogStatus } from "../../core/operations/watchdog/watchdog-machine.ts";
import type { BillingMode } from "../../core/values/record.ts";
import type { ProxyCounters } from "../proxy/counters.ts";
import type { RecordWriterHealth } from "../store/record-writer.ts";
import type { TelemetryStatus } from "./telemetry-status.ts";
import type { UnpricedModelStatus } from "./unpriced-models.ts";

/** The daemon's status at `/v1/status`. Times are ISO 8601 in UTC. */
export interface DaemonStatus {
  version: string;
  started_at: string;
  proxy: {
    port: number;
    /** Open connections to providers. */
    connections: number;
    /** How often the proxy thread was replaced. */
    restarts: number;
    /** The watchdog's last result. */
    watchdog: WatchdogStatus;
    counters: ProxyCounters;
    /**
     * How many of the connections that ended before a request are of programs that trust the certificate. Absent from older daemons.
     */
    unused_by_trusting?: number;
    /**
     * Programs that do not seem to trust the meter's certificate, latest first, since the daemon started. Absent from
     * older daemons.
     */
    distrusting_programs?: readonly (DistrustFacts & { readonly last_seen: string })[];
  };
  api: { port: number };
  /** The receiver of OpenTelemetry; null if it is off. Older daemons do not state it. */
  telemetry?: TelemetryStatus | null;
  store: RecordWriterHealth & {
    /** Where a corrupt database was moved since this daemon started, else null. */
    set_aside: string | null;
    /** Bodies past their retention that are kept because the clock may have jumped, else null. */
    bodies_held: number | null;
  };
  last_24_hours: {
    coverage: readonly CoverageTotal[];
    /** Hosts that this daemon does not meter and that look like language model APIs, with the lines of `config.toml` that meter them. */
    unlisted_hosts: readonly (UnlistedHost & { readonly lines: readonly string[] })[];
    /** When each client was metered last; the latest first. */
    last_captures: readonly { readonly client: string | null; readonly at: string }[];
  };
  /** The `[[providers]]` of `config.toml` that the daemon loaded when it started. */
  configured_providers: readonly ConfiguredProvider[];
  /** Warnings about the configuration, the log and the database, as text for people. */
  warnings: readonly string[];
}

/** The status without the counts of the last 24 hours. Pages and metrics read it each time, and it reads no requests. */
export type DaemonState = Omit<DaemonStatus, "last_24_hours">;

/** A host of `[[providers]]`, in the form of `config.toml`. */
export interface ConfiguredProvider {
  readonly host: string;
  /** 0 means any port. */
  readonly port: number;
  readonly provider: string;
  readonly api: readonly string[];
  readonly base_path: string | null;
  readonly prices: string | null;
  readonly billing: BillingMode | null;
}

/** Converts a host of the registry to the form of `config.toml`. */
export const configuredProvider = (host: ExtraHost): ConfiguredProvider => ({
  host: host.host,
  port: host.port ?? 0,
  provider: host.provider,
  api: [host.api].flat(),
  base_path: host.basePath ?? null,
  prices: host.prices ?? null,
  billing: host.billing ?? null,
});

/** The response at `/health`. `started_at` tells two daemons on the same port apart. */
export interface DaemonHealth {
  readonly status: "ok" | "degraded";
  readonly version: string;
  readonly started_at: string;
}

/**
 * Returns what is wrong with the daemon: `proxy` if the proxy does not answer, `unmetered` if it kept hanging and intercepts nothing,
 * `store` if records can't be stored, or null.
 */
export function findDaemonFault({
  store,
  proxy,
}: {
  readonly store: Pick<RecordWriterHealth, "capturing">;
  readonly proxy: { readonly watchdog: WatchdogStatus };
}): "store" | "proxy" | "unmetered" | null {
  if (proxy.watchdog === "unhealthy") return "proxy";
  if (proxy.watchdog === "exhausted") return "unmetered";
  return store.capturing === "failing" ? "store" : null;
}

/** The state of delivery to the cloud: a banner and a sentence that explains it. */
export interface CloudBanner {
  readonly banner: Banner;
  readonly sentence: string;
}

/** The response at `/v1/status`. */
export type StatusResponse = DaemonStatus & {
  /** Null if the daemon was started without a cloud service. */
  readonly cloud: CloudBanner | null;
  readonly last_24_hours: {
    /** The models with the most unpriced requests, and how to give each a price. Absent from older daemons. */
    readonly unpriced_models?: readonly UnpricedModelStatus[];
  };
};
