import { listPrices, nameOf } from "../core/pricing/list-prices.ts";
import { formatPicoUsd, formatRateText } from "../core/pricing/money.ts";
import type { PriceBook } from "../core/pricing/price-book.ts";
import type { RateRow } from "../core/pricing/rates.ts";
import { UNSUPPORTED_KEYS } from "../core/pricing/savings/answer-savings.ts";
import type { ModelComparison } from "../core/pricing/savings/other-model.ts";
import { TOKEN_SUMS, usageCsv } from "../core/pricing/view/usage-export.ts";
import { DEFAULT_USAGE_QUERY, printUsageQuery, type UsageQuery } from "../core/pricing/view/usage-query.ts";
import { parseSums, sumOf, sumsJson } from "../core/pricing/view/usage-sums.ts";
import { addQueries } from "../core/values/text/query-string.ts";
import type { Millis } from "../core/values/time.ts";
import type { ListedModelsAnswer, ModelComparisonAnswer } from "../core/wire/model-comparison.ts";
import type { UsageAnswer } from "../core/wire/usage.ts";
import { type Columns, formatColumns } from "./page-file.ts";
import type { UsageView } from "./usage-view.ts";
import { compareLines } from "./views/model-comparison.ts";
import {
  createIsUsed,
  findModelLines,
  findOtherModel,
  findShownLines,
  MODELS_VIEW,
  type ModelLine,
  showsAllUsed,
} from "./views/model-lines.ts";
import { MAX_UNUSED } from "./views/models.ts";

/** What prices are read from. */
interface Prices {
  readonly book: PriceBook;
  readonly now: Millis;
}

/** How the page's answer is exported. Nothing, if the page shows the answer as it is. */
interface ModelsExport {
  readonly csv?: (usage: UsageAnswer) => string;
  readonly json?: (usage: UsageAnswer) => unknown;
}

/**
 * Returns the files of the page: the unused models with their rates, the comparison with another model, or the usage of the models that
 * the page lists.
 */
export function modelsFile({ book, now }: Prices, { own }: Pick<UsageView, "own">): ModelsExport {
  const { models, q, as } = own;
  if (models === "unused")
    return {
      csv: (usage) => formatColumns(RATES, listUnused(usage, { book, now }, q).rows),
      json: (usage) => listedModels(usage, { book, now }, own),
    };
  const row = findOtherModel(as, book, now);
  if (row === null) {
    if (showsAllUsed(own)) return {};
    const cut = (usage: UsageAnswer) => keepShown(usage, { book, now }, own);
    return { csv: (usage) => usageCsv(cut(usage)), json: cut };
  }
  return {
    csv: (usage) => {
      const lines = findModelLines(usage, book, now);
      const { models: compared } = compareLines(lines, row);
      const items = lines.map((line, n) => ({ line, compared: compared[n]!, row, usage }));
      return formatColumns(COMPARED, items);
    },
    json: (usage) => comparisonJson(usage, { book, now }, row),
  };
}

/** Returns the models that the page lists of an answer: its part with their sums, or the rates of those that were not used. */
export function listedModels(usage: UsageAnswer, prices: Prices, own: UsageView["own"]): ListedModelsAnswer {
  if (own.models !== "unused") return showsAllUsed(own) ? usage : keepShown(usage, prices, own);
  const { rows, more } = listUnused(usage, prices, own.q);
  return { models: rows.map(rateJson), more };
}

function listUnused(usage: UsageAnswer, { book, now }: Prices, text = "") {
  const isLeftOut = createIsUsed(findModelLines(usage, book, now));
  const { models, more } = listPrices(book, { text, at: now, limit: MAX_UNUSED, isLeftOut });
  return { rows: models.map(({ row }) => row), more };
}

function keepShown(usage: UsageAnswer, { book, now }: Prices, own: UsageView["own"]): UsageAnswer {
  const lines = findShownLines(findModelLines(usage, book, now), own);
  const nameOfPair = (provider: string, model: string) => JSON.stringify([provider, model]);
  const kept = new Set(
    lines.flatMap(({ provider, versions }) => versions.map((model) => nameOfPair(provider, model))),
  );
  const sum = (parts: readonly Pick<UsageAnswer, "totals">[]) =>
    sumsJson(sumOf(parts.map(({ totals }) => parseSums(totals))));
  const rows = usage.rows.flatMap((row) => {
    const cells = row.cells.filter((cell) =>
      kept.has(nameOfPair(cell.key ?? cell.label, row.key ?? row.label)),
    );
    return cells.length === 0 ? [] : [{ ...row, cells, totals: sum(cells) }];
  });
  return { ...usage, rows, totals: sum(rows) };
}

