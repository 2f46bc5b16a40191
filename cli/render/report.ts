import type { CoverageTotal } from "../../core/metering/coverage/coverage-kinds.ts";
import type { IsKnownHost } from "../../core/metering/coverage/unlisted-hosts.ts";
import { describeSplit, shownParts } from "../../core/pricing/cost-split.ts";
import { formatFixedUsd, formatPicoUsd } from "../../core/pricing/money.ts";
import { formatCount } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { countPart, formatRowCost } from "../../daemon/store/format-row-cost.ts";
import type {
  ReportGrouping,
  ReportRow,
  SourceShare,
  StreamsWithoutUsage,
} from "../../daemon/store/port/reports.ts";
import { totalInput, totalOutput, totalTokens } from "../../daemon/store/token-sums.ts";
import { coverageLines } from "./coverage.ts";
import { renderCsvTable } from "./csv-table.ts";
import { streamsWithoutUsageLines } from "./streams-without-usage.ts";
import { type Column, renderTable, tableFits } from "./table.ts";

/** Decimal places of a cost in a table; fixed, so that the decimal points line up. */
const PLACES = 4;

/** Formats a cost with fixed decimal places; a positive cost that rounds to zero becomes `<$0.0001`. */
export const fixedUsd = (picoUsd: bigint): string => formatFixedUsd(picoUsd, PLACES);

const right = "right" as const;

interface Layout {
  counts: readonly { title: string; of: (tokens: ReportRow["tokens"]) => bigint | null }[];
  /** Explains which counts this layout combines. */
  note: string | null;
}

/** The layouts, widest first. Counts are combined before names are truncated, because truncated names are ambiguous. */
const layouts: readonly Layout[] = [
  {
    counts: [
      { title: "input", of: ({ prompt }) => prompt },
      { title: "cache read", of: ({ cacheRead }) => cacheRead },
      { title: "cache write", of: ({ cacheWrite }) => cacheWrite },
      { title: "output", of: ({ completion }) => completion },
      { title: "thinking", of: ({ thinking }) => thinking },
    ],
    note: null,
  },
  {
    counts: [
      { title: "input", of: totalInput },
      { title: "output", of: totalOutput },
    ],
    note: "Input includes cache tokens, and output includes thinking tokens. A wider terminal shows them separately.",
  },
  {
    counts: [{ title: "tokens", of: totalTokens }],
    note: "A wider terminal shows input and output tokens separately.",
  },
];

const UNKNOWN_BILLING_NOTE =
  "Unknown billing: these calls do not show whether they were billed by usage or covered by a plan.";

/** Returns a row's value of each dimension. */
function keysOf(dimensions: readonly ReportGrouping[], { key, second }: ReportRow): (string | null)[] {
  return dimensions.length === 1 ? [key] : [key, second ?? null];
}

/** Renders the report as a table with its total, then notes on unpriced requests and coverage. */
export function renderReport(
  dimensions: readonly ReportGrouping[],
  rows: readonly ReportRow[],
  total: ReportRow,
  coverage: readonly CoverageTotal[] | null,
  isKnownHost: IsKnownHost,
  width: number,
  streams: readonly StreamsWithoutUsage[] = [],
  priceFixes: readonly string[] = [],
  fromLogs: SourceShare = { requests: 0, costPicoUsd: 0n },
): string {
  if (total.requests === 0) {
    const lines = ["No requests."];
    if (coverage !== null) lines.push(...coverageLines(coverage, isKnownHost));
    return lines.join("\n");
  }
  const tables = layouts.map((layout) => layOut(layout, dimensions, rows, total));
  const { columns, body, note } = (tables.find((table) => tableFits(table.columns, table.body, width)) ??
    tables.at(-1)) as Table;
  const notes = [
    ...(note === null ? [] : [note]),
    ...costNotes(total),
    ...requestNotes(total, priceFixes),
    ...streamsWithoutUsageLines(streams),
    ...sourceNotes(total),
    ...logNotes(fromLogs, total),
    ...(coverage === null ? [] : coverageLines(coverage, isKnownHost)),
  ];
  return [renderTable(columns, body, width), ...(notes.length === 0 ? [] : ["", ...notes])].join("\n");
}

interface Table {
  columns: readonly Column[];
  body: readonly (readonly string[])[];
  note: string | null;
}

/** The cost columns that have a value in any row, with their titles. */
const costColumns = (total: ReportRow) =>
  shownParts((part) => countPart(total, part) > 0).map(({ part, label }) => ({
    part,
    title: label.toLowerCase(),
  }));

