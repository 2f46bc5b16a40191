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

/** Published token rates of requests with more than `above_tokens` input tokens. */
export type PublishedTier = PublishedTokenRates & { above_tokens: number };

/** The published token rates of a service tier, with its own context tiers. */
export interface PublishedServiceTier extends PublishedTokenRates {
  tiers?: readonly PublishedTier[] | null | undefined;
}

/** A published rate, in the form that the cloud and an operator's configuration share. Source: docs/specification.md#reading. */
export interface PublishedRate extends PublishedTokenRates {
  provider: string;
  model: string;
  tiers?: readonly PublishedTier[] | null | undefined;
  effective_from?: CalendarDate | null | undefined;
  /** The rate of thinking, if it is not the output rate. */
  thinking?: string | null | undefined;
  /** The fee for each answered request, in USD per million requests. */
  per_request?: string | null | undefined;
  /** The rates of what is billed besides text tokens, by the names of `USAGE_EXTRAS`, in USD per million units. */
  extras?: Readonly<Record<string, string>> | null | undefined;
  /** The rates of service tiers such as `batch`, `flex` and `priority`. */
  service_tiers?: Readonly<Record<string, PublishedServiceTier>> | null | undefined;
  /** The daily period in UTC in which the price applies, as two times `HH:MM:SS`. */
  daily?: { from: string; to: string; weekdays_only?: boolean | null | undefined } | null | undefined;
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

/** Rates of requests with more than `above_tokens` input tokens, in ascending order. */
const tiers = maybe(v.array(v.object({ above_tokens: v.number(), ...tokenRates })));

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
      tiers,
      effective_from: maybe(v.string()),
      thinking: rateText,
      per_request: rateText,
      extras: maybe(v.record(v.string(), v.string())),
      service_tiers: maybe(v.record(v.string(), v.object({ ...tokenRates, tiers }))),
      daily: maybe(v.object({ from: v.string(), to: v.string(), weekdays_only: maybe(v.boolean()) })),
    }),
  ),
}) satisfies v.GenericSchema<unknown, RatePull & { rates: PublishedRate[] }>;

/** The rates that the cloud publishes. */
export type PublishedRates = v.InferOutput<typeof publishedRatesSchema>;
