import type { TunnelReason } from "./tap-frames.ts";

/** Why the proxy itself answered instead of passing something on. */
export type RefusalReason =
  | "malformed"
  | "head_too_large"
  | "head_timeout"
  | "forbidden_target"
  | "gateway_refused"
  | "proxy_authentication"
  | "upstream_unreachable"
  | "upstream_tls"
  | "too_many_connections";

/** What the proxy has done since it started. */
export interface ProxyCounters {
  accepted: number;
  intercepted: number;
  gateway: number;
  absolute: number;
  /** Intercepted connections that ended before a request, as those of clients that don't trust the authority. */
  endedUnused: number;
  /** Connections that lost log frames, so that they are unmetered from there. */
  lost: number;
  readonly tunnelled: Record<TunnelReason, number>;
  readonly refused: Record<RefusalReason, number>;
}

/** All counters at zero. */
export function createCounters(): ProxyCounters {
  return {
    accepted: 0,
    intercepted: 0,
    gateway: 0,
    absolute: 0,
    endedUnused: 0,
    lost: 0,
    tunnelled: { not_provider: 0, http2_only: 0, sni_mismatch: 0, not_tls: 0, no_certificate: 0 },
    refused: {
      malformed: 0,
      head_too_large: 0,
      head_timeout: 0,
      forbidden_target: 0,
      gateway_refused: 0,
      proxy_authentication: 0,
      upstream_unreachable: 0,
      upstream_tls: 0,
      too_many_connections: 0,
    },
  };
}

/** The sums of both, for counters that outlive a worker. */
export function addCounters(one: ProxyCounters, other: ProxyCounters): ProxyCounters {
  const sums = <T extends object>(left: T, right: T): T =>
    Object.fromEntries(
      Object.entries(left).map(([key, value]) => {
        const against = right[key as keyof T];
        return [key, typeof value === "number" ? value + Number(against) : sums(value, against as object)];
      }),
    ) as T;
  return sums(one, other);
}