/** The keys of a usage query that lists and comparisons of models don't have. */
export const NO_MODEL_KEYS: readonly string[] = [...UNSUPPORTED_KEYS, "bucket"];

/** Returns the usage query by model of the period, zone and filters of a query. */
export const modelsQuery = ({ period, tz, filters }: UsageQuery): UsageQuery => ({
  ...DEFAULT_USAGE_QUERY,
  ...MODELS_VIEW.defaults,
  ...{ period, tz, filters },
});

/** Returns the path of the API that answers with the page's models or, with `as`, with their comparison with another model. */
export const modelsPath = ({ period, tz, filters }: UsageQuery, own: UsageView["own"]): string =>
  addQueries(
    `/usage/${own.as === undefined ? "models" : "comparison"}`,
    printUsageQuery({ ...DEFAULT_USAGE_QUERY, period, tz, filters }),
    new URLSearchParams(own).toString(),
  );

/** Converts what the usage by model would have cost at the rates of another model to JSON. */
export function comparisonJson(usage: UsageAnswer, prices: Prices, row: RateRow): ModelComparisonAnswer {
  const lines = findModelLines(usage, prices.book, prices.now);
  const { models: compared, known, costPicoUsd, otherPicoUsd } = compareLines(lines, row);
  return {
    ...{ query: usage.query, tz: usage.tz, period: usage.period, as: rateJson(row) },
    models: lines.map((line, n) => comparedJson(line, compared[n]!)),
    compared: { models: known, cost_pico_usd: `${costPicoUsd}`, estimate_pico_usd: `${otherPicoUsd}` },
  };
}

interface ComparedLine {
  readonly line: ModelLine;
  readonly compared: ModelComparison;
  readonly row: RateRow;
  readonly usage: UsageAnswer;
}

const usd = (picoUsd: bigint | null): string | null => (picoUsd === null ? null : formatPicoUsd(picoUsd));

const COMPARED: Columns<ComparedLine> = [
  ["provider", ({ line }) => line.provider],
  ["model", ({ line }) => line.name],
  ["requests", ({ line }) => line.sums.requests],
  ["unpriced_requests", ({ line }) => line.sums.unpriced],
  ...TOKEN_SUMS.map((name) => [name, ({ line }: ComparedLine) => sumsJson(line.sums)[name]] as const),
  ["cost_usd", ({ compared }) => usd(compared.costPicoUsd)],
  ["as", ({ row }) => nameOf(row)],
  ["estimate_usd", ({ compared }) => usd(compared.other.costPicoUsd)],
  ["unknown", ({ compared }) => compared.other.unknown],
  ["from", ({ usage }) => usage.period.from],
  ["to", ({ usage }) => usage.period.to],
  ["tz", ({ usage }) => usage.tz],
  ["query", ({ usage }) => usage.query],
];

const comparedJson = ({ provider, name, versions, sums }: ModelLine, compared: ModelComparison) => ({
  ...{ provider, model: name, versions, totals: sumsJson(sums) },
  cost_pico_usd: compared.costPicoUsd?.toString() ?? null,
  estimate_pico_usd: compared.other.costPicoUsd?.toString() ?? null,
  difference_pico_usd: compared.differencePicoUsd?.toString() ?? null,
  unknown: compared.other.unknown,
  assumed: [...compared.other.assumed],
});

const rate = (microUsd: number | null): string | null =>
  microUsd === null ? null : formatRateText(microUsd);

const RATES: Columns<RateRow> = [
  ["provider", ({ provider }) => provider],
  ["model", ({ model }) => model],
  ["input", ({ rates }) => rate(rates.input)],
  ["cache_read", ({ rates }) => rate(rates.cacheRead)],
  ["cache_write", ({ rates }) => rate(rates.cacheWrite)],
  ["cache_write_1h", ({ rates }) => rate(rates.cacheWrite1h)],
  ["output", ({ rates }) => rate(rates.output)],
  ["source", ({ origin, source }) => origin?.name ?? source],
  ["stated_on", ({ provenanceDate }) => provenanceDate],
  ["since", ({ effectiveFrom }) => effectiveFrom],
];

/** The rates of a model in USD per million tokens. */
const rateJson = (row: RateRow) =>
  Object.fromEntries(RATES.map(([name, read]) => [name, read(row) ?? null])) as ModelComparisonAnswer["as"];
