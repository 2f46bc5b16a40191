import { sumOfSplit } from "../../core/pricing/cost-split.ts";
import { type ListedModel, nameOf, parseListedModel } from "../../core/pricing/list-prices.ts";
import type { PriceBook } from "../../core/pricing/price-book.ts";
import type { RateRow } from "../../core/pricing/rates.ts";
import { type UsageQuery, withFilter } from "../../core/pricing/view/usage-query.ts";
import { parseSums, sumOf, type UsageSums } from "../../core/pricing/view/usage-sums.ts";
import type { Millis } from "../../core/values/time.ts";
import type { UsageAnswer } from "../../core/wire/usage.ts";
import type { UsageView, UsageViewSpec } from "../usage-view.ts";

/** Which models are listed. */
const CHOICES = ["used", "unused", "unpriced"];

export const MODELS_VIEW: UsageViewSpec = {
  path: "/models",
  defaults: { by: "model", thenBy: "provider", top: 1_000, compare: "none", bucket: "none" },
  own: { models: CHOICES },
  texts: ["q", "as"],
};

/** The versions of one model of one provider. */
export interface ModelLine {
  readonly provider: string;
  /** The name in the price list, which several versions share. */
  readonly name: string;
  /** The price in force now; null if there is none. */
  readonly row: RateRow | null;
  readonly versions: string[];
  sums: UsageSums;
}

/** Joins the versions of a model that have the same name in the price list. The most expensive is first. */
export function findModelLines(
  { rows }: Pick<UsageAnswer, "rows">,
  book: PriceBook,
  at: Millis,
): ModelLine[] {
  const lines = new Map<string, ModelLine>();
  for (const row of rows)
    for (const cell of row.cells) {
      const [model, provider] = [row.key ?? row.label, cell.key ?? cell.label];
      const rate = book.find({ provider, model, requestedModel: null, at });
      const name = rate?.model ?? model;
      const key = JSON.stringify([provider, name]);
      const line = lines.get(key) ?? { provider, name, row: rate, versions: [], sums: sumOf([]) };
      line.versions.push(model);
      line.sums = sumOf([line.sums, parseSums(cell.totals)]);
      lines.set(key, line);
    }
  return [...lines.values()].sort((one, other) => Number(sumOfSplit(other.sums) - sumOfSplit(one.sums)));
}

/** Whether a line has a name that contains a text. */
const hasText = ({ provider, name, versions }: ModelLine, text: string): boolean =>
  [name, ...versions].some((each) => `${provider}/${each}`.toLowerCase().includes(text.trim().toLowerCase()));

/** Whether a model has no price, or requests that have none. */
const isUnpriced = ({ row, sums }: ModelLine): boolean => row === null || sums.unpriced > 0;

/** Whether the page's menu and search show all used models. */
export const showsAllUsed = ({ models = "used", q = "" }: UsageView["own"]): boolean =>
  models === "used" && q.trim() === "";

/** Reads which models are listed from the parameters of an address: null if there is no such list. */
export const readModelsChoice = ({
  models = "used",
  q = "",
}: Readonly<Record<string, string>>): UsageView["own"] | null =>
  CHOICES.includes(models) ? { models, q } : null;

/** What the choice must be. */
export const EXPECTED_CHOICE = `Expected ${CHOICES.join(", ")}.`;

/** Returns the lines of used models that the page's menu and search leave. */
export const findShownLines = (
  lines: readonly ModelLine[],
  { models, q = "" }: UsageView["own"],
): readonly ModelLine[] =>
  lines.filter((line) => hasText(line, q) && (models !== "unpriced" || isUnpriced(line)));

/** Returns the query of the requests of all versions of a model. */
export function queryOfLine({ provider, versions }: ModelLine, query: UsageQuery): UsageQuery {
  const first = withFilter(withFilter(query, "provider", provider), "model", versions[0] ?? "");
  const filters = first.filters.map((filter) =>
    filter.dimension === "model" && !filter.not ? { ...filter, values: versions } : filter,
  );
  return { ...first, filters };
}

/** Finds the price of the model that a period is compared with: `anthropic/claude-sonnet-4-5`. Null if there is none. */
export function findOtherModel(name: string | undefined, book: PriceBook, at: Millis): RateRow | null {
  const listed = name === undefined ? null : parseListedModel(name);
  return listed === null ? null : book.find({ ...listed, requestedModel: null, at });
}

/** What the name of that model must be. */
export const EXPECTED_MODEL = "Expected a model with a price, such as anthropic/claude-sonnet-4-5.";

/** Whether a model of a price list is that of one of the lines. */
export function createIsUsed(lines: readonly ModelLine[]): (model: ListedModel) => boolean {
  const used = new Set(lines.flatMap(({ row }) => (row === null ? [] : [nameOf(row)])));
  return (model) => used.has(nameOf(model));
}
