/** Where the proxy listens. Source: decisions, "Daemon". */
export const DEFAULT_PROXY_PORT = 8081;

/** Where the loopback API listens. Source: decisions, "Daemon". */
export const DEFAULT_API_PORT = 8765;

/** Seconds between two ticks of the body uploader. Source: contract, "Limits", body sync interval. */
export const DEFAULT_BODY_SYNC_INTERVAL_SECONDS = 60;

/** The least of them. Decision: a tick asks the store and the cloud; more than one a second serves nobody. */
export const MIN_BODY_SYNC_INTERVAL_SECONDS = 1;

/** Bytes of one leg that are stored, in encoded UTF-8 (512 KiB). Source: contract, "Limits", store cap. */
export const DEFAULT_STORE_CAP_BYTES = 524_288;

/** The most that the store cap may be raised to, 1 MiB. Source: decisions, "Bodies". */
export const MAX_STORE_CAP_BYTES = 1_048_576;

/** Days that captured bodies are kept. Source: contract, "Limits", local body retention sweep. */
export const DEFAULT_BODY_RETENTION_DAYS = 90;

/** Milliseconds between two `daemon.heartbeat` lines of the log. Source: contract, "Events". */
export const HEARTBEAT_INTERVAL_MS = 30_000;

/** Days that `cloud bodies status` counts unless told otherwise. Source: contract, "Command-line". */
export const DEFAULT_BODIES_STATUS_DAYS = 30;

/** Longest time between two pulls of rates, 24 days in milliseconds: timers stay below 2^31 ms. Source: decisions, "Daemon". */
export const MAX_PULL_INTERVAL_MS = 2_073_600_000;

/** Hosts that stand for nothing, so that a base address on them means the production one. Source: contract, "Local daemon configuration keys". */
export const PLACEHOLDER_SUFFIXES = [".test", ".example", ".invalid", ".local"] as const;

/** The production address of the cloud; unset in this build. Source: decisions, "Names, versions, places". */
export const PRODUCTION_BASE_URL: string | null = null;
