import { summariseCoverage, unmeteredWords } from "../../daemon/api/coverage-summary.ts";
import type { CoverageTotal } from "../../daemon/store/mod.ts";
import { count } from "./count.ts";

/** How much of what was seen on providers' hosts is in the records, and what is not. */
export function coverageLines(coverage: readonly CoverageTotal[]): string[] {
  const { metered, seen, permille, missing, withoutUsage } = summariseCoverage(coverage);
  if (permille === null) return [];
  const lines = [
    `Metering coverage: ${permille / 10} % (${count(metered)} of ${count(seen)} seen on providers' hosts).`,
    ...missing.map(({ kind, count: n }) => `  not metered: ${count(n)} ${unmeteredWords(kind, n)}`),
  ];
  if (withoutUsage > 0)
    lines.push(`  of those metered: ${count(withoutUsage)} ${unmeteredWords("without_usage", withoutUsage)}`);
  return lines;
}
