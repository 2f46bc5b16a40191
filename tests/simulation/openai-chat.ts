import {
  type Answer,
  type AnswerPart,
  answeredModel,
  chooseText,
  noUsage,
  type ProviderCall,
  type StatedUsage,
  sseEvent,
  stated,
  textField,
} from "./answer.ts";
import { midStreamError } from "./provider-errors.ts";
import { hexDigits } from "./seeded-random.ts";

/**
 * Chat Completions as used by OpenAI, xAI, OpenRouter and Ollama's compatible path. `prompt_tokens` includes the tokens that
 * the cache read. OpenAI's and OpenRouter's `completion_tokens` include the reasoning, xAI's do not. In a stream, OpenAI and
 * Ollama state usage only on request, the other two always; xAI and OpenRouter also state the cost.
 */
export function answerOpenAiChat(call: ProviderCall): Answer {
  const { provider, random, scenario } = call;
  const requestedModel = textField(call.body, "model", "gpt-5");
  const model = provider === "openai" ? answeredModel(requestedModel) : requestedModel;
  const responseId = chooseId(call);
  const streaming = call.body.stream === true;
  const serviceTier = chooseServiceTier(call);
  const { usageText, usageStated } = chooseUsage(call);
  const tells = isUsageStated(call, streaming);
  const pieces = chooseText(call);
  const toolCall = scenario.traits.has("tools")
    ? { id: `call_${random.text(24)}`, type: "function", function: { name: "get_weather", arguments: "" } }
    : null;
  const cuts = ['{"ci', 'ty":"Zür', 'ich"}'];
  const finishReason =
    toolCall !== null ? "tool_calls" : scenario.outcome === "incomplete" ? "length" : "stop";
  const base = {
    id: responseId,
    object: streaming ? "chat.completion.chunk" : "chat.completion",
    created: call.nowSeconds,
    model,
    ...(provider === "openai" ? { service_tier: serviceTier } : {}),
    ...(provider === "openrouter" ? { provider: "Simulated" } : {}),
    system_fingerprint: provider === "openai" ? `fp_${random.text(10, hexDigits)}` : null,
  };
  const answer = { status: 200, streaming, model, responseId, serviceTier, extras: {}, error: null };

  if (!streaming) {
    const message = {
      role: "assistant",
      content: toolCall === null ? pieces.join("") : null,
      ...(toolCall === null
        ? {}
        : { tool_calls: [{ ...toolCall, function: { name: "get_weather", arguments: cuts.join("") } }] }),
      ...(scenario.traits.has("thinking") && provider !== "openai" ? { reasoning: "I count." } : {}),
      refusal: null,
      annotations: [],
    };
    const body = { ...base, choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }] };
    const text = tells ? withUsage(body, usageText) : JSON.stringify(body);
    return {
      ...answer,
      headers: [["content-type", "application/json"], ...commonHeaders(call)],
      parts: [{ text, stated: tells ? usageStated : noUsage }],
    };
  }

  const chunk = (delta: unknown, finish: string | null): string =>
    sseEvent(null, {
      ...base,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      // OpenAI marks all chunks before the last with a null usage, and pads against observers of sizes.
      ...(provider === "openai" && tells ? { usage: null } : {}),
      ...(provider === "openai" ? { obfuscation: random.text(random.integer(2, 12)) } : {}),
    });
  const parts: AnswerPart[] = [{ text: chunk({ role: "assistant", content: "", refusal: null }, null) }];
  if (provider === "openrouter") parts.unshift({ text: ": OPENROUTER PROCESSING\n\n" });
  for (const content of pieces) parts.push({ text: chunk({ content }, null) });
  if (toolCall !== null) {
    parts.push({ text: chunk({ tool_calls: [{ index: 0, ...toolCall }] }, null) });
    for (const piece of cuts) {
      parts.push({ text: chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }, null) });
    }
  }
  const headers = [
    ["content-type", "text/event-stream; charset=utf-8"],
    ["cache-control", "no-cache"],
    ...commonHeaders(call),
  ] as const;
  if (scenario.outcome === "error-in-stream") {
    const { body, error } = midStreamError(call);
    const before = parts.slice(0, Math.ceil(parts.length / 2));
    return { ...answer, error, headers, parts: [...before, { text: sseEvent(null, body) }] };
  }
  parts.push({ text: chunk({}, finishReason) });
  if (tells) {
    const last = withUsage({ ...base, choices: [] }, usageText);
    parts.push({ text: `data: ${last}\n\n`, stated: { ...usageStated, tokensComplete: false } });
  }
  parts.push({ text: "data: [DONE]\n\n", stated: tells ? usageStated : noUsage });
  return { ...answer, headers, parts };
}

