import { addCounts, asObject, firstCount, readCount } from "../token-counts.ts";

type UsageObject = Readonly<Record<string, unknown>>;

/** The totals of an OpenAI-compatible usage object, after everything that the host counts beside them was added. */
interface OpenaiTotals {
  /** All input: fresh and cached, in every modality. */
  input: number | null;
  /** All output, including reasoning. */
  output: number | null;
  cached: number | null;
  cacheWritten: number | null;
  reasoning: number | null;
  audioInput: number | null;
  /**
   * False if `total_tokens` exceeds the sum of input and output, and no stated part is the difference; or if the response has
   * a medium whose tokens are not stated.
   */
  explained: boolean;
  inputDetails: UsageObject;
  outputDetails: UsageObject;
}

/**
 * Providers whose `completion_tokens` exclude reasoning: xAI in Chat Completions (docs.x.ai, "Reasoning"; its Responses API
 * includes it, like OpenAI's) and Perplexity, which also bills it separately.
 */
const EXCLUDES_REASONING: ReadonlySet<string> = new Set(["xai", "perplexity"]);

/** Google's providers, whose compatible endpoint states neither thoughts nor media. */
const HIDES_DETAILS: ReadonlySet<string> = new Set(["gemini", "vertex"]);

/** The models of Google whose output is images and text, which have different rates. */
const IMAGE_MODEL = /-image\b/;

/**
 * Reads the totals of an OpenAI-compatible usage object. Most hosts include every part in `prompt_tokens` and
 * `completion_tokens`. Some parts are counted beside them, which `total_tokens` proves:
 *
 * - Reasoning, if the total is the sum of all three, or if there is more reasoning than output: a part cannot exceed the whole
 *   (recordings of Vercel's AI Gateway).
 * - Mistral's audio (9 + 375 + 248 = 632, pydantic/genai-prices#591), even without a total if there is more audio than input. A
 *   transcription that states only the seconds leaves the audio to the total as well (docs.mistral.ai, "Audio transcriptions").
 *   A chat whose audio has seconds and no tokens is incomplete.
 * - Cached tokens, on hosts that translate Anthropic's exclusive counts.
 * - Google's compatible endpoint states no thoughts, but its total is the native `totalTokenCount`, which includes them
 *   (mozilla-ai/any-llm#1290 has both for one response). It has no server tools, the only other part of that total, so the
 *   difference is exactly the thoughts. What an image model answered there may be images or text, so its usage is incomplete.
 *
 * An absent output is the total minus the input. A larger total that nothing explains leaves the usage incomplete, because
 * the difference could be input or output.
 */
export function readOpenaiTotals(
  usage: UsageObject,
  { provider, model, style }: { provider: string; model: string | null; style: "chat" | "responses" },
): OpenaiTotals {
  const inputDetails = asObject(
    usage.prompt_tokens_details ??
      usage.input_tokens_details ??
      usage.input_token_details ??
      usage.prompt_token_details,
  );
  const outputDetails = asObject(
    usage.completion_tokens_details ?? usage.output_tokens_details ?? usage.output_token_details,
  );
  const total = readCount(usage.total_tokens);
  const input = firstCount(usage.prompt_tokens, usage.input_tokens);
  const stated = firstCount(usage.completion_tokens, usage.output_tokens);
  const reasoning = firstCount(outputDetails.reasoning_tokens, usage.reasoning_tokens);
  const totals: OpenaiTotals = {
    input,
    output: stated,
    cached: firstCount(
      inputDetails.cached_tokens,
      usage.prompt_cache_hit_tokens,
      usage.cached_tokens,
      usage.num_cached_tokens,
    ),
    cacheWritten: readCount(inputDetails.cache_write_tokens),
    reasoning,
    audioInput: readCount(inputDetails.audio_tokens),
    explained: true,
    inputDetails,
    outputDetails,
  };
  if (stated === null) {
    if (total !== null && input !== null) totals.output = readCount(total - input);
    return totals;
  }
  const isChat = style === "chat";
  const listed = isChat && EXCLUDES_REASONING.has(provider);
  if (reasoning !== null && (listed || reasoning > stated)) totals.output = addCounts(stated, reasoning);
  const hidesDetails = isChat && HIDES_DETAILS.has(provider);
  if (total !== null && input !== null && totals.output !== null) {
    const excess = total - input - totals.output;
    if (excess > 0) explainExcess(totals, excess, totals.output === stated ? (reasoning ?? 0) : 0, usage);
    if (!totals.explained && hidesDetails && !reasoning) {
      totals.reasoning = excess;
      totals.output = addCounts(stated, excess);
      totals.explained = true;
    }
  }
  addAudioBesideInput(totals);
  const hasHiddenAudio = isChat && totals.audioInput === null && Number(usage.prompt_audio_seconds) > 0;
  const hasHiddenImages =
    hidesDetails && IMAGE_MODEL.test(model ?? "") && outputDetails.image_tokens === undefined;
  if (hasHiddenAudio || hasHiddenImages) totals.explained = false;
  return totals;
}

/** Adds the audio to the input if it exceeds the input, and so cannot be a part of it. */
function addAudioBesideInput(totals: OpenaiTotals): void {
  const { input, audioInput } = totals;
  if (input !== null && audioInput !== null && audioInput > input)
    totals.input = addCounts(input, audioInput);
}

/** Finds the parts whose sum is the excess of the total, and adds them to the input and the output. */
function explainExcess(totals: OpenaiTotals, excess: number, reasoning: number, usage: UsageObject): void {
  const cache = (totals.cached ?? 0) + (totals.cacheWritten ?? 0);
  const audio = totals.audioInput ?? 0;
  const parts: readonly (readonly [input: number, output: number])[] = [
    [0, reasoning],
    [audio, 0],
    [audio, reasoning],
    [cache, 0],
    [cache, reasoning],
  ];
  const found = parts.find(([beside, apart]) => beside + apart === excess);
  if (found !== undefined) {
    totals.input = addCounts(totals.input, found[0]);
    totals.output = addCounts(totals.output, found[1]);
  } else if (typeof usage.prompt_audio_seconds === "number" && totals.audioInput === null) {
    totals.input = addCounts(totals.input, excess);
    totals.audioInput = excess;
  } else totals.explained = false;
}
