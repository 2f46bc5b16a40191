import type { Millis } from "../values/time.ts";
import { normaliseModelName } from "./model-match.ts";
import type { PriceBook } from "./price-book.ts";
import { priceListOf } from "./provider-names.ts";
import type { RateRow } from "./rates.ts";

/** A model of a price list. */
export interface ListedModel {
  readonly provider: string;
  readonly model: string;
}

/** Some of the models of a price book. */
export interface ListedModels {
  readonly models: readonly (ListedModel & { readonly row: RateRow })[];
  /** Whether there are more. */
  readonly more: boolean;
}

/** Returns the key of a model within its list. */
const keyOf = (provider: string, model: string): string =>
  JSON.stringify([priceListOf(provider), normaliseModelName(model)]);

/** What is listed of a price book. */
export interface ListOptions {
  /** A part of the name with its list: `anthropic/claude`. */
  readonly text: string;
  readonly at: Millis;
  readonly limit: number;
  readonly isLeftOut: (model: ListedModel) => boolean;
}

/** Lists models that have a price at a time, by list and name. */
export function listPrices(book: PriceBook, { text, at, limit, isLeftOut }: ListOptions): ListedModels {
  const wanted = text.trim().toLowerCase();
  const names = new Map<string, ListedModel>();
  for (const { provider, model } of book.rows) {
    const name = nameOf({ provider, model }).toLowerCase();
    if (name.includes(wanted) && !model.endsWith("*")) names.set(name, { provider, model });
  }
  const sorted = [...names].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, model]) => model);
  const models: (ListedModel & { readonly row: RateRow })[] = [];
  for (const each of sorted) {
    if (isLeftOut(each)) continue;
    const row = book.find({ ...each, requestedModel: null, at });
    if (row === null) continue;
    if (models.length === limit) return { models, more: true };
    models.push({ ...each, row });
  }
  return { models, more: false };
}

/** Returns the name of a model with its list: `anthropic/claude-sonnet-4-5`. */
export const nameOf = ({ provider, model }: ListedModel): string => `${provider}/${model}`;

/** Reads such a name. Null if it has no list. */
export function parseListedModel(text: string): ListedModel | null {
  const at = text.indexOf("/");
  return at < 1 || at === text.length - 1 ? null : { provider: text.slice(0, at), model: text.slice(at + 1) };
}

/**
 * Returns a function that lists all prices of a row's model in its list, the latest first: by the day they begin, then by the date on
 * which their source stated them. A price without a beginning is last.
 */
export function createPriceHistory(book: PriceBook): (row: RateRow) => readonly RateRow[] {
  const byModel = Map.groupBy(book.rows, ({ provider, model }) => keyOf(provider, model));
  return ({ provider, model }) => (byModel.get(keyOf(provider, model)) ?? []).toSorted(byBeginning);
}

function byBeginning(one: RateRow, other: RateRow): number {
  const beginning = ({ effectiveFrom, provenanceDate }: RateRow) =>
    `${effectiveFrom ?? ""} ${provenanceDate}`;
  return beginning(one) === beginning(other) ? 0 : beginning(one) < beginning(other) ? 1 : -1;
}
