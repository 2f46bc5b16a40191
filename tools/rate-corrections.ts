import type { ModelPrice } from "@pydantic/genai-prices";

/** Prices of the source that contradict the provider's own page. `tools/generate-rates.ts` applies them. */
interface RateCorrection {
  /** The source's names of the price lists and models. */
  appliesTo(provider: string, model: string): boolean;
  correct(price: ModelPrice): ModelPrice;
  /** Where the provider states the right price. */
  page: string;
  /** The day on which we read it there. */
  readOn: string;
}

const isOneOf =
  (provider: string, ...models: readonly string[]) =>
  (otherProvider: string, model: string): boolean =>
    provider === otherProvider && models.includes(model);

/** Moves the start of the tiers that begin one token early. A tier applies above its start. */
function startAbove272k(price: ModelPrice): ModelPrice {
  const moved = Object.entries(price).map(([key, value]) => [
    key,
    typeof value !== "object"
      ? value
      : {
          ...value,
          tiers: value.tiers.map((tier) => (tier.start === 271_999 ? { ...tier, start: 272_000 } : tier)),
        },
  ]);
  return Object.fromEntries(moved);
}

/** The corrections, each with the page that it follows. */
export const RATE_CORRECTIONS: readonly RateCorrection[] = [
  {
    // "Prompts with >272K input tokens"; the source reports it as its issue #711.
    appliesTo: (provider) => provider === "openai" || provider === "aws",
    correct: startAbove272k,
    page: "https://developers.openai.com/api/docs/models/gpt-5.4-pro",
    readOn: "2026-11-23",
  },
  {
    // The source has no price for audio, so audio would be priced as text.
    appliesTo: isOneOf("openai", "gpt-4o-audio-preview"),
    correct: (price) => ({ ...price, input_audio_mtok: 40, output_audio_mtok: 80 }),
    page: "https://developers.openai.com/api/docs/models/gpt-4o-audio-preview",
    readOn: "2026-11-23",
  },
  {
    appliesTo: isOneOf("openai", "gpt-4o-mini-audio-preview"),
    correct: (price) => ({ ...price, input_audio_mtok: 10, output_audio_mtok: 20 }),
    page: "https://developers.openai.com/api/docs/models/gpt-4o-mini-audio-preview",
    readOn: "2026-11-23",
  },
];

/** Applies the corrections to one price of a model. */
export function correctPrice(provider: string, model: string, price: ModelPrice): ModelPrice {
  let corrected = price;
  for (const { appliesTo, correct } of RATE_CORRECTIONS)
    if (appliesTo(provider, model)) corrected = correct(corrected);
  return corrected;
}
