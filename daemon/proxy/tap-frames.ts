/** Which way bytes went: from the client to the provider, or back. */
export type TapDirection = "request" | "response";

/** How the proxy reached into a connection, so that its bytes are plain HTTP/1.1 in the log. */
export type TapMode = "intercepted" | "gateway" | "absolute";

/** Why a connection is passed on unread. */
export type TunnelReason = "not_provider" | "http2_only" | "sni_mismatch" | "not_tls" | "no_certificate";

/** How a connection came to its end. */
export type CloseReason =
  | "clean"
  | "client_aborted"
  | "upstream_reset"
  | "upstream_unreachable"
  | "upstream_tls"
  | "upstream_timeout"
  | "proxy_lost";

/**
 * One line of the tap log: a copy of what passed through the proxy, in the order in which it passed on each
 * connection. `atMs` is milliseconds since the epoch with fractions, from a clock that never steps back.
 */
export type TapFrame =
  /** A connection whose bytes are logged. `clientPort` is the client's end, `proxyUser` its project label. */
  | {
      readonly kind: "opened";
      readonly connection: number;
      readonly atMs: number;
      readonly mode: TapMode;
      readonly host: string;
      readonly port: number;
      readonly clientPort: number;
      readonly proxyUser: string | null;
    }
  /**
   * A client asked for a provider's host; `opened` or `tunnelled` follows with the same `clientPort`. Who looks up
   * the process at that port had better begin now: a short call is over before a busy machine has looked.
   */
  | {
      readonly kind: "calling";
      readonly connection: 0;
      readonly clientPort: number;
      readonly proxyUser: string | null;
    }
  /** A connection that is passed on unread; nothing more is said about it. */
  | {
      readonly kind: "tunnelled";
      readonly connection: number;
      readonly atMs: number;
      readonly host: string;
      readonly port: number;
      readonly reason: TunnelReason;
      readonly clientPort: number;
    }
  /** The project that the next request on this connection named in `X-Meter-Project`. */
  | { readonly kind: "labelled"; readonly connection: number; readonly project: string }
  /** Bytes that passed, in gateway and absolute mode as they went upstream. */
  | {
      readonly kind: "data";
      readonly connection: number;
      readonly direction: TapDirection;
      readonly bytes: Uint8Array;
      readonly atMs: number;
    }
  /** That side said that it sends no more. */
  | {
      readonly kind: "ended";
      readonly connection: number;
      readonly direction: TapDirection;
      readonly atMs: number;
    }
  /** The connection is over; `code` is the system's or OpenSSL's word for it. */
  | {
      readonly kind: "closed";
      readonly connection: number;
      readonly atMs: number;
      readonly reason: CloseReason;
      readonly code: string | null;
    }
  /** The reader was too far behind: from here on this connection's bytes are missing from the log. */
  | { readonly kind: "lost"; readonly connection: number };
