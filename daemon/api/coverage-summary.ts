import type { CoverageKind, CoverageTotal } from "../store/mod.ts";

/** What was not metered, in words; each follows a number: one, and more. `without_usage` is a part of what was. */
const words: Readonly<Partial<Record<CoverageKind, readonly [one: string, more: string]>>> = {
  tunnelled_http2_only: [
    "connection whose client speaks only HTTP/2",
    "connections whose client speaks only HTTP/2",
  ],
  tunnelled_sni_mismatch: [
    "connection to another name than it asked for",
    "connections to another name than they asked for",
  ],
  tunnelled_not_tls: ["connection that is not TLS", "connections that are not TLS"],
  tunnelled_no_certificate: [
    "connection that no certificate could be made for",
    "connections that no certificate could be made for",
  ],
  unknown_path: ["request to a path that is not known", "requests to paths that are not known"],
  websocket: ["WebSocket session", "WebSocket sessions"],
  unreadable: ["connection with unreadable HTTP", "connections with unreadable HTTP"],
  lost: ["connection that the meter fell behind on", "connections that the meter fell behind on"],
  dropped: ["record that could not be stored", "records that could not be stored"],
  capture_failed: ["call that the meter failed on", "calls that the meter failed on"],
  unfinished: [
    "call whose end the meter has not seen: under way, or cut off when it was killed",
    "calls whose end the meter has not seen: under way, or cut off when it was killed",
  ],
  without_usage: ["answer without usage", "answers without usage"],
};

/** The words that follow a number of what was not metered. */
export function unmeteredWords(kind: CoverageKind, count: number): string {
  return words[kind]?.[count === 1 ? 0 : 1] ?? kind;
}

/** How much of what was seen on providers' hosts is in the records. */
export interface CoverageSummary {
  metered: number;
  /** Metered or not. */
  seen: number;
  /** Tenths of a percent, rounded down, so that 1000 means all; null where nothing was seen. */
  permille: number | null;
  /** What is missing, by kind; only kinds that occurred. */
  missing: readonly { kind: CoverageKind; count: number }[];
  /** Metered, but the answer stated no tokens. */
  withoutUsage: number;
}

/** Adds the counters of all hosts up. */
export function summariseCoverage(coverage: readonly CoverageTotal[]): CoverageSummary {
  const sum = (kind: CoverageKind) =>
    coverage.filter((each) => each.kind === kind).reduce((total, each) => total + each.count, 0);
  const metered = sum("metered");
  const missing = (Object.keys(words) as CoverageKind[])
    .filter((kind) => kind !== "without_usage")
    .map((kind) => ({ kind, count: sum(kind) }))
    .filter(({ count }) => count > 0);
  const seen = missing.reduce((total, { count }) => total + count, metered);
  return {
    metered,
    seen,
    permille: seen === 0 ? null : Math.floor((metered / seen) * 1000),
    missing,
    withoutUsage: sum("without_usage"),
  };
}
