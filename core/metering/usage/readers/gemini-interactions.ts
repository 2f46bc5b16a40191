import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { addCounts, asObject, firstCount, NO_TOKENS, readCount, splitTotal } from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";
import { setExtra, setPartExtra } from "../usage-extras.ts";

const KNOWN: KnownMembers = {
  total_input_tokens: true,
  initial_input_tokens: true,
  total_output_tokens: true,
  total_thought_tokens: true,
  total_cached_tokens: true,
  total_tool_use_tokens: true,
  total_tokens: true,
  input_tokens_by_modality: true,
  output_tokens_by_modality: true,
  cached_tokens_by_modality: true,
  tool_use_tokens_by_modality: true,
  grounding_tool_count: true,
};

const ANSWER = ["id", "model", "agent", "status", "usage"] as const;

/**
 * Gemini's Interactions: single responses, streams and polled background interactions.
 *
 * - `total_input_tokens` is **inclusive** of `total_cached_tokens`, and **exclusive** of `total_tool_use_tokens`.
 * - `total_output_tokens` is **exclusive** of `total_thought_tokens`, as in generateContent, unless `total_tokens` equals the
 *   sum without the thoughts. A larger `total_tokens` than the sum of all leaves the usage incomplete.
 * - These are proto3 fields, which omit zeros.
 * - A stream states usage in `interaction` of `interaction.completed`. A background interaction has no usage until it is
 *   complete. Only a response with usage makes a record, under the interaction's id.
 * - `grounding_tool_count` states the number of searches.
 */
export const geminiInteractions = defineApiReader({
  members: [...ANSWER, ...ANSWER.map((member) => `interaction.${member}`)],
  keys: ["usage"],
  promptMembers: ["system_instruction", "input"],
  start: startInteraction,
});

function startInteraction({ fetches }: AnswerFacts): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let status: string | null = null;
  let usage: Readonly<Record<string, unknown>> | null = null;
  return {
    knowsModel: () => model !== null,
    read(message, whole) {
      const at = whole ? "" : "interaction.";
      model = message.string(`${at}model`) ?? message.string(`${at}agent`) ?? model;
      responseId = message.string(`${at}id`) ?? responseId;
      status = message.string(`${at}status`) ?? status;
      const stated = message.value(`${at}usage`);
      if (isObject(stated)) usage = stated;
    },
    end() {
      const stated = asObject(usage);
      const extras: Record<string, number> = {};
      const prompt = readCount(stated.total_input_tokens);
      const output = firstCount(stated.total_output_tokens, prompt === null ? null : 0);
      const thoughts = readCount(stated.total_thought_tokens) ?? 0;
      const toolUse = readCount(stated.total_tool_use_tokens) ?? 0;
      const input = prompt === null ? null : addCounts(prompt, toolUse);
      const inputs = splitTotal(input, [
        prompt === null ? null : (readCount(stated.total_cached_tokens) ?? 0),
      ]);
      const thoughtsInside =
        thoughts > 0 && input !== null && output !== null && stated.total_tokens === input + output;
      const outputs = splitTotal(thoughtsInside ? output : addTo(output, thoughts), [
        output === null ? null : thoughts,
      ]);
      setModalities(extras, stated, inputs, outputs.rest);
      setExtra(extras, "web_search_requests", searchesIn(stated.grounding_tool_count));
      const unfinished = usage === null && (fetches || status === "in_progress" || status === "queued");
      return {
        tokens: {
          ...NO_TOKENS,
          promptTokens: inputs.rest,
          cacheReadTokens: inputs.parts[0] ?? null,
          completionTokens: outputs.rest,
          thinkingTokens: outputs.parts[0] ?? null,
        },
        tokensComplete:
          input !== null &&
          output !== null &&
          inputs.consistent &&
          outputs.consistent &&
          (readCount(stated.total_tokens) ?? 0) <= input + output + thoughts,
        model,
        responseId,
        serviceTier: null,
        extras,
        providerCostPicoUsd: null,
        unknownUsage: unknownUsage(stated, KNOWN),
        ...(unfinished ? { noRecord: "unfinished" as const } : {}),
      };
    },
  };
}

const addTo = (count: number | null, more: number): number | null =>
  count === null ? null : addCounts(count, more);

const MEDIA = ["audio", "image", "video"] as const;

function setModalities(
  extras: Record<string, number>,
  usage: Readonly<Record<string, unknown>>,
  inputs: { rest: number | null; parts: (number | null)[] },
  visible: number | null,
): void {
  for (const medium of MEDIA) {
    const inCache = tokensOf(usage.cached_tokens_by_modality, medium);
    const input =
      tokensOf(usage.input_tokens_by_modality, medium) + tokensOf(usage.tool_use_tokens_by_modality, medium);
    setPartExtra(extras, `${medium}_input_tokens`, Math.max(0, input - inCache), inputs.rest);
    if (medium !== "video")
      setPartExtra(extras, `${medium}_cache_read_tokens`, inCache, inputs.parts[0] ?? null);
    setPartExtra(
      extras,
      `${medium}_output_tokens`,
      tokensOf(usage.output_tokens_by_modality, medium),
      visible,
    );
  }
}

function tokensOf(entries: unknown, medium: string): number {
  if (!Array.isArray(entries)) return 0;
  let sum = 0;
  for (const entry of entries) {
    const { modality, tokens } = asObject(entry);
    // A document counts as an image, because it is priced as one.
    const name = modality === "document" ? "image" : modality;
    if (name === medium) sum += readCount(tokens) ?? 0;
  }
  return sum;
}

function searchesIn(entries: unknown): number {
  if (!Array.isArray(entries)) return 0;
  let sum = 0;
  for (const entry of entries) {
    const { type, count } = asObject(entry);
    if (type === "google_search") sum += readCount(count) ?? 0;
  }
  return sum;
}
