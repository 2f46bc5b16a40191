/**
 * The daemon as a library: proxy, capture, store and loopback API, given their ports. `meter daemon` runs the same daemon
 * with the adapters of its platform.
 *
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { openCertificateAuthority } from "../adapters/certificates/mod.ts";
 * import { systemClock } from "../adapters/clock/mod.ts";
 * import { createZlibDecoder, createZlibMessageInflater } from "../adapters/content-decoder/mod.ts";
 * import { createRandomBytes, sha256Hex } from "../adapters/crypto/mod.ts";
 * import { createDriver } from "../adapters/driver/mod.ts";
 * import { serve } from "../adapters/http/mod.ts";
 * import { createLog } from "../adapters/log/mod.ts";
 * import { createSqliteOpener } from "../adapters/sqlite/mod.ts";
 * import { createRegistry } from "../core/metering/mod.ts";
 * import { createPriceBook, loadBundledRates } from "../core/pricing/mod.ts";
 * import { createRedact } from "../core/privacy/mod.ts";
 * import { noParentProxies, openStore, startDaemon } from "./mod.ts";
 *
 * const hosts = ["api.openai.com"];
 * const store = await openStore(createSqliteOpener(), ":memory:");
 * const prices = createPriceBook(loadBundledRates());
 * const daemon = await startDaemon(
 *   {
 *     version: "1.0.0",
 *     log: createLog({ write: (line) => console.log(line) }, "warn"),
 *     store,
 *     registry: createRegistry(),
 *     prices: () => prices,
 *     attribution: () => ({ attribute: async () => null as never }),
 *     redact: createRedact(),
 *     createDecoder: createZlibDecoder,
 *     createMessageInflater: createZlibMessageInflater,
 *     tokenCounter: () => null,
 *     sha256Hex,
 *     randomBytes: createRandomBytes(),
 *     now: Date.now,
 *     clock: systemClock,
 *     createDriver,
 *     atTurnEnd: setImmediate,
 *     later: setTimeout,
 *     equalSecrets: (one, other) => one === other,
 *     owners: null,
 *     serve,
 *   },
 *   {
 *     proxy: {
 *       host: "127.0.0.1",
 *       port: 0,
 *       ownPorts: [],
 *       providerHosts: hosts.map((host) => `${host}:443`),
 *       gatewayRoutes: [],
 *       authority: openCertificateAuthority({ directory: mkdtempSync("/tmp/meter-ca-"), hosts, now: Date.now() }),
 *       roots: [],
 *       parentProxies: noParentProxies,
 *       proxyPassword: null,
 *     },
 *     api: { host: "127.0.0.1", port: 0, allowedOrigins: new Set() },
 *     loopbackToken: "a-secret-of-your-own",
 *     maxBodyBytes: 0,
 *     bodyRetentionDays: 0,
 *     warnings: [],
 *   },
 * );
 * console.log(daemon.proxyPort > 0, await store.reports.read({ by: "project", from: null, to: null })); // true []
 * await daemon.stop(1_000);
 * ```
 *
 * @module
 */
export type { DaemonStatus } from "./api/daemon-status.ts";
export {
  type AttributorConfig,
  type AttributorPorts,
  createAttributor,
} from "./capture/create-attributor.ts";
export type { CallAttribution, ConnectionAttribution } from "./capture/ports.ts";
export type { Daemon, DaemonConfig, DaemonPorts } from "./daemon.ts";
export { noParentProxies, type ParentProxies, resolveParentProxies } from "./proxy/parent-proxy.ts";
export {
  defaultProxyLimits,
  type GatewayRoute,
  type ProxyConfig,
  type ProxyLimits,
} from "./proxy/proxy-config.ts";
export { type ProxySink, type RunningProxy, startProxy } from "./proxy/start-proxy.ts";
export { startDaemon } from "./start-daemon.ts";
export { openStore, type StoreOptions } from "./store/open-store.ts";
export type { RequestListQuery, RequestPage, SortedPosition } from "./store/port/records.ts";
export type { ReportQuery, ReportRow } from "./store/port/reports.ts";
export type { Store } from "./store/port/store.ts";
