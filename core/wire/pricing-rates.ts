import * as v from "valibot";
import type { PublishedRate, RatePull } from "../pricing/mod.ts";
import { maybe } from "./fields.ts";

const rateText = maybe(v.string());

const tokenRates = {
  input: rateText,
  output: rateText,
  cache_read: rateText,
  cache_write: rateText,
  cache_write_1h: rateText,
};

/**
 * `GET /v1/pricing/rates`: decimal texts in USD per million tokens. Source: decisions, "Reading". Only the form is read
 * here; whether a rate is sound is judged of the pull as a whole (`judgePull` in `core/pricing`).
 */
export const publishedRatesSchema = v.object({
  published_at: v.string(),
  unit: v.string(),
  rates: v.array(
    v.object({
      provider: v.string(),
      model: v.string(),
      ...tokenRates,
      /** Rates of a whole request with more input than `above_tokens`, ascending. */
      tiers: maybe(v.array(v.object({ above_tokens: v.number(), ...tokenRates }))),
      effective_from: maybe(v.string()),
    }),
  ),
}) satisfies v.GenericSchema<unknown, RatePull & { rates: PublishedRate[] }>;

/** The rates that a cloud publishes. */
export type PublishedRates = v.InferOutput<typeof publishedRatesSchema>;
