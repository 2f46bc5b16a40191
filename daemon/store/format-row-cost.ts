import { type CostSplit, SPLIT_PARTS } from "../../core/pricing/cost-split.ts";
import type { BillingMode } from "../../core/values/record.ts";
import { UNKNOWN } from "../../core/values/text/format-count.ts";
import type { ReportRow } from "./port/reports.ts";

/** Counts the requests of one part of a row's cost. */
export function countPart(row: ReportRow, part: keyof CostSplit): number {
  return (Object.keys(SPLIT_PARTS) as BillingMode[])
    .filter((mode) => SPLIT_PARTS[mode] === part)
    .reduce((sum, mode) => sum + row.byBilling[mode].requests, 0);
}

/** Formats one part of a row's cost: `unpriced` if no request of the row has a known price, a dash if the part has none. */
export function formatRowCost(
  row: ReportRow,
  part: keyof CostSplit,
  formatUsd: (picoUsd: bigint) => string,
): string {
  if (countPart(row, part) === 0) return UNKNOWN;
  if (row.bySource.unpriced.requests < row.requests) return formatUsd(row.split[part]);
  return row.unpriced > 0 ? "unpriced" : UNKNOWN;
}
