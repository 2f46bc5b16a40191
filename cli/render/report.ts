import { divideHalfEven, formatPicoUsd } from "../../core/pricing/mod.ts";
import { csvField } from "../../core/text/mod.ts";
import type { CoverageTotal, ReportGrouping, ReportRow } from "../../daemon/store/mod.ts";
import { count, counted } from "./count.ts";
import { coverageLines } from "./coverage.ts";
import { printable } from "./printable.ts";
import { type Column, renderTable, tableFits } from "./table.ts";

/** Decimal places of a cost in a table, so that the points stand below each other. */
const PLACES = 4;

/** A cost with fixed places; what is above zero and rounds to it says so. */
export function fixedUsd(picoUsd: bigint): string {
  const unit = 10n ** BigInt(12 - PLACES);
  const rounded = divideHalfEven(picoUsd, unit);
  if (rounded === 0n && picoUsd > 0n) return `<$${(1 / 10 ** PLACES).toFixed(PLACES)}`;
  const digits = rounded.toString().padStart(PLACES + 1, "0");
  const whole = digits.slice(0, -PLACES).replace(/\B(?=(?:\d{3})+$)/g, ",");
  return `$${whole}.${digits.slice(-PLACES)}`;
}

/** The cost of a group; what has none says whether it is unknown or nothing was used. */
function costInWords({ requests, bySource, unpriced, costPicoUsd }: ReportRow): string {
  if (bySource.unpriced.requests < requests) return fixedUsd(costPicoUsd);
  return unpriced > 0 ? "unpriced" : "–";
}

const right = "right" as const;

/** The sum of what was stated; null where nothing was. */
const sum = (...counts: readonly (bigint | null)[]) =>
  counts.reduce((total, each) => (each === null ? total : (total ?? 0n) + each), null);

interface Layout {
  counts: readonly { title: string; of: (tokens: ReportRow["tokens"]) => bigint | null }[];
  /** What a reader must know of counts that stand together here. */
  note: string | null;
}

/** The widest first. Counts are added up before a name is cut, since cut names can't be told apart. */
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
      { title: "input", of: ({ prompt, cacheRead, cacheWrite }) => sum(prompt, cacheRead, cacheWrite) },
      { title: "output", of: ({ completion, thinking }) => sum(completion, thinking) },
    ],
    note: "Input is with caches, output with thinking; a wider terminal shows them apart.",
  },
  {
    counts: [
      {
        title: "tokens",
        of: ({ prompt, cacheRead, cacheWrite, completion, thinking }) =>
          sum(prompt, cacheRead, cacheWrite, completion, thinking),
      },
    ],
    note: "A wider terminal shows the kinds of tokens apart.",
  },
];

/** The report as a table with its total, what the total lacks, and what was not metered. */
export function renderReport(
  by: ReportGrouping,
  rows: readonly ReportRow[],
  total: ReportRow | null,
  coverage: readonly CoverageTotal[] | null,
  width: number,
): string {
  if (total === null || total.requests === 0) {
    const lines = ["No requests."];
    if (coverage !== null) lines.push(...coverageLines(coverage));
    return lines.join("\n");
  }
  const thinking = total.tokens.thinking !== null && total.tokens.thinking > 0n;
  const tables = layouts.map(({ counts, note }) => {
    const shown = counts.filter(({ title }) => thinking || title !== "thinking");
    const cells = (name: string, row: ReportRow) => [
      name,
      count(row.requests),
      ...shown.map(({ of }) => count(of(row.tokens))),
      costInWords(row),
    ];
    const body = rows.map((row) => cells(row.key ?? (by === "total" ? "total" : "(unknown)"), row));
    if (by !== "total") body.push(cells("total", total));
    const columns: Column[] = [
      { title: by, shrink: true },
      ...["requests", ...shown.map(({ title }) => title), "cost"].map((title) => ({ title, align: right })),
    ];
    return { columns, body, note };
  });
  const { columns, body, note } = (tables.find((table) => tableFits(table.columns, table.body, width)) ??
    tables.at(-1)) as (typeof tables)[number];
  const notes: string[] = note === null ? [] : [note];
  if (total.errors > 0) notes.push(`${count(total.errors)} of ${counted(total.requests, "request")} failed.`);
  if (total.unpriced > 0) {
    notes.push(
      `${count(total.unpriced)} ${total.unpriced === 1 ? "request has no price and is" : "requests have no price and are"} not in the cost: meter explain says why.`,
    );
  }
  const { provider, estimated } = total.bySource;
  if (provider.requests > 0) {
    notes.push(`${fixedUsd(provider.costPicoUsd)} of it was stated by the providers themselves.`);
  }
  if (estimated.requests > 0) notes.push(`${fixedUsd(estimated.costPicoUsd)} of it is estimated.`);
  if (coverage !== null) notes.push(...coverageLines(coverage));
  return [renderTable(columns, body, width), ...(notes.length === 0 ? [] : ["", ...notes])].join("\n");
}

/** The report for a spreadsheet: exact sums, costs in USD as decimal text. */
export function renderCsv(by: ReportGrouping, rows: readonly ReportRow[]): string {
  const head = [
    ...[
      by,
      "requests",
      "errors",
      "unpriced",
      "incomplete",
      "prompt_tokens",
      "cache_read_tokens",
      "cache_write_tokens",
    ],
    ...["cache_write_1h_tokens", "completion_tokens", "thinking_tokens", "cost_usd"],
  ];
  const lines = rows.map(({ key, requests, errors, unpriced, incomplete, tokens, costPicoUsd }) =>
    [
      ...[
        key === null ? null : printable(key),
        requests,
        errors,
        unpriced,
        incomplete,
        tokens.prompt,
        tokens.cacheRead,
        tokens.cacheWrite,
      ],
      ...[tokens.cacheWrite1h, tokens.completion, tokens.thinking],
    ]
      .map(csvField)
      .concat(formatPicoUsd(costPicoUsd))
      .join(","),
  );
  return [head.join(","), ...lines, ""].join("\r\n");
}
