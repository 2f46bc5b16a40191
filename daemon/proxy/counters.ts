import type { TunnelReason } from "./tap-frames.ts";

/** Why the proxy answered a request itself instead of relaying it. */
export type RefusalReason =
  | "malformed"
  | "head_too_large"
  | "head_timeout"
  | "forbidden_target"
  | "gateway_refused"
  | "proxy_authentication"
  | "login_throttled"
  | "upstream_unreachable"
  | "upstream_tls"
  | "too_many_connections";

/** Counts of the connections to providers that are kept ready. */
export interface WarmCounters {
  /** How many are ready now. */
  ready: number;
  /** New connections of clients that got one. */
  used: number;
  /** New connections of clients to a host in recent use that got none, because none was ready. */
  missed: number;
  /** Closed before a client used them. */
  unused: number;
  /** Dials that failed. */
  failed: number;
}

/** Counts of the calls that were held until a decision of the budgets. */
export interface GateCounters {
  asked: number;
  refused: number;
  /** Calls that were sent because there was no decision in time. */
  undecided: number;
  /** Those among them that were sent before the budgets were read. */
  early: number;
}

/** Counts of what the proxy has done since it started. */
export interface ProxyCounters {
  accepted: number;
  intercepted: number;
  gateway: number;
  absolute: number;
  /** Connections to a provider that were closed before their ClientHello. Clients close a dial that they no longer need. */
  closedUnused: number;
  /** Intercepted connections that ended before a request, for example because the client does not trust the authority. */
  endedUnused: number;
  /** Connections that lost log frames. Their later bytes are not metered. */
  lost: number;
  readonly tunnelled: Record<TunnelReason, number>;
  readonly refused: Record<RefusalReason, number>;
  readonly warm: WarmCounters;
  readonly gate: GateCounters;
}

/** Creates counters that are all zero. */
export function createCounters(): ProxyCounters {
  return {
    accepted: 0,
    intercepted: 0,
    gateway: 0,
    absolute: 0,
    closedUnused: 0,
    endedUnused: 0,
    lost: 0,
    tunnelled: {
      not_provider: 0,
      other_user: 0,
      http2_only: 0,
      sni_mismatch: 0,
      not_tls: 0,
      no_certificate: 0,
    },
    refused: {
      malformed: 0,
      head_too_large: 0,
      head_timeout: 0,
      forbidden_target: 0,
      gateway_refused: 0,
      proxy_authentication: 0,
      login_throttled: 0,
      upstream_unreachable: 0,
      upstream_tls: 0,
      too_many_connections: 0,
    },
    warm: { ready: 0, used: 0, missed: 0, unused: 0, failed: 0 },
    gate: { asked: 0, refused: 0, undecided: 0, early: 0 },
  };
}

/** Adds up the counters of two workers. */
export function addCounters(one: ProxyCounters, other: ProxyCounters): ProxyCounters {
  const sums = <T extends object>(left: T, right: T): T =>
    Object.fromEntries(
      Object.entries(left).map(([key, value]) => {
        const addend = right[key as keyof T];
        return [key, typeof value === "number" ? value + Number(addend) : sums(value, addend as object)];
      }),
    ) as T;
  return sums(one, other);
}
