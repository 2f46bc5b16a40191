import { formatCount } from "../../values/text/format-count.ts";
import { type CsvValue, formatCsvLine } from "../../values/text/format-csv-field.ts";
import type { UsageAnswer, UsageSumsJson } from "../../wire/usage.ts";
import { PICO_USD_PER_USD } from "../decimal.ts";
import { formatFixedUsd, formatPicoUsd } from "../money.ts";
import { accumulateUsage } from "./usage-cumulative.ts";
import { isMoney, metricOf, parseSums } from "./usage-sums.ts";

/** The sums of tokens. */
export const TOKEN_SUMS = [
  "prompt_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "completion_tokens",
  "thinking_tokens",
] as const satisfies readonly (keyof UsageSumsJson)[];

const COUNTS = [
  "requests",
  "failed_requests",
  "blocked_requests",
  "unpriced_requests",
  "incomplete_requests",
  "estimated_requests",
  "unknown_billing_requests",
  ...TOKEN_SUMS,
] as const satisfies readonly (keyof UsageSumsJson)[];

const AMOUNTS = [
  ["spent_usd", "spent_pico_usd"],
  ["plan_usage_usd", "plan_usage_pico_usd"],
  ["unknown_billing_usd", "unknown_billing_pico_usd"],
] as const satisfies readonly (readonly [string, keyof UsageSumsJson])[];

/** A line of an export: its names, and its sums. */
interface ExportLine {
  readonly names: readonly string[];
  readonly totals: UsageSumsJson;
}

/** Returns the lines of an answer that add up to its total: its cells, else its rows, else its buckets, else the total. */
function linesOf(answer: UsageAnswer): { heads: readonly string[]; lines: readonly ExportLine[] } {
  const { by, then_by, rows, buckets, totals } = answer;
  if (by !== null && then_by !== null) {
    const lines = rows.flatMap((row) =>
      row.cells.map((cell) => ({ names: [row.label, cell.label], totals: cell.totals })),
    );
    return { heads: [by, then_by], lines };
  }
  if (by !== null)
    return { heads: [by], lines: rows.map((row) => ({ names: [row.label], totals: row.totals })) };
  if (buckets.length > 0)
    return { heads: ["time"], lines: buckets.map((each) => ({ names: [each.label], totals: each.totals })) };
  return { heads: [], lines: [{ names: [], totals }] };
}

type Row = UsageAnswer["rows"][number];

/** Columns that a view adds to the cells of an answer by two dimensions, each with its value of a cell. */
export type CellColumns = readonly (readonly [
  name: string,
  read: (row: Row, cell: Row["cells"][number]) => CsvValue,
])[];

/**
 * Formats an answer as CSV (RFC 4180): exact amounts in USD, and in each line the period, the zone and the query, so that none is
 * lost. Columns of cells come last.
 */
export function usageCsv(answer: UsageAnswer, columns: CellColumns = []): string {
  const { heads, lines } = linesOf(answer);
  const { period, tz, query } = answer;
  const head = [...heads, ...COUNTS, ...AMOUNTS.map(([name]) => name), "from", "to", "tz", "query"];
  const added = answer.rows.flatMap((row) =>
    row.cells.map((cell) => columns.map(([, read]) => read(row, cell))),
  );
  const records = lines.map(({ names, totals }, at) => [
    ...names,
    ...COUNTS.map((name) => totals[name]),
    ...AMOUNTS.map(([, name]) => formatPicoUsd(BigInt(totals[name]))),
    period.from,
    period.to,
    tz,
    query,
    ...(added[at] ?? []),
  ]);
  return [[...head, ...columns.map(([name]) => name)], ...records].map(formatCsvLine).join("");
}

/**
 * Formats the metric of each bucket by the first dimension as CSV, with the bounds of the bucket, the zone and the query in each line.
 * Cumulative sums are in a column of their own.
 */
export function usageTimesCsv(answer: UsageAnswer, isCumulative: boolean): string {
  const { by, rows, buckets, metric, query, tz } = answer;
  const name = isMoney(metric) ? `${metric}_usd` : metric;
  const format = (value: string | null | undefined) =>
    value == null ? null : isMoney(metric) ? formatPicoUsd(BigInt(value)) : value;
  const cumulative = isCumulative ? accumulateUsage(answer) : null;
  const totalOf = (bucket: UsageAnswer["buckets"][number] | undefined) =>
    bucket && metricOf(parseSums(bucket.totals), metric)?.toString();
  const lines = buckets.flatMap((bucket, at) => {
    const sums: readonly (readonly [string[], ...(string | null | undefined)[]])[] =
      by === null
        ? [[[], totalOf(bucket), totalOf(cumulative?.buckets[at])]]
        : rows.map((row, n) => [[row.label], row.series[at], cumulative?.series[n]?.[at]]);
    return sums.map(([names, each, whole]) => [
      ...[bucket.label, ...names, format(each), ...(isCumulative ? [format(whole)] : [])],
      ...[bucket.from, bucket.to, tz, query],
    ]);
  });
  const head = ["time", ...(by === null ? [] : [by]), name, ...(isCumulative ? [`cumulative_${name}`] : [])];
  return [[...head, "from", "to", "tz", "query"], ...lines].map(formatCsvLine).join("");
}

/** Escapes what Markdown would read as markup, or as the end of a cell. */
const escapeCell = (text: string): string =>
  text.replaceAll(/[\r\n]+/g, " ").replaceAll(/[\\`*_{}[\]<>#|~$@]/g, "\\$&");

function formatMoney(picoUsd: bigint): string {
  const isFraction = picoUsd > -PICO_USD_PER_USD && picoUsd < PICO_USD_PER_USD && picoUsd !== 0n;
  return formatFixedUsd(picoUsd, isFraction ? 4 : 2);
}

/** Formats an answer as a Markdown table with its period, caveats and total, to paste into a pull request. */
export function usageMarkdown(answer: UsageAnswer): string {
  const { heads, lines } = linesOf(answer);
  const { period, tz, caveats, metric, totals } = answer;
  const more = isMoney(metric) || metric.endsWith("requests") ? [] : [metric];
  const line = (names: readonly string[], sums: UsageSumsJson) => {
    const parsed = parseSums(sums);
    return [
      ...names.map(escapeCell),
      formatCount(sums.requests),
      formatMoney(parsed.spentPicoUsd),
      formatMoney(parsed.planUsagePicoUsd),
      formatMoney(parsed.unknownBillingPicoUsd),
      ...more.map(() => formatCount(metricOf(parsed, metric))),
    ];
  };
  const head = [...heads, "requests", "spent", "plan usage at API prices", "unknown billing", ...more].map(
    (name) => name.replaceAll("_", " "),
  );
  const table = [
    head,
    head.map((_, at) => (at < heads.length ? "---" : "---:")),
    ...lines.map(({ names, totals: sums }) => line(names, sums)),
    ...(heads.length === 0
      ? []
      : [
          line(
            heads.map((_, at) => (at === 0 ? "Total" : "")),
            totals,
          ),
        ]),
  ];
  return [
    `${escapeCell(period.label)} (${escapeCell(tz)})`,
    "",
    ...table.map((cells) => `| ${cells.join(" | ")} |`),
    ...caveats.map(({ sentence }, at) => `${at === 0 ? "\n" : ""}- ${sentence}`),
    "",
  ].join("\n");
}
