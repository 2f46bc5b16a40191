/** Default port of the proxy. Source: docs/specification.md#proxy. */
export const DEFAULT_PROXY_PORT = 8081;

/** Default port of the loopback API. Source: docs/specification.md#proxy. */
export const DEFAULT_API_PORT = 8765;

/** Default seconds between two runs of the body uploader. Source: docs/specification.md#limits, body sync interval. */
export const DEFAULT_BODY_SYNC_INTERVAL_SECONDS = 60;

/**
 * Minimum body sync interval, in seconds. Decision: each run queries the store and the cloud, so shorter intervals have no
 * benefit.
 */
export const MIN_BODY_SYNC_INTERVAL_SECONDS = 1;

/** Default maximum size of a stored body, in bytes of UTF-8 (512 KiB). Source: docs/specification.md#limits, store cap. */
export const DEFAULT_STORE_CAP_BYTES = 524_288;

/** Maximum configurable size of a stored body, in bytes (1 MiB). Source: docs/specification.md#bodies. */
export const MAX_STORE_CAP_BYTES = 1_048_576;

/**
 * Default number of days after which captured bodies are deleted. Source: docs/specification.md#limits, local body
 * retention sweep.
 */
export const DEFAULT_BODY_RETENTION_DAYS = 90;

/** Interval of `daemon.heartbeat` log lines, in milliseconds. Source: docs/specification.md#log-events. */
export const HEARTBEAT_INTERVAL_MS = 30_000;

/** Default period of `cloud bodies status`, in days. Source: docs/specification.md#command-line. */
export const DEFAULT_BODIES_STATUS_DAYS = 30;

/**
 * Maximum interval between two pulls of rates, in milliseconds: 24 days, because timers must stay below 2^31 ms. Source:
 * docs/specification.md#proxy.
 */
export const MAX_PULL_INTERVAL_MS = 2_073_600_000;

/**
 * Suffixes of placeholder hosts. A base URL with such a host is replaced by the production URL. Source:
 * docs/specification.md#configuration-keys.
 */
export const PLACEHOLDER_SUFFIXES = [".test", ".example", ".invalid", ".local"] as const;

/** The production URL of the cloud; unset in this build. Source: docs/specification.md#names-and-places. */
export const PRODUCTION_BASE_URL: string | null = null;

/** The bounds of a port. 0 means any. */
export const PORT_BOUNDS = { min: 0, max: 65_535 };
