import type { UnlistedApi } from "../../core/metering/coverage/unlisted-hosts.ts";
import type { ProcessFacts } from "../../core/ports/process-table.ts";

/** The direction of bytes: from the client to the provider (`request`), or back (`response`). */
export type TapDirection = "request" | "response";

/** How the client uses the proxy. In each mode, the log contains plain HTTP/1.1. */
export type TapMode = "intercepted" | "gateway" | "absolute";

/** Why a connection is tunnelled unread. */
export type TunnelReason =
  | "not_provider"
  | "other_user"
  | "http2_only"
  | "sni_mismatch"
  | "not_tls"
  | "no_certificate";

/** How a connection ended. */
export type CloseReason =
  | "clean"
  | "client_aborted"
  | "upstream_reset"
  | "upstream_unreachable"
  | "upstream_tls"
  | "upstream_timeout"
  | "proxy_lost";

/**
 * An entry of the tap log, which is a copy of what passed through the proxy. The frames of a connection are in order.
 * `atMs` is in milliseconds since the epoch, with fractions, from a clock that never steps back.
 */
export type TapFrame =
  /**
   * A connection whose bytes are logged. `clientPort` is the client's port, `proxyUser` its project label, and `caller` its
   * process, if the proxy knows it already.
   */
  | {
      readonly kind: "opened";
      readonly connection: number;
      readonly atMs: number;
      readonly mode: TapMode;
      readonly host: string;
      readonly port: number;
      readonly clientPort: number;
      readonly proxyUser: string | null;
      readonly caller?: ProcessFacts;
    }
  /**
   * A client requested a provider's host, and the proxy does not look its process up. `opened` or `tunnelled` follows with the same `clientPort`. Look up the process at
   * that port now: a short call may be over before `opened` arrives.
   */
  | {
      readonly kind: "calling";
      readonly connection: 0;
      readonly clientPort: number;
      readonly proxyUser: string | null;
    }
  /** A connection that is tunnelled unread. No other frame has its number. */
  | {
      readonly kind: "tunnelled";
      readonly connection: number;
      readonly atMs: number;
      readonly host: string;
      readonly port: number;
      readonly reason: TunnelReason;
      readonly clientPort: number;
      /** Present for requests in plain HTTP, whose heads the proxy reads. */
      readonly isPlain?: true;
    }
  /** A connection to a provider's host that was closed before its ClientHello. No other frame has its number. */
  | {
      readonly kind: "closed_unused";
      readonly connection: number;
      readonly atMs: number;
      readonly host: string;
      readonly clientPort: number;
    }
  /**
   * A host that is not a provider's answered a request in plain HTTP that looks like a language model API's. No other frame has
   * its number.
   */
  | {
      readonly kind: "unlisted";
      readonly connection: number;
      readonly host: string;
      readonly port: number;
      readonly api: UnlistedApi;
    }
  /** The project that the next request on this connection named in `X-Meter-Project`. */
  | { readonly kind: "labelled"; readonly connection: number; readonly project: string }
  /**
   * A budget refused the next request on this connection: the proxy answered it, and it was not sent upstream. The budget is null if
   * no decision was possible.
   */
  | { readonly kind: "blocked"; readonly connection: number; readonly budget: string | null }
  /** The budget ended the call that was under way on this connection. `closed` follows. */
  | { readonly kind: "cut"; readonly connection: number; readonly budget: string }
  /** The next request on this connection went without a decision of the budgets, which have not counted it yet. */
  | { readonly kind: "passed"; readonly connection: number; readonly request: number; readonly pass: number }
  /** Bytes that passed. In gateway and absolute mode, these are the bytes sent upstream. */
  | {
      readonly kind: "data";
      readonly connection: number;
      readonly direction: TapDirection;
      readonly bytes: Uint8Array;
      readonly atMs: number;
    }
  /** That side sent its FIN. */
  | {
      readonly kind: "ended";
      readonly connection: number;
      readonly direction: TapDirection;
      readonly atMs: number;
    }
  /** The connection has ended. `code` is the system's or OpenSSL's error code. */
  | {
      readonly kind: "closed";
      readonly connection: number;
      readonly atMs: number;
      readonly reason: CloseReason;
      readonly code: string | null;
    }
  /** The reader was too far behind. The connection's later bytes are missing from the log. */
  | { readonly kind: "lost"; readonly connection: number };
