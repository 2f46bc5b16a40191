import type { Millis } from "../../core/values/time.ts";
import type { CloseReason } from "../proxy/tap-frames.ts";
import type { CallingProgram } from "./ports.ts";

/** A program that ended intercepted connections to a provider before its first request. */
export interface DistrustingProgram extends CallingProgram {
  /** The provider's host of the last such connection. */
  readonly host: string;
  /** How many of them ended with a TLS alert that rejects the certificate. */
  readonly rejected: number;
  /**
   * How many ended without an alert. Node closes a distrusted connection like this, but a program may also have
   * cancelled its call.
   */
  readonly unused: number;
  /** Whether it had used connections to other hosts before: it trusts an earlier certificate, which does not cover this host. */
  readonly trustsEarlier: boolean;
  readonly lastSeenAt: Millis;
}

/** Finds the programs that do not trust the meter's certificate, from the connections that they ended. */
export interface DistrustingPrograms {
  /** Takes the end of an intercepted connection. */
  ended(program: CallingProgram, end: InterceptedEnd): void;
  /**
   * Returns the programs, latest first. A program that has sent a request since is not listed; one that trusts an earlier certificate
   * is, until it sends one to the same host.
   */
  list(): DistrustingProgram[];
  /**
   * How many connections ended unused whose programs trust the certificate: they sent requests to that host before, or to any since.
   * Node opens a connection that it may not need after a stream was aborted.
   */
  unusedByTrusting(): number;
}

interface InterceptedEnd {
  readonly outcome: "used" | "unused" | "rejected";
  readonly host: string;
  readonly at: Millis;
}

/**
 * How many connections a program that uses other hosts must end without an alert before it is listed. Node ends
 * connections like this both if it distrusts the certificate and if it no longer needs them.
 */
const MIN_UNUSED = 3;

/** Maximum number of hosts that are remembered per program. */
const MAX_HOSTS = 32;

/** Maximum number of programs that are remembered, of each kind. */
const MAX_PROGRAMS = 128;

/**
 * Alerts of a client that does not accept the certificate: bad_certificate, certificate_unknown and unknown_ca (RFC 8446,
 * section 6.2), as OpenSSL names them.
 */
const REJECTION = /ALERT_(?:UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN)$/;

/** Returns how an intercepted connection ended; null if its client did not end it. */
export function readInterceptedEnd(
  wasUsed: boolean,
  reason: CloseReason,
  code: string | null,
): InterceptedEnd["outcome"] | null {
  if (wasUsed) return "used";
  if (REJECTION.test(code ?? "")) return "rejected";
  return reason === "clean" || reason === "client_aborted" ? "unused" : null;
}

/** Creates an empty list. It is kept in memory only. */
export function createDistrustingPrograms(): DistrustingPrograms {
  const programs = new Map<string, DistrustingProgram>();
  const trusting = new Map<string, Set<string>>();
  let unusedByTrusting = 0;
  const bound = (names: {
    keys(): Iterable<string>;
    readonly size: number;
    delete(name: string): boolean;
  }) => {
    const [oldest] = names.keys();
    if (names.size > MAX_PROGRAMS && oldest !== undefined) names.delete(oldest);
  };
  return {
    ended(program, { outcome, host, at }) {
      const { name } = program;
      const known = programs.get(name);
      const usedHosts = trusting.get(name);
      if (outcome === "used") {
        if (known !== undefined && (!known.trustsEarlier || known.host === host)) {
          unusedByTrusting += known.unused;
          programs.delete(name);
        }
        if (usedHosts === undefined) trusting.set(name, new Set([host]));
        else if (usedHosts.size < MAX_HOSTS) usedHosts.add(host);
        return bound(trusting);
      }
      if (outcome === "unused" && usedHosts?.has(host)) {
        unusedByTrusting += 1;
        return;
      }
      const trustsEarlier = usedHosts !== undefined && !usedHosts.has(host);
      if (!trustsEarlier) trusting.delete(name);
      programs.delete(name);
      programs.set(name, {
        ...program,
        host,
        trustsEarlier,
        rejected: (known?.rejected ?? 0) + (outcome === "rejected" ? 1 : 0),
        unused: (known?.unused ?? 0) + (outcome === "unused" ? 1 : 0),
        lastSeenAt: at,
      });
      bound(programs);
    },
    list: () =>
      [...programs.values()]
        .filter(
          ({ trustsEarlier, rejected, unused }) => !trustsEarlier || rejected > 0 || unused >= MIN_UNUSED,
        )
        .reverse(),
    unusedByTrusting: () => unusedByTrusting,
  };
}
