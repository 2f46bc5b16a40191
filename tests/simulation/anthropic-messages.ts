import {
  type Answer,
  type AnswerPart,
  answeredModel,
  chooseText,
  type ProviderCall,
  sseEvent,
  stated,
  textField,
} from "./answer.ts";
import { midStreamError } from "./provider-errors.ts";

interface ContentBlock {
  /** As in a complete message. */
  whole: Record<string, unknown>;
  /** As in `content_block_start`. */
  start: Record<string, unknown>;
  deltas: readonly Record<string, unknown>[];
}

/**
 * Anthropic's Messages API. Its `input_tokens` excludes tokens that the cache read or wrote; `output_tokens` includes the
 * thinking. A stream states the input in `message_start`, with the cache writes split by time to live, and the
 * running totals in `message_delta`, without the split.
 */
export function answerAnthropicMessages(call: ProviderCall): Answer {
  const { numbers, random, scenario } = call;
  const requestedModel = textField(call.body, "model", "claude-sonnet-4-5");
  const model = answeredModel(requestedModel);
  const responseId = `msg_01${random.text(22)}`;
  const streaming = call.body.stream === true;
  const serviceTier = scenario.traits.has("priority") ? "priority" : "standard";
  const blocks = contentBlocks(call);
  const searched = numbers.webSearches > 0;
  const stopReason =
    scenario.outcome === "incomplete" ? "max_tokens" : scenario.traits.has("tools") ? "tool_use" : "end_turn";

  const cacheWrite = numbers.cacheWrite5m + numbers.cacheWrite1h;
  // Input from a server tool is not known at the start of the stream.
  const laterInput = numbers.toolResultInput;
  const output = numbers.visibleOutput + numbers.thinking;
  const outputDetails = numbers.thinking > 0 ? { thinking_tokens: numbers.thinking } : null;
  const serverToolUse = searched ? { web_search_requests: numbers.webSearches, web_fetch_requests: 0 } : null;
  const usage = (input: number, outputTokens: number, atEnd: boolean) => ({
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: numbers.cacheRead,
    cache_creation: {
      ephemeral_5m_input_tokens: numbers.cacheWrite5m,
      ephemeral_1h_input_tokens: numbers.cacheWrite1h,
    },
    output_tokens: outputTokens,
    output_tokens_details: atEnd ? outputDetails : null,
    server_tool_use: atEnd ? serverToolUse : null,
    service_tier: serviceTier,
    inference_geo: "global",
    speed: "standard",
  });
  const cacheCounts = {
    cacheReadTokens: numbers.cacheRead,
    cacheWriteTokens: cacheWrite,
    cacheWrite1hTokens: numbers.cacheWrite1h,
  };
  const statedAtEnd = stated({
    promptTokens: numbers.freshInput + laterInput,
    ...cacheCounts,
    completionTokens: numbers.visibleOutput,
    thinkingTokens: numbers.thinking > 0 ? numbers.thinking : null,
  });
  const base = { id: responseId, type: "message", role: "assistant", model };
  const answer = {
    status: 200,
    streaming,
    model,
    responseId,
    serviceTier,
    extras: searched ? { web_search_requests: numbers.webSearches } : {},
    error: null,
  };

  if (!streaming) {
    const message = {
      ...base,
      container: null,
      content: blocks.map((block) => block.whole),
      diagnostics: null,
      stop_reason: stopReason,
      stop_sequence: null,
      stop_details: null,
      usage: usage(numbers.freshInput + laterInput, output, true),
    };
    return {
      ...answer,
      headers: [["content-type", "application/json"], ...commonHeaders(call)],
      parts: [{ text: JSON.stringify(message), stated: statedAtEnd }],
    };
  }

  const startOutput = random.integer(1, 5);
  const parts: AnswerPart[] = [
    {
      text: sseEvent("message_start", {
        type: "message_start",
        message: {
          ...base,
          container: null,
          content: [],
          diagnostics: null,
          stop_reason: null,
          stop_sequence: null,
          stop_details: null,
          usage: usage(numbers.freshInput, startOutput, false),
        },
      }),
      stated: stated(
        { promptTokens: numbers.freshInput, ...cacheCounts, completionTokens: startOutput },
        false,
      ),
    },
  ];
  for (const [index, block] of blocks.entries()) {
    parts.push({
      text: sseEvent("content_block_start", {
        type: "content_block_start",
        index,
        content_block: block.start,
      }),
    });
    if (index === 0) parts.push({ text: sseEvent("ping", { type: "ping" }) });
    for (const delta of block.deltas) {
      parts.push({ text: sseEvent("content_block_delta", { type: "content_block_delta", index, delta }) });
    }
    parts.push({ text: sseEvent("content_block_stop", { type: "content_block_stop", index }) });
  }
  const headers = [
    ["content-type", "text/event-stream; charset=utf-8"],
    ["cache-control", "no-cache"],
    ...commonHeaders(call),
  ] as const;
  if (scenario.outcome === "error-in-stream") {
    const { body, error } = midStreamError(call);
    const before = parts.slice(0, Math.ceil(parts.length / 2));
    return { ...answer, extras: {}, error, headers, parts: [...before, { text: sseEvent("error", body) }] };
  }
  parts.push(
    {
      text: sseEvent("message_delta", {
        type: "message_delta",
        delta: { container: null, stop_reason: stopReason, stop_sequence: null, stop_details: null },
        usage: {
          input_tokens: numbers.freshInput + laterInput,
          cache_creation_input_tokens: cacheWrite,
          cache_read_input_tokens: numbers.cacheRead,
          output_tokens: output,
          output_tokens_details: outputDetails,
          server_tool_use: serverToolUse,
        },
      }),
      stated: { ...statedAtEnd, tokensComplete: false },
    },
    { text: sseEvent("message_stop", { type: "message_stop" }), stated: statedAtEnd },
  );
  return { ...answer, headers, parts };
}

