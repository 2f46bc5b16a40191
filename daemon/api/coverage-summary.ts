import type { CoverageKind, CoverageTotal } from "../store/mod.ts";

/** What was not metered, in words; each follows a number. `without_usage` is a part of what was. */
export const unmeteredWords: Readonly<Partial<Record<CoverageKind, string>>> = {
  tunnelled_http2_only: "connections whose client speaks only HTTP/2",
  tunnelled_sni_mismatch: "connections to another name than they asked for",
  tunnelled_not_tls: "connections that are not TLS",
  tunnelled_no_certificate: "connections that no certificate could be made for",
  unknown_path: "requests to paths that are not known",
  websocket: "WebSocket sessions",
  unreadable: "connections with unreadable HTTP",
  lost: "connections that the meter fell behind on",
  dropped: "records that could not be stored",
  capture_failed: "calls that the meter failed on",
  unfinished: "calls whose end the meter has not seen: under way, or cut off when it was killed",
  without_usage: "answers without usage",
};

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
  const missing = (Object.keys(unmeteredWords) as CoverageKind[])
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
