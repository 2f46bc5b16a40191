/**
 * The proxy: a forward proxy for `CONNECT` and absolute-form requests and a gateway for clients that take a base URL,
 * on one port, in a worker thread of its own. It passes bytes on as they come and posts a copy of them, the tap log,
 * to the thread that reads it; whatever that thread does, the bytes don't wait. TLS is opened for the listed
 * providers' hosts only, upstream servers are always verified, and the daemon's own ports can't be reached through it.
 *
 * ```ts
 * import { loadRootCertificates, openCertificateAuthority } from "../../adapters/certificates/mod.ts";
 * import { noParentProxies, startProxy } from "./mod.ts";
 *
 * const providerHosts = ["api.openai.com:443"];
 * const authority = openCertificateAuthority({ directory: "/tmp/meter-ca", hosts: ["api.openai.com"], now: Date.now() });
 * const proxy = await startProxy(
 *   {
 *     host: "127.0.0.1",
 *     port: 0,
 *     ownPorts: [],
 *     providerHosts,
 *     gatewayRoutes: [],
 *     authority,
 *     roots: loadRootCertificates(null),
 *     parentProxies: noParentProxies,
 *     proxyPassword: null,
 *   },
 *   { frames: (frames) => console.log(frames.length), event: (event) => console.log(event.kind) },
 * );
 * await proxy.stop(1_000);
 * ```
 *
 * @module
 */
export { addCounters, createCounters, type ProxyCounters, type RefusalReason } from "./counters.ts";
export { type ForbiddenTarget, forbiddenTarget, isLoopbackAddress } from "./forbidden-targets.ts";
export { createHostMatcher, normaliseHost } from "./host-patterns.ts";
export { type ListenHost, NonLoopbackHostError, resolveListenHost } from "./listen-host.ts";
export {
  noParentProxies,
  type ParentProxies,
  type ParentProxy,
  type ParentProxySetting,
  resolveParentProxies,
} from "./parent-proxy.ts";
export { defaultProxyLimits, type GatewayRoute, type ProxyConfig, type ProxyLimits } from "./proxy-config.ts";
export {
  type ProxyEvent,
  ProxyListenError,
  type ProxySink,
  type RunningProxy,
  startProxy,
} from "./start-proxy.ts";
export type { CloseReason, TapDirection, TapFrame, TapMode, TunnelReason } from "./tap-frames.ts";
export { tapClock } from "./tap-log.ts";
export type { QuietConnection } from "./worker-messages.ts";
