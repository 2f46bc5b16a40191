import {
  type Answer,
  type AnswerPart,
  answeredModel,
  chooseText,
  noUsage,
  type ProviderCall,
  sseEvent,
  stated,
  textField,
} from "./answer.ts";
import { chooseServiceTier, commonHeaders } from "./openai-chat.ts";
import { midStreamError } from "./provider-errors.ts";
import { hexDigits } from "./seeded-random.ts";

/**
 * OpenAI's Responses API: usage once, at the end, with the cached input included in `input_tokens` and the reasoning
 * in `output_tokens`. A stream states it in `response.completed` or `response.incomplete`.
 */
export function answerOpenAiResponses(call: ProviderCall): Answer {
  const { numbers, random, scenario } = call;
  const requestedModel = textField(call.body, "model", "gpt-5");
  const model = answeredModel(requestedModel);
  const streaming = call.body.stream === true;
  const responseId = `resp_${random.text(48, hexDigits)}`;
  const serviceTier = chooseServiceTier(call);
  const incomplete = scenario.outcome === "incomplete";
  const statesUsage = !scenario.traits.has("no-usage");
  const cacheWrite = scenario.traits.has("cache-write") ? numbers.cacheWrite5m : 0;
  const input = numbers.freshInput + numbers.cacheRead + cacheWrite;
  const output = numbers.visibleOutput + numbers.thinking;
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: numbers.cacheRead, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: numbers.thinking },
    total_tokens: input + output,
  };
  const atEnd = statesUsage
    ? stated({
        promptTokens: numbers.freshInput,
        cacheReadTokens: numbers.cacheRead,
        cacheWriteTokens: cacheWrite,
        completionTokens: numbers.visibleOutput,
        thinkingTokens: numbers.thinking,
      })
    : noUsage;

  const pieces = chooseText(call);
  const items = outputItems(call, pieces, incomplete);
  const response = (status: string, ended: boolean) => ({
    id: responseId,
    object: "response",
    created_at: call.nowSeconds,
    status,
    background: false,
    completed_at: ended ? call.nowSeconds : null,
    error: null,
    incomplete_details: ended && incomplete ? { reason: "max_output_tokens" } : null,
    instructions: call.body.instructions ?? null,
    max_output_tokens: null,
    model,
    output: ended ? items.map((item) => item.whole) : [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: scenario.traits.has("thinking") ? "medium" : null, summary: null },
    service_tier: ended ? serviceTier : "auto",
    store: true,
    temperature: 1,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: call.body.tools ?? [],
    top_p: 1,
    truncation: "disabled",
    usage: ended && statesUsage ? usage : null,
    metadata: {},
  });
  const status = incomplete ? "incomplete" : "completed";
  const answer = { status: 200, streaming, model, responseId, serviceTier, extras: {}, error: null };

  if (!streaming) {
    return {
      ...answer,
      headers: [["content-type", "application/json"], ...commonHeaders(call)],
      // OpenAI indents the JSON of this one.
      parts: [{ text: JSON.stringify(response(status, true), null, 2), stated: atEnd }],
    };
  }

  let sequence = 0;
  const event = (type: string, fields: Record<string, unknown>): AnswerPart => ({
    text: sseEvent(type, { type, sequence_number: sequence++, ...fields }),
  });
  const parts: AnswerPart[] = [
    event("response.created", { response: response("in_progress", false) }),
    event("response.in_progress", { response: response("in_progress", false) }),
  ];
  for (const [output_index, item] of items.entries()) {
    parts.push(event("response.output_item.added", { output_index, item: item.start }));
    for (const { type, ...fields } of item.events) parts.push(event(type, { output_index, ...fields }));
    parts.push(event("response.output_item.done", { output_index, item: item.whole }));
  }
  const headers = [
    ["content-type", "text/event-stream; charset=utf-8"],
    ["cache-control", "no-cache"],
    ...commonHeaders(call),
  ] as const;
  if (scenario.outcome === "error-in-stream") {
    const { error } = midStreamError(call);
    const before = parts.slice(0, Math.ceil(parts.length / 2));
    sequence = before.length;
    const told = event("error", { code: error.code, message: error.message, param: null });
    // This event has no place for an error's type.
    return { ...answer, error: { ...error, type: null }, headers, parts: [...before, told] };
  }
  parts.push({ ...event(`response.${status}`, { response: response(status, true) }), stated: atEnd });
  return { ...answer, headers, parts };
}

interface OutputItem {
  whole: Record<string, unknown>;
  start: Record<string, unknown>;
  events: readonly ({ type: string } & Record<string, unknown>)[];
}

function outputItems(call: ProviderCall, pieces: readonly string[], incomplete: boolean): OutputItem[] {
  const { random, scenario } = call;
  const status = incomplete ? "incomplete" : "completed";
  const items: OutputItem[] = [];
  if (scenario.traits.has("thinking")) {
    const reasoning = { id: `rs_${random.text(48, hexDigits)}`, type: "reasoning", summary: [] };
    items.push({ whole: reasoning, start: reasoning, events: [] });
  }
  if (scenario.traits.has("tools")) {
    const item_id = `fc_${random.text(48, hexDigits)}`;
    const cuts = ['{"ci', 'ty":"Zür', 'ich"}'];
    const start = {
      id: item_id,
      type: "function_call",
      status: "in_progress",
      arguments: "",
      call_id: `call_${random.text(24)}`,
      name: "get_weather",
    };
    items.push({
      whole: { ...start, status, arguments: cuts.join("") },
      start,
      events: [
        ...cuts.map((delta) => ({ type: "response.function_call_arguments.delta", item_id, delta })),
        { type: "response.function_call_arguments.done", item_id, arguments: cuts.join("") },
      ],
    });
    return items;
  }
  const item_id = `msg_${random.text(48, hexDigits)}`;
  const part = (text: string) => ({ type: "output_text", annotations: [], logprobs: [], text });
  const place = { item_id, content_index: 0 };
  const text = pieces.join("");
  items.push({
    whole: { id: item_id, type: "message", status, content: [part(text)], role: "assistant" },
    start: { id: item_id, type: "message", status: "in_progress", content: [], role: "assistant" },
    events: [
      { type: "response.content_part.added", ...place, part: part("") },
      ...pieces.map((delta) => ({ type: "response.output_text.delta", ...place, delta, logprobs: [] })),
      { type: "response.output_text.done", ...place, text, logprobs: [] },
      { type: "response.content_part.done", ...place, part: part(text) },
    ],
  });
  return items;
}
