import type { CertificatePair } from "../../core/ports/certificates.ts";
import type { ParentProxies } from "./parent-proxy.ts";

/** A path prefix of gateway mode and the upstream that it stands for. */
export interface GatewayRoute {
  /** The first path segment, with its slash: `/anthropic`. */
  readonly prefix: string;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** What stands before the rest of the path upstream; empty or `/something`. */
  readonly basePath: string;
}

/** Bounds of the proxy. Times are milliseconds. */
export interface ProxyLimits {
  /** A client's request head has to be there by then. */
  readonly headTimeoutMs: number;
  /** A client that asked for a provider's host and says nothing is tunnelled unread after this time. */
  readonly helloTimeoutMs: number;
  /** Name resolution, TCP and the parent proxy's answer together. */
  readonly connectTimeoutMs: number;
  readonly handshakeTimeoutMs: number;
  readonly maxConnections: number;
  /** How much log may be on its way before frames are dropped, in bytes. */
  readonly maxBacklogBytes: number;
  readonly flushMs: number;
  /** After the upstream has said its last, a client that neither sends nor hangs up is let go. */
  readonly lingerMs: number;
}

/** Decision: generous bounds; they are there against leaks and floods, not to shape traffic. */
export const defaultProxyLimits: ProxyLimits = {
  headTimeoutMs: 30_000,
  helloTimeoutMs: 5_000,
  connectTimeoutMs: 15_000,
  handshakeTimeoutMs: 15_000,
  maxConnections: 8_192,
  maxBacklogBytes: 67_108_864,
  flushMs: 10,
  lingerMs: 60_000,
};

/** All that the proxy needs to know, as plain data: it crosses into a worker thread. */
export interface ProxyConfig {
  /** An address from `resolveListenHost()`. */
  readonly host: string;
  /** 0 takes a free port, and keeps it over restarts of the worker. */
  readonly port: number;
  /**
   * A socket that listens already, from a service manager that holds the port while the daemon restarts (sd_listen_fds(3)).
   * It goes with the worker, so a worker that is lost can't be replaced in this process.
   */
  readonly listenFd?: number;
  /** The daemon's other ports; neither they nor the proxy's own are reachable through the proxy. */
  readonly ownPorts: readonly number[];
  /** Patterns of `createHostMatcher()`: whose connections are opened and logged. */
  readonly providerHosts: readonly string[];
  readonly gatewayRoutes: readonly GatewayRoute[];
  readonly authority: CertificatePair;
  /** The certificates that upstream servers are verified against, in PEM. */
  readonly roots: readonly string[];
  readonly parentProxies: ParentProxies;
  /** Demands `Proxy-Authorization: Basic` with this password and any user name, which is the project. */
  readonly proxyPassword: string | null;
  readonly limits?: Partial<ProxyLimits>;
}
