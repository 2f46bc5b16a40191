import type { CertificatePair } from "../../core/ports/certificates.ts";
import type { GateConfig } from "./call-gate.ts";
import type { ParentProxies } from "./parent-proxy.ts";

/** A path prefix of gateway mode and its upstream. */
export interface GatewayRoute {
  /** The first path segment, with its slash: `/anthropic`. */
  readonly prefix: string;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Replaces the prefix in the upstream path. Empty, or a path such as `/v1`. */
  readonly basePath: string;
}

/** The clients that must send the proxy password. */
export type PasswordFor = "everybody" | "other_machines";

/** Limits of the proxy. Times are in milliseconds. */
export interface ProxyLimits {
  /** A client that has sent nothing within this time is closed. */
  readonly firstByteTimeoutMs: number;
  /** The request head must be complete within this time. */
  readonly headTimeoutMs: number;
  /** After CONNECT to a provider, a client that has not started TLS within this time is closed. */
  readonly helloTimeoutMs: number;
  /** Covers name resolution, TCP and the parent proxy's response. */
  readonly connectTimeoutMs: number;
  readonly handshakeTimeoutMs: number;
  /** Beyond this number, the client that has been silent longest is closed. If none is silent, the new client is refused. */
  readonly maxConnections: number;
  /** How much of the tap log may be unread before frames are dropped, in bytes. */
  readonly maxBacklogBytes: number;
  readonly flushMs: number;
  /** After the upstream has ended, a client that neither sends nor closes within this time is closed. */
  readonly lingerMs: number;
}

/** The default limits. Decision: they are generous, since they prevent leaks and floods and do not shape traffic. */
export const defaultProxyLimits: ProxyLimits = {
  firstByteTimeoutMs: 10_000,
  headTimeoutMs: 30_000,
  helloTimeoutMs: 60_000,
  connectTimeoutMs: 15_000,
  handshakeTimeoutMs: 15_000,
  maxConnections: 8_192,
  maxBacklogBytes: 67_108_864,
  flushMs: 10,
  lingerMs: 60_000,
};

/**
 * How calls of other users of this machine are handled: `tunnel` relays them unread and refuses them on the gateway,
 * `meter` meters them as this user's.
 */
export type OtherUsers = "tunnel" | "meter";

/** The configuration of the proxy. It is plain data, because it is posted to a worker thread. */
export interface ProxyConfig {
  /** An address from `resolveListenHost()`. */
  readonly host: string;
  /** 0 chooses a free port, which is kept when the worker restarts. */
  readonly port: number;
  /**
   * A listening socket from a service manager, which holds the port while the daemon restarts (sd_listen_fds(3)). The socket
   * is lost with the worker, so the worker can't be restarted in this process.
   */
  readonly listenFd?: number;
  /**
   * Clients are accepted but not served until `serve()` is called, at most this long, in milliseconds: what the relay passes on before
   * records can be stored is lost if the daemon is killed. Default: they are served at once.
   */
  readonly holdMs?: number | undefined;
  /** The daemon's other ports. The proxy connects neither to them nor to its own port. */
  readonly ownPorts: readonly number[];
  /** Hosts whose connections are intercepted and logged, as patterns of `createHostMatcher()`. */
  readonly providerHosts: readonly string[];
  /**
   * Hosts among them that speak plain HTTP. What a client sends to one through CONNECT is logged as it is, whether it is HTTP
   * or not. Default: none.
   */
  readonly plainHosts?: readonly string[];
  readonly gatewayRoutes: readonly GatewayRoute[];
  /** Hosts that it may not sign for are tunnelled. Null: no connection is intercepted. */
  readonly authority: CertificatePair | null;
  /** The certificates that upstream servers are verified against, in PEM. */
  readonly roots: readonly string[];
  /** Trusts the runtime's and the system's certificates too. Default: no. */
  readonly systemRoots?: boolean;
  readonly parentProxies: ParentProxies;
  /** Private targets that clients on other machines may reach, as patterns of `createHostMatcher()`. */
  readonly sharedTargets?: readonly string[];
  /** The password that `Proxy-Authorization: Basic` must contain. Its user name is the project. Null: no password. */
  readonly proxyPassword: string | null;
  /** The clients that must send the password. Default: `everybody`. */
  readonly passwordFor?: PasswordFor;
  /** The user whose calls are metered: the user of this process. Undefined if the platform has no user IDs. */
  readonly ownUid?: number | undefined;
  /** Default: `tunnel`. A connection whose user can't be found counts as this user's. */
  readonly otherUsers?: OtherUsers;
  /** Keeps connections to providers in recent use ready. Default: no. */
  readonly warmConnections?: boolean;
  /** Holds each call until the decision of the budgets. Default: no. */
  readonly gate?: GateConfig | null;
  readonly limits?: Partial<ProxyLimits>;
}

/** What differs in a proxy that replaces one which keeps crashing or hanging: it reads no connection of CONNECT. */
export const withoutInterception = { authority: null, warmConnections: false } satisfies Partial<ProxyConfig>;
