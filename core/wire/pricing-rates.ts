import * as v from "valibot";
import type { CalendarDate } from "../values/time.ts";
import { maybe } from "./fields.ts";

/** Published token rates: decimal strings in USD per million tokens. */
export interface PublishedTokenRates {
  input: string | null;
  output: string | null;
  cache_read: string | null;
  cache_write: string | null;
  cache_write_1h?: string | null | undefined;
}

/** A published rate, in the form that the cloud and an operator's configuration share. Source: docs/specification.md#reading. */
export interface PublishedRate extends PublishedTokenRates {
  provider: string;
  model: string;
  tiers?: readonly (PublishedTokenRates & { above_tokens: number })[] | null | undefined;
  effective_from?: CalendarDate | null | undefined;
}

/** Published rates from the cloud or another configured URL. Source: docs/specification.md#reading. */
export interface RatePull {
  published_at: string;
  unit: string;
  rates: readonly PublishedRate[];
}

const rateText = maybe(v.string());

const tokenRates = {
  input: rateText,
  output: rateText,
  cache_read: rateText,
  cache_write: rateText,
  cache_write_1h: rateText,
};

/**
 * The response of `GET /v1/pricing/rates`: decimal strings in USD per million tokens. This schema checks the format only;
 * `judgePull` in `core/pricing` validates the rates as a whole. Source: docs/specification.md#reading.
 */
export const publishedRatesSchema = v.object({
  published_at: v.string(),
  unit: v.string(),
  rates: v.array(
    v.object({
      provider: v.string(),
      model: v.string(),
      ...tokenRates,
      /** Rates of requests with more than `above_tokens` input tokens, in ascending order. */
      tiers: maybe(v.array(v.object({ above_tokens: v.number(), ...tokenRates }))),
      effective_from: maybe(v.string()),
    }),
  ),
}) satisfies v.GenericSchema<unknown, RatePull & { rates: PublishedRate[] }>;

/** The rates that the cloud publishes. */
export type PublishedRates = v.InferOutput<typeof publishedRatesSchema>;
