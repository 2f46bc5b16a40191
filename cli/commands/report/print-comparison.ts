import { UsageError } from "clipanion";
import { nameOf } from "../../../core/pricing/list-prices.ts";
import { DEFAULT_USAGE_QUERY, type UsageQuery, withFilter } from "../../../core/pricing/view/usage-query.ts";
import { metricOf } from "../../../core/pricing/view/usage-sums.ts";
import { formatCount, UNKNOWN } from "../../../core/values/text/format-count.ts";
import type { UsageDimension } from "../../../core/wire/usage.ts";
import { readUsageAnswer } from "../../../daemon/api/read-usage.ts";
import { comparisonJson, modelsFile, modelsQuery } from "../../../pages/models-file.ts";
import { compareLines, describeComparison, listLimits } from "../../../pages/views/model-comparison.ts";
import { EXPECTED_MODEL, findModelLines, findOtherModel } from "../../../pages/views/model-lines.ts";
import { withStore } from "../../home/open-store.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../program/exit-codes.ts";
import { readGitFilters } from "../../program/git-filters.ts";
import { readPeriod } from "../../program/period.ts";
import { toUsagePeriod } from "../../program/usage-period.ts";
import { openPriceBook } from "../../records/price-book.ts";
import { fixedUsd } from "../../render/report.ts";
import { renderTable } from "../../render/table.ts";
import { wrapLine } from "../../render/wrap.ts";
import type { PrintReportOptions } from "./print-report.ts";

/** The options of `meter report --as`. */
export interface ComparisonOptions extends Omit<PrintReportOptions, "by"> {
  readonly as: string;
}

/** Shows what the same tokens would have cost on another model: the comparison of the page of models and of the API. */
export async function printComparison(context: CommandContext, options: ComparisonOptions): Promise<void> {
  if (options.json && options.csv) throw new UsageError("--json and --csv can't be combined.");
  const now = Date.now();
  const query = modelsQuery(toQuery(options, now));
  const { config } = await readConfig(context.home, context.env);
  await withStore(context.home, { readOnly: true }, async (store) => {
    const prices = { book: openPriceBook(config, store.rates), now };
    const row = findOtherModel(options.as, prices.book, now);
    if (row === null) throw new UsageError(`Invalid value for --as: ${options.as}. ${EXPECTED_MODEL}`);
    const ports = { store, clock: { now: () => now }, turn: async () => {} };
    const result = await readUsageAnswer(ports, query);
    if (!result.ok) throw new CommandFailure(`Could not read the usage: ${result.detail}.`, exitCodes.usage);
    const usage = result.value;
    if (options.json) return context.printJson(comparisonJson(usage, prices, row));
    if (options.csv)
      return context.stdout.write(modelsFile(prices, { own: { as: nameOf(row) } }).csv?.(usage) ?? "");
    const lines = findModelLines(usage, prices.book, now);
    const title = `${usage.period.label} (${usage.tz}), had it run on ${nameOf(row)} (estimate)`;
    if (lines.length === 0) return context.print(`${title}\nNo requests.`);
    const compared = compareLines(lines, row);
    context.print(
      [
        [title, describeComparison(compared)].map((line) => wrapLine(line, context.width)).join("\n"),
        renderLines(lines, compared, context.width),
        listLimits(compared.models, row)
          .map((limit) => wrapLine(limit, context.width))
          .join("\n"),
      ].join("\n\n"),
    );
  });
}

function toQuery({ utc, ...options }: ComparisonOptions, now: number): UsageQuery {
  if (options.commit !== undefined) throw new UsageError("--as and --commit can't be combined.");
  const period = toUsagePeriod(readPeriod(options, now, utc), now);
  const { branch, pullRequest } = readGitFilters(options);
  const { project, model, provider, session } = options;
  const values = { project, model, provider, session, branch, pull_request: pullRequest };
  let query: UsageQuery = { ...DEFAULT_USAGE_QUERY, period, tz: utc ? "UTC" : null };
  for (const [dimension, value] of Object.entries(values))
    if (value !== undefined) query = withFilter(query, dimension as UsageDimension, `${value}`);
  return query;
}

function renderLines(
  lines: ReturnType<typeof findModelLines>,
  { models, known, costPicoUsd, otherPicoUsd }: ReturnType<typeof compareLines>,
  width: number,
): string {
  const align = "right" as const;
  const usd = (picoUsd: bigint | null) => (picoUsd === null ? UNKNOWN : fixedUsd(picoUsd));
  const difference = (picoUsd: bigint | null) =>
    picoUsd === null
      ? UNKNOWN
      : `${picoUsd > 0n ? "+" : picoUsd < 0n ? "-" : ""}${fixedUsd(picoUsd < 0n ? -picoUsd : picoUsd)}`;
  const tokens = (sums: (typeof lines)[number]["sums"]) => {
    const count = metricOf(sums, "tokens");
    return count === null ? UNKNOWN : formatCount(Number(count));
  };
  const columns = [
    { title: "model", shrink: true },
    { title: "provider", shrink: true },
    ...["tokens", "cost at API prices", "estimate", "difference"].map((title) => ({ title, align })),
  ];
  const rows = lines.map(({ name, provider, sums }, n) => {
    const { costPicoUsd: cost, other, differencePicoUsd } = models[n]!;
    return [
      ...[name, provider, tokens(sums), cost === null ? "unpriced" : fixedUsd(cost)],
      ...[other.unknown ?? usd(other.costPicoUsd), difference(differencePicoUsd)],
    ];
  });
  const total =
    known === 0
      ? []
      : [["compared", "", "", usd(costPicoUsd), usd(otherPicoUsd), difference(otherPicoUsd - costPicoUsd)]];
  return renderTable(columns, [...rows, ...total], width);
}
