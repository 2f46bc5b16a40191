import * as v from "valibot";
import { count, instant, maybe } from "./fields.ts";
import { usageAnswerSchema, usageSumsSchema } from "./usage.ts";

const text = v.string();
const amount = v.pipe(v.string(), v.regex(/^-?\d+$/, "must be a whole number of pico-USD"));

const parameter = maybe(text);

/** The period, zone and filters of a usage query. */
const selectionSchema = v.object({
  period: parameter,
  from: parameter,
  to: parameter,
  tz: parameter,
  project: parameter,
  model: parameter,
  provider: parameter,
  machine: parameter,
  person: parameter,
});

/** The parameters of `GET …/usage/comparison`: the model (`anthropic/claude-sonnet-4-5`), and which usage is compared. */
export const comparisonQuerySchema = v.object({ as: text, ...selectionSchema.entries });

/** The parameters of `GET …/usage/models`: which models are listed (`used`, `unpriced` or `unused`), a part of their name, and of which usage. */
export const modelsQuerySchema = v.object({ models: parameter, q: parameter, ...selectionSchema.entries });

/** The rates of a model in USD per million tokens, where they come from, and since when they apply. */
const rateSchema = v.object({
  provider: text,
  model: text,
  input: maybe(text),
  cache_read: maybe(text),
  cache_write: maybe(text),
  cache_write_1h: maybe(text),
  output: maybe(text),
  source: text,
  stated_on: maybe(text),
  since: maybe(text),
});

/** Models that have a price and were not used in a period. */
const unusedModelsSchema = v.object({
  models: v.array(rateSchema),
  /** Whether there are more. */
  more: v.boolean(),
});

/** The response of `GET …/usage/models`: the usage of the models, by model, then by provider; of unused ones their rates. */
export const listedModelsSchema = v.union([usageAnswerSchema, unusedModelsSchema]);

/** The models of a period. */
export type ListedModelsAnswer = v.InferOutput<typeof listedModelsSchema>;

/** The response of `GET …/usage/comparison`: what the models of a period would have cost at the rates of another model. An estimate. */
export const modelComparisonSchema = v.object({
  /** The usage query that was compared. */
  query: text,
  tz: text,
  period: v.object({ from: instant, to: instant, label: text }),
  /** The other model. */
  as: rateSchema,
  models: v.array(
    v.object({
      provider: text,
      /** The name in the price list, which several versions share. */
      model: text,
      versions: v.array(text),
      totals: usageSumsSchema,
      /** At API prices, plan usage included; `null` if a request has no known price. */
      cost_pico_usd: maybe(amount),
      /** `null` if the estimate is unknown; `unknown` says why. */
      estimate_pico_usd: maybe(amount),
      difference_pico_usd: maybe(amount),
      unknown: maybe(text),
      /** Kinds of tokens without a price, and what they are counted as. */
      assumed: v.array(v.object({ kind: text, counted: text })),
    }),
  ),
  /** The sums of the models of which both costs are known. */
  compared: v.object({ models: count, cost_pico_usd: amount, estimate_pico_usd: amount }),
});

/** A comparison of a period's models with another one. */
export type ModelComparisonAnswer = v.InferOutput<typeof modelComparisonSchema>;