function contentBlocks(call: ProviderCall): ContentBlock[] {
  const { random, scenario } = call;
  const blocks: ContentBlock[] = [];
  if (scenario.traits.has("thinking")) {
    const signature = random.text(64);
    const thoughts = ["The question ", "asks for a count; ", "I count."];
    blocks.push({
      whole: { type: "thinking", thinking: thoughts.join(""), signature },
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        ...thoughts.map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature },
      ],
    });
  }
  if (scenario.traits.has("search")) {
    const id = `srvtoolu_01${random.text(22)}`;
    const query = JSON.stringify({ query: "what a token costs" });
    const caller = { type: "direct" };
    const found = {
      type: "web_search_tool_result",
      caller,
      tool_use_id: id,
      content: [
        {
          type: "web_search_result",
          title: "Prices",
          url: "https://prices.example/",
          encrypted_content: random.text(80),
          page_age: null,
        },
      ],
    };
    blocks.push(
      {
        whole: { type: "server_tool_use", id, caller, name: "web_search", input: JSON.parse(query) },
        start: { type: "server_tool_use", id, caller, name: "web_search", input: {} },
        deltas: [{ type: "input_json_delta", partial_json: query }],
      },
      { whole: found, start: found, deltas: [] },
    );
  }
  const pieces = chooseText(call);
  blocks.push({
    whole: { type: "text", text: pieces.join(""), citations: null },
    start: { type: "text", text: "", citations: null },
    deltas: pieces.map((text) => ({ type: "text_delta", text })),
  });
  if (scenario.traits.has("tools")) {
    const id = `toolu_01${random.text(22)}`;
    const caller = { type: "direct" };
    const name = toolName(call.body.tools);
    // Anthropic sends an empty piece first, then splits the JSON anywhere.
    const cuts = ["", '{"city": "Z', 'ürich", "uni', 't": "celsius"}'];
    blocks.push({
      whole: { type: "tool_use", id, caller, name, input: JSON.parse(cuts.join("")) },
      start: { type: "tool_use", id, caller, name, input: {} },
      deltas: cuts.map((partial_json) => ({ type: "input_json_delta", partial_json })),
    });
  }
  return blocks;
}

function toolName(tools: unknown): string {
  const first: unknown = Array.isArray(tools) ? tools[0] : null;
  return typeof first === "object" && first !== null && "name" in first ? String(first.name) : "get_weather";
}

/** The headers that Anthropic sends with each response, including errors. */
export function commonHeaders(call: ProviderCall): readonly (readonly [string, string])[] {
  return [
    ["request-id", `req_011C${call.random.text(20)}`],
    ["anthropic-organization-id", "00000000-0000-4000-8000-000000000000"],
    ["anthropic-ratelimit-requests-limit", "4000"],
    ["anthropic-ratelimit-requests-remaining", "3999"],
    ["anthropic-ratelimit-requests-reset", "2026-11-21T00:00:00Z"],
    ...unifiedHeaders(call),
    ["via", "1.1 google"],
    ["Server", "cloudflare"],
    ["CF-RAY", `${call.random.text(16, "0123456789abcdef")}-ZRH`],
  ];
}

/** The limits of a subscription. The window resets at the end of the hour after the next three. */
function unifiedHeaders({ scenario, nowSeconds }: ProviderCall): readonly (readonly [string, string])[] {
  if (scenario.used === null) return [];
  const reset = `${(Math.floor(nowSeconds / 3_600) + 4) * 3_600}`;
  const status = scenario.used >= 100 ? "rejected" : scenario.used >= 75 ? "allowed_warning" : "allowed";
  const members = {
    status,
    "representative-claim": "five_hour",
    reset,
    "5h-status": status,
    "5h-utilization": `${scenario.used / 100}`,
    "5h-reset": reset,
    "7d-status": "allowed",
    "7d-utilization": "0.25",
    "7d-reset": `${nowSeconds + 5 * 86_400}`,
    "overage-status": "rejected",
    "overage-disabled-reason": "org_level_disabled",
  };
  return Object.entries(members).map(([name, value]) => [`anthropic-ratelimit-unified-${name}`, value]);
}