/** Returns the columns and cells of the report in one layout. */
function layOut(
  { counts, note }: Layout,
  dimensions: readonly ReportGrouping[],
  rows: readonly ReportRow[],
  total: ReportRow,
): Table {
  const costs = costColumns(total);
  const thinking = total.tokens.thinking !== null && total.tokens.thinking > 0n;
  const shown = counts.filter(({ title }) => thinking || title !== "thinking");
  const cells = (names: readonly string[], row: ReportRow) => [
    ...names,
    formatCount(row.requests),
    ...shown.map(({ of }) => formatCount(of(row.tokens))),
    ...costs.map(({ part }) => formatRowCost(row, part, fixedUsd)),
  ];
  const hasTotal = dimensions[0] !== "total";
  const body = rows.map((row) =>
    cells(
      keysOf(dimensions, row).map((key) => key ?? (hasTotal ? "(unknown)" : "total")),
      row,
    ),
  );
  if (hasTotal) body.push(cells(["total", ...dimensions.slice(1).map(() => "")], total));
  const columns: Column[] = [
    ...dimensions.map((title) => ({ title, shrink: true })),
    ...["requests", ...[...shown, ...costs].map(({ title }) => title)].map((title) => ({
      title,
      align: right,
    })),
  ];
  return { columns, body, note };
}

function costNotes(total: ReportRow): string[] {
  const notes: string[] = [];
  if (costColumns(total).length > 1) notes.push(`${describeSplit(total.split, fixedUsd)}.`);
  if (countPart(total, "unknownBillingPicoUsd") > 0) notes.push(UNKNOWN_BILLING_NOTE);
  return notes;
}

/** Counts the failed and the unpriced requests, with the fix for the latter. */
function requestNotes(total: ReportRow, priceFixes: readonly string[]): string[] {
  const notes: string[] = [];
  if (total.errors > 0)
    notes.push(
      `${formatCount(total.errors)} of ${formatQuantity(total.requests - total.blocked, "request")} failed.`,
    );
  if (total.blocked > 0)
    notes.push(
      `Budgets refused ${formatQuantity(total.blocked, "call")}, which ${total.blocked === 1 ? "was" : "were"} not sent.`,
    );
  if (total.unpriced > 0) {
    const fact =
      total.unpriced === 1
        ? "1 request has no known price; its cost is not included."
        : `${formatCount(total.unpriced)} requests have no known price; their cost is not included.`;
    notes.push(
      ...(priceFixes.length > 0
        ? [fact, ...priceFixes]
        : [`${fact} See which: meter requests --status unpriced`]),
    );
  }
  return notes;
}

/** Describes how much was imported from logs of agents. The rest was read from the wire. */
export function logNotes(
  { requests, costPicoUsd }: SourceShare,
  total: Pick<ReportRow, "requests">,
): string[] {
  if (requests > 0 && requests === total.requests)
    return [`From logs: ${requests === 1 ? "the request" : `all ${formatCount(requests)} requests`}.`];
  return requests === 0
    ? []
    : [
        `From logs: ${formatCount(requests)} of ${formatQuantity(total.requests, "request")} and ${fixedUsd(costPicoUsd)} of the cost. The rest is from the wire.`,
      ];
}

/** Describes how much of the cost is the providers' own figure, and how much is estimated. */
function sourceNotes({ bySource: { provider, estimated } }: ReportRow): string[] {
  const notes: string[] = [];
  if (provider.requests > 0) {
    notes.push(`${fixedUsd(provider.costPicoUsd)} of the cost was stated by the providers.`);
  }
  if (estimated.requests > 0) notes.push(`${fixedUsd(estimated.costPicoUsd)} of the cost is estimated.`);
  return notes;
}

/** Renders the report as CSV: exact sums, costs in USD as decimal text. */
export function renderCsv(dimensions: readonly ReportGrouping[], rows: readonly ReportRow[]): string {
  const columns = [
    ...[
      ...dimensions,
      "requests",
      "errors",
      "blocked",
      "unpriced",
      "incomplete",
      "prompt_tokens",
      "cache_read_tokens",
      "cache_write_tokens",
    ],
    ...["cache_write_1h_tokens", "completion_tokens", "thinking_tokens", "cost_usd"],
    ...["spent_usd", "plan_usage_usd", "unknown_billing_usd"],
  ];
  const lines = rows.map((row) => {
    const { tokens, split } = row;
    const costs = [row.costPicoUsd, split.spentPicoUsd, split.planUsagePicoUsd, split.unknownBillingPicoUsd];
    return [
      ...keysOf(dimensions, row),
      ...[row.requests, row.errors, row.blocked, row.unpriced, row.incomplete],
      ...[tokens.prompt, tokens.cacheRead, tokens.cacheWrite, tokens.cacheWrite1h],
      ...[tokens.completion, tokens.thinking],
      ...costs.map(formatPicoUsd),
    ];
  });
  return renderCsvTable(columns, lines);
}
