import type { CalendarDate } from "../values/time.ts";
import type { MatchRule } from "./model-match.ts";
import type { UsageExtraName } from "./usage-extras.ts";

/** Media whose tokens cost what text tokens do, with the page that says so. */
interface MediaAtTextRate {
  /** The price list (see `priceListOf`); null for every list. */
  provider: string | null;
  /** The models, by the name on the list; null for all of them. */
  models: MatchRule | null;
  extras: readonly UsageExtraName[];
  exceptEmbeddings: boolean;
  page: string;
  /** The day on which we read it there; null if the page still has to be checked. */
  readOn: CalendarDate | null;
}

/**
 * Where a list without a rate for a medium has its price in the rate for text. A medium that is not here and has no rate is
 * unpriced: audio usually costs several times as much as text, and so does every medium of a multimodal embedding.
 */
export const MEDIA_AT_TEXT_RATE: readonly MediaAtTextRate[] = [
  // Vision models count an image or a frame as input tokens, at the rate of the prompt. Live models and Qwen-Omni have other
  // rates.
  {
    provider: null,
    models: ["&", "!live", "!native", ["!omni", "^gemini", "~nemotron", "~mimo"]],
    extras: ["image_input_tokens", "image_cache_read_tokens", "video_input_tokens"],
    exceptEmbeddings: true,
    page: "https://developers.openai.com/api/docs/guides/images-vision#calculating-costs",
    readOn: null,
  },
  // Google lists audio by itself only where its rate differs.
  {
    provider: "google",
    models: ["&", "^gemini", "!live", "!native"],
    extras: ["audio_input_tokens", "audio_cache_read_tokens"],
    exceptEmbeddings: true,
    page: "https://ai.google.dev/gemini-api/docs/pricing",
    readOn: null,
  },
  // The only output of these models is the medium, and the output rate is its price.
  {
    provider: "google",
    models: "$-tts",
    extras: ["audio_output_tokens"],
    exceptEmbeddings: false,
    page: "https://ai.google.dev/gemini-api/docs/pricing",
    readOn: null,
  },
  {
    provider: "openai",
    models: "$-tts",
    extras: ["audio_output_tokens"],
    exceptEmbeddings: false,
    page: "https://developers.openai.com/api/docs/pricing",
    readOn: null,
  },
  {
    provider: "openai",
    models: "^gpt-image",
    extras: ["image_output_tokens"],
    exceptEmbeddings: false,
    page: "https://developers.openai.com/api/docs/pricing",
    readOn: null,
  },
  // "Prompt text, audio and image tokens" are charged at the prompt's price.
  {
    provider: "x-ai",
    models: null,
    extras: ["audio_input_tokens", "audio_cache_read_tokens"],
    exceptEmbeddings: true,
    page: "https://docs.x.ai/docs/key-information/consumption-and-rate-limits",
    readOn: "2026-11-23",
  },
];
