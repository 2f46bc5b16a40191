/**
 * The daemon's configuration: a parsed TOML file in, every setting with its default and within its bounds out, and a
 * list of plain sentences about what was wrong. Nothing here throws, since a typing error must not stop the meter.
 *
 * ```ts
 * import { resolveConfig } from "./mod.ts";
 *
 * const { config, warnings } = resolveConfig({ proxy: { prot: 9000 } }, { today: "2026-11-21" });
 * console.log(config.proxy.port, warnings); // 8081 [ "proxy.prot: is not a setting; did you mean port?" ]
 * ```
 */
export { type BaseUrl, resolveBaseUrl, type StatedBaseUrls } from "./base-url.ts";
export type { Config, ResolvedConfig } from "./config.ts";
export { parseDuration } from "./duration.ts";
export {
  DEFAULT_API_PORT,
  DEFAULT_BODIES_STATUS_DAYS,
  DEFAULT_BODY_RETENTION_DAYS,
  DEFAULT_BODY_SYNC_INTERVAL_SECONDS,
  DEFAULT_PROXY_PORT,
  DEFAULT_STORE_CAP_BYTES,
  HEARTBEAT_INTERVAL_MS,
  MAX_PULL_INTERVAL_MS,
  MAX_STORE_CAP_BYTES,
  MIN_BODY_SYNC_INTERVAL_SECONDS,
  PLACEHOLDER_SUFFIXES,
  PRODUCTION_BASE_URL,
} from "./numbers.ts";
export { resolveConfig } from "./resolve-config.ts";
