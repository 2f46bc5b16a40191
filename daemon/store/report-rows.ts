import { COST_PARTS, type CostSplit, NO_COST, SPLIT_PARTS } from "../../core/pricing/cost-split.ts";
import { emptyTokenSums, type TokenSums } from "../../core/pricing/view/usage-sums.ts";
import type { BillingMode, CostSource } from "../../core/values/record.ts";
import type { ReportRow, SourceShare } from "./port/reports.ts";
import { COST_HALF, type TokenColumn } from "./rollup-definition.ts";
import type { SumRow, UsageColumn } from "./usage-sums.ts";

/** The sums of token counts, each with its column. */
const TOKEN_SUMS: readonly (readonly [name: keyof TokenSums, column: TokenColumn])[] = [
  ["prompt", "prompt_tokens"],
  ["cacheRead", "cache_read_tokens"],
  ["cacheWrite", "cache_write_tokens"],
  ["cacheWrite1h", "cache_write_1h_tokens"],
  ["completion", "completion_tokens"],
  ["thinking", "thinking_tokens"],
];

/** A row to which sums are added in place: adding 300 groups to new rows each time takes 20 ms. */
export interface OpenRow extends ReportRow {
  split: { -readonly [Part in keyof CostSplit]: CostSplit[Part] };
}

const none = (): SourceShare => ({ requests: 0, costPicoUsd: 0n });

/** Returns a row without requests. */
export function emptyReportRow(key: string | null): OpenRow {
  return {
    key,
    requests: 0,
    errors: 0,
    blocked: 0,
    unpriced: 0,
    incomplete: 0,
    tokens: emptyTokenSums(),
    costPicoUsd: 0n,
    split: { ...NO_COST },
    bySource: { computed: none(), provider: none(), estimated: none(), unpriced: none() },
    byBilling: { metered: none(), plan: none(), credits: none(), free: none(), unknown: none() },
  };
}

/** Adds the sums of a group, cost source and billing mode to a row. */
export function addSums(row: OpenRow, sums: SumRow): void {
  const costPicoUsd = BigInt(sums.cost_high ?? 0) * COST_HALF + BigInt(sums.cost_low ?? 0);
  // An unknown value (a damaged cell) counts as an estimate.
  const source = sums.cost_source in row.bySource ? (sums.cost_source as CostSource) : "estimated";
  const mode = sums.billing_mode in row.byBilling ? (sums.billing_mode as BillingMode) : "unknown";
  row.requests += sums.requests;
  row.errors += sums.failed_requests;
  row.blocked += sums.blocked_requests;
  row.unpriced += sums.unpriced_requests;
  row.incomplete += sums.incomplete_requests;
  for (const [name, column] of TOKEN_SUMS) row.tokens[name] = plus(row.tokens[name], sums[column]);
  row.costPicoUsd += costPicoUsd;
  row.split[SPLIT_PARTS[mode]] += costPicoUsd;
  for (const share of [row.bySource[source], row.byBilling[mode]]) {
    share.requests += sums.requests;
    share.costPicoUsd += costPicoUsd;
  }
}

/** Adds up the cost sources and billing modes of each group. Without a column there is one group, whose key is null. */
export function toReportRows(
  sums: readonly SumRow[],
  column: UsageColumn | undefined,
  second?: UsageColumn,
): ReportRow[] {
  const rows = new Map<string, OpenRow>();
  for (const each of sums) {
    const key = column === undefined ? null : (each[column] ?? null);
    const other = second === undefined ? null : (each[second] ?? null);
    const group = JSON.stringify([key, other]);
    let row = rows.get(group);
    if (row === undefined) {
      row = { ...emptyReportRow(key), ...(second !== undefined && { second: other }) };
      rows.set(group, row);
    }
    addSums(row, each);
  }
  return [...rows.values()];
}

/** Adds a row to another. */
function addRow(row: OpenRow, other: ReportRow): void {
  row.requests += other.requests;
  row.errors += other.errors;
  row.blocked += other.blocked;
  row.unpriced += other.unpriced;
  row.incomplete += other.incomplete;
  for (const [name] of TOKEN_SUMS) row.tokens[name] = plus(row.tokens[name], other.tokens[name]);
  row.costPicoUsd += other.costPicoUsd;
  for (const { part } of COST_PARTS) row.split[part] += other.split[part];
  addShares(row.bySource, other.bySource);
  addShares(row.byBilling, other.byBilling);
}

/** Returns the sum of rows. */
export function sumRows(rows: readonly ReportRow[], key: string | null = null): ReportRow {
  const sum = emptyReportRow(key);
  for (const row of rows) addRow(sum, row);
  return sum;
}

const byText = (a: string | null, b: string | null) => ((a ?? "") < (b ?? "") ? -1 : a === b ? 0 : 1);
/** Sorts by falling cost, then by key. */
export const byCost = (a: ReportRow, b: ReportRow) =>
  a.costPicoUsd === b.costPicoUsd ? byText(a.key, b.key) : a.costPicoUsd > b.costPicoUsd ? -1 : 1;

const plus = (sum: bigint | null, more: number | bigint | null): bigint | null =>
  more === null ? sum : (sum ?? 0n) + BigInt(more);

function addShares<Name extends string>(
  shares: Readonly<Record<Name, SourceShare>>,
  others: Readonly<Record<Name, SourceShare>>,
): void {
  for (const name in shares) {
    shares[name].requests += others[name].requests;
    shares[name].costPicoUsd += others[name].costPicoUsd;
  }
}