function isUsageStated(call: ProviderCall, streaming: boolean): boolean {
  if (call.scenario.traits.has("no-usage")) return false;
  if (!streaming || call.provider === "xai" || call.provider === "openrouter") return true;
  const options = call.body.stream_options;
  return typeof options === "object" && options !== null && Reflect.get(options, "include_usage") === true;
}

/** The usage object as JSON text, because its cost must be written digit by digit. */
function chooseUsage(call: ProviderCall): { usageText: string; usageStated: StatedUsage } {
  const { numbers, provider, random, scenario } = call;
  const cacheWrite = scenario.traits.has("cache-write") ? numbers.cacheWrite5m : 0;
  const prompt = numbers.freshInput + numbers.cacheRead + cacheWrite;
  const excludesReasoning = provider === "xai";
  const completion = numbers.visibleOutput + (excludesReasoning ? 0 : numbers.thinking);
  const total = prompt + completion + (excludesReasoning ? numbers.thinking : 0);
  const usage: Record<string, unknown> = {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total,
  };
  if (provider === "ollama") {
    return {
      usageText: JSON.stringify(usage),
      usageStated: stated({ promptTokens: prompt, completionTokens: completion }),
    };
  }
  usage.prompt_tokens_details = {
    ...(provider === "xai" ? { text_tokens: prompt, image_tokens: 0 } : {}),
    cached_tokens: numbers.cacheRead,
    ...(scenario.traits.has("cache-write") ? { cache_write_tokens: cacheWrite } : {}),
    audio_tokens: 0,
  };
  usage.completion_tokens_details = {
    reasoning_tokens: numbers.thinking,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  };
  const counts = {
    promptTokens: numbers.freshInput,
    cacheReadTokens: numbers.cacheRead,
    cacheWriteTokens: scenario.traits.has("cache-write") ? cacheWrite : null,
    completionTokens: numbers.visibleOutput,
    thinkingTokens: numbers.thinking,
  };
  if (provider === "xai") {
    usage.num_sources_used = numbers.webSearches;
    // 1 USD is 10^10 ticks, so that a tick is 100 pico-USD.
    const ticks = prompt * 2_000 + (completion + numbers.thinking) * 5_000 + random.integer(0, 999);
    usage.cost_in_usd_ticks = ticks;
    return { usageText: JSON.stringify(usage), usageStated: stated(counts, true, BigInt(ticks) * 100n) };
  }
  if (provider === "openrouter") {
    // Whole nano-USD; a JSON writer prints small values with an exponent, like the real service.
    const nanoUsd = prompt * 3_000 + completion * 15_000 + random.integer(0, 999);
    const cost = String(nanoUsd / 1e9);
    const opening = JSON.stringify({ ...usage, is_byok: false }).slice(0, -1);
    return {
      usageText: `${opening},"cost":${cost},"cost_details":{"upstream_inference_cost":${cost}}}`,
      usageStated: stated(counts, true, BigInt(nanoUsd) * 1_000n),
    };
  }
  return { usageText: JSON.stringify(usage), usageStated: stated(counts) };
}

function withUsage(body: Record<string, unknown>, usageText: string): string {
  return `${JSON.stringify(body).slice(0, -1)},"usage":${usageText}}`;
}

function chooseId({ provider, random, nowSeconds }: ProviderCall): string {
  switch (provider) {
    case "xai":
      return [8, 4, 4, 4, 12].map((length) => random.text(length, hexDigits)).join("-");
    case "openrouter":
      return `gen-${nowSeconds}-${random.text(20)}`;
    case "ollama":
      return `chatcmpl-${random.integer(1, 999)}`;
    default:
      return `chatcmpl-${random.text(29)}`;
  }
}

/** The tier that OpenAI states it used; other dialects state none. */
export function chooseServiceTier({ provider, scenario }: ProviderCall): string | null {
  if (provider !== "openai") return null;
  if (scenario.traits.has("flex")) return "flex";
  return scenario.traits.has("priority") ? "priority" : "default";
}

/** The headers that OpenAI and similar providers send with each response, including errors. */
export function commonHeaders(call: ProviderCall): readonly (readonly [string, string])[] {
  return [
    ["x-request-id", `req_${call.random.text(32, hexDigits)}`],
    ...(call.provider === "openai"
      ? ([
          ["openai-organization", "simulated"],
          ["openai-processing-ms", "7"],
          ["openai-version", "2020-10-01"],
          ["x-ratelimit-limit-requests", "10000"],
          ["x-ratelimit-remaining-requests", "9999"],
        ] as const)
      : []),
    ["Server", "cloudflare"],
    ["CF-RAY", `${call.random.text(16, hexDigits)}-ZRH`],
  ];
}
