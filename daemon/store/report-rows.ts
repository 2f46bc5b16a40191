import { mapParts, NO_COST } from "../../core/pricing/cost-split.ts";
import type { ReportRow, SourceShare, TokenSums } from "./port/reports.ts";

const none = (): SourceShare => ({ requests: 0, costPicoUsd: 0n });

/** Returns a row without requests. */
export function emptyReportRow(key: string | null): ReportRow {
  return {
    key,
    requests: 0,
    errors: 0,
    unpriced: 0,
    incomplete: 0,
    tokens: {
      prompt: null,
      cacheRead: null,
      cacheWrite: null,
      cacheWrite1h: null,
      completion: null,
      thinking: null,
    },
    costPicoUsd: 0n,
    split: NO_COST,
    bySource: { computed: none(), provider: none(), estimated: none(), unpriced: none() },
    byBilling: { metered: none(), plan: none(), credits: none(), free: none(), unknown: none() },
  };
}

/** Returns the row with the sums of another added. The keys are the first row's. */
export function addRows(row: ReportRow, other: ReportRow): ReportRow {
  return {
    ...row,
    requests: row.requests + other.requests,
    errors: row.errors + other.errors,
    unpriced: row.unpriced + other.unpriced,
    incomplete: row.incomplete + other.incomplete,
    tokens: addTokens(row.tokens, other.tokens),
    costPicoUsd: row.costPicoUsd + other.costPicoUsd,
    split: mapParts(({ part }) => row.split[part] + other.split[part]),
    bySource: addShares(row.bySource, other.bySource),
    byBilling: addShares(row.byBilling, other.byBilling),
  };
}

/** Returns the sum of rows. */
export const sumRows = (rows: readonly ReportRow[], key: string | null = null): ReportRow =>
  rows.reduce(addRows, emptyReportRow(key));

const byText = (a: string | null, b: string | null) => ((a ?? "") < (b ?? "") ? -1 : a === b ? 0 : 1);
/** Sorts by falling cost, then by key. */
export const byCost = (a: ReportRow, b: ReportRow) =>
  a.costPicoUsd === b.costPicoUsd ? byText(a.key, b.key) : a.costPicoUsd > b.costPicoUsd ? -1 : 1;

const plus = (a: bigint | null, b: bigint | null): bigint | null => (a === null ? b : b === null ? a : a + b);

function addTokens(one: TokenSums, other: TokenSums): TokenSums {
  return {
    prompt: plus(one.prompt, other.prompt),
    cacheRead: plus(one.cacheRead, other.cacheRead),
    cacheWrite: plus(one.cacheWrite, other.cacheWrite),
    cacheWrite1h: plus(one.cacheWrite1h, other.cacheWrite1h),
    completion: plus(one.completion, other.completion),
    thinking: plus(one.thinking, other.thinking),
  };
}

function addShares<Name extends string>(
  one: Readonly<Record<Name, SourceShare>>,
  other: Readonly<Record<Name, SourceShare>>,
): Record<Name, SourceShare> {
  const names = Object.keys(one) as Name[];
  return Object.fromEntries(
    names.map((name) => [
      name,
      {
        requests: one[name].requests + other[name].requests,
        costPicoUsd: one[name].costPicoUsd + other[name].costPicoUsd,
      },
    ]),
  ) as Record<Name, SourceShare>;
}
