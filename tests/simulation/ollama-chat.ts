import {
  type Answer,
  type AnswerPart,
  chooseText,
  noUsage,
  type ProviderCall,
  stated,
  textField,
} from "./answer.ts";
import { midStreamError } from "./provider-errors.ts";

/** Ollama's own chat and generate APIs: streamed unless requested otherwise, one JSON line per piece, counts in the last. */
export function answerOllama(call: ProviderCall): Answer {
  const { numbers, random, scenario } = call;
  const model = textField(call.body, "model", "llama3.2");
  const streaming = call.body.stream !== false;
  const chat = call.path.endsWith("/chat");
  const created_at = new Date(call.nowSeconds * 1_000).toISOString();
  const pieces = chooseText(call);
  const content = (text: string) =>
    chat ? { message: { role: "assistant", content: text } } : { response: text };
  const statesUsage = !scenario.traits.has("no-usage");
  const last = {
    done_reason: scenario.outcome === "incomplete" ? "length" : "stop",
    done: true,
    total_duration: random.integer(1_000_000, 9_000_000_000),
    load_duration: random.integer(1_000_000, 9_000_000),
    ...(statesUsage
      ? {
          prompt_eval_count: numbers.freshInput + numbers.cacheRead,
          ...(numbers.cacheRead > 0 ? { prompt_eval_cached_count: numbers.cacheRead } : {}),
          prompt_eval_duration: random.integer(1_000_000, 9_000_000),
          eval_count: numbers.visibleOutput,
          eval_duration: random.integer(1_000_000, 9_000_000),
        }
      : {}),
  };
  const atEnd = statesUsage
    ? stated({
        promptTokens: numbers.freshInput,
        cacheReadTokens: numbers.cacheRead > 0 ? numbers.cacheRead : null,
        completionTokens: numbers.visibleOutput,
      })
    : noUsage;
  const answer = {
    status: 200,
    streaming,
    model,
    responseId: null,
    serviceTier: null,
    extras: {},
    error: null,
  };
  if (!streaming) {
    const whole = { model, created_at, ...content(pieces.join("")), ...last };
    return {
      ...answer,
      headers: [["Content-Type", "application/json; charset=utf-8"]],
      parts: [{ text: JSON.stringify(whole), stated: atEnd }],
    };
  }
  const headers = [["Content-Type", "application/x-ndjson"]] as const;
  const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
  const parts: AnswerPart[] = pieces.map((text) => ({
    text: line({ model, created_at, ...content(text), done: false }),
  }));
  if (scenario.outcome === "error-in-stream") {
    const { body, error } = midStreamError(call);
    return { ...answer, error, headers, parts: [...parts.slice(0, 2), { text: line(body) }] };
  }
  parts.push({ text: line({ model, created_at, ...content(""), ...last }), stated: atEnd });
  return { ...answer, headers, parts };
}

/** Ollama's embed API: input only. */
export function answerOllamaEmbed(call: ProviderCall): Answer {
  const model = textField(call.body, "model", "nomic-embed-text");
  const body = { model, embeddings: [[0.5, -0.25]], total_duration: 1, load_duration: 1 };
  return {
    status: 200,
    headers: [["Content-Type", "application/json; charset=utf-8"]],
    parts: [
      {
        text: JSON.stringify({ ...body, prompt_eval_count: call.numbers.freshInput }),
        stated: stated({ promptTokens: call.numbers.freshInput, completionTokens: 0 }),
      },
    ],
    streaming: false,
    model,
    responseId: null,
    serviceTier: null,
    extras: {},
    error: null,
  };
}
