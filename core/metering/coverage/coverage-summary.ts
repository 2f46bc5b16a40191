import { formatCount } from "../../values/text/format-count.ts";
import type { CoverageKind, CoverageTotal } from "./coverage-kinds.ts";
import { listUnlistedHosts, type UnlistedHost } from "./unlisted-hosts.ts";

/** Descriptions of what was not metered, or only in part: singular and plural. Each follows a number. */
const descriptions: Readonly<Partial<Record<CoverageKind, readonly [one: string, many: string]>>> = {
  tunnelled_http2_only: [
    "connection whose client speaks only HTTP/2",
    "connections whose client speaks only HTTP/2",
  ],
  tunnelled_sni_mismatch: [
    "connection whose TLS server name is missing or differs from its target",
    "connections whose TLS server name is missing or differs from their target",
  ],
  tunnelled_not_tls: ["connection that is not TLS", "connections that are not TLS"],
  tunnelled_no_certificate: [
    "connection to a host that the trusted certificate does not cover",
    "connections to hosts that the trusted certificate does not cover",
  ],
  unknown_path: ["request to an unknown path", "requests to unknown paths"],
  websocket: ["WebSocket session", "WebSocket sessions"],
  unreadable: ["connection with unreadable HTTP", "connections with unreadable HTTP"],
  lost: [
    "connection that the meter could not read in time",
    "connections that the meter could not read in time",
  ],
  dropped: ["record that could not be stored", "records that could not be stored"],
  capture_failed: ["call that the meter failed to record", "calls that the meter failed to record"],
  unfinished: [
    "call without a record: in progress, or cut off when the daemon was killed",
    "calls without a record: in progress, or cut off when the daemon was killed",
  ],
  interrupted: [
    "end of the daemon without a stop: calls answered right before may have no record",
    "ends of the daemon without a stop: calls answered right before may have no record",
  ],
  without_usage: ["response without usage", "responses without usage"],
  prompt_not_kept: [
    "without a prompt hash: too many large requests at once",
    "without a prompt hash: too many large requests at once",
  ],
  usage_not_kept: [
    "without its usage: too many large responses at once",
    "without their usage: too many large responses at once",
  ],
  caller_not_found: [
    "whose program was not found, so that the project may be a fallback",
    "whose program was not found, so that the project may be a fallback",
  ],
  body_not_kept: [
    "captured body left out: too many large bodies at once",
    "captured bodies left out: too many large bodies at once",
  ],
};

/** The kinds that count a subset of `metered`, or no calls. */
const notMissing: readonly CoverageKind[] = [
  "interrupted",
  "without_usage",
  "usage_not_kept",
  "prompt_not_kept",
  "body_not_kept",
  "caller_not_found",
];

/** The kinds that count calls that were not metered. */
export const MISSING_KINDS: readonly CoverageKind[] = (Object.keys(descriptions) as CoverageKind[]).filter(
  (kind) => !notMissing.includes(kind),
);

/** Describes a coverage kind. The text follows the count. */
export function describeCoverageCount(kind: CoverageKind, count: number): string {
  return descriptions[kind]?.[count === 1 ? 0 : 1] ?? kind;
}

/** Describes the calls that budgets refused, as a sentence. */
export const describeBlocked = (count: number): string =>
  count === 1
    ? "1 call was refused by a budget and not sent."
    : `${formatCount(count)} calls were refused by budgets and not sent.`;

/** How many connections and calls to providers were metered. */
export interface CoverageSummary {
  metered: number;
  /** Metered or not. */
  seen: number;
  /** Tenths of a percent, rounded down (1000 is all); null if nothing was seen. */
  permille: number | null;
  /** What was not metered, by kind. Only kinds that occurred. */
  missing: readonly { kind: CoverageKind; count: number }[];
  /** Calls that budgets refused. They were not sent, so they are no part of `seen`. */
  blocked: number;
  /** How often the daemon ended without being stopped. Calls that were answered right before may be in no count. */
  interrupted: number;
  /** Metered, but without token counts in the response. */
  withoutUsage: number;
  /** Parts of metered calls that did not fit in memory or were not found, by kind. Only kinds that occurred. */
  notStored: readonly { kind: CoverageKind; count: number }[];
  /** Hosts that are not metered and look like language model APIs, the most used first. They are no part of `seen`. */
  unlisted: readonly UnlistedHost[];
}

/** Adds up the counters of all hosts. */
export function summariseCoverage(coverage: readonly CoverageTotal[]): CoverageSummary {
  const sum = (kind: CoverageKind) =>
    coverage.filter((each) => each.kind === kind).reduce((total, each) => total + each.count, 0);
  const metered = sum("metered");
  const missing = MISSING_KINDS.map((kind) => ({ kind, count: sum(kind) })).filter(({ count }) => count > 0);
  const seen = missing.reduce((total, { count }) => total + count, metered);
  return {
    metered,
    seen,
    permille: seen === 0 ? null : Math.floor((metered / seen) * 1000),
    missing,
    blocked: sum("blocked"),
    interrupted: sum("interrupted"),
    withoutUsage: sum("without_usage"),
    notStored: (["usage_not_kept", "prompt_not_kept", "body_not_kept", "caller_not_found"] as const)
      .map((kind) => ({ kind, count: sum(kind) }))
      .filter(({ count }) => count > 0),
    unlisted: listUnlistedHosts(coverage),
  };
}
