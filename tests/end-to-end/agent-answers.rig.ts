import type { ScriptedAnswer, ScriptedRequest } from "./scripted-provider.rig.ts";

/** The prompt to which a model answers by starting two sub-agents at once. */
export const START_TWO = "START-TWO agents please";

const PARTS = [1, 2] as const;

type Json = Readonly<Record<string, unknown>>;
const isList = (value: unknown): value is readonly Json[] => Array.isArray(value);
const listOf = (value: unknown): readonly Json[] => (isList(value) ? value : []);

/**
 * Creates the responses of models for agents. Each states the next number of input tokens (100, 200, …), which
 * identifies the call.
 */
export function createAgentAnswers(): (request: ScriptedRequest) => ScriptedAnswer {
  let count = 0;
  return (request) => {
    const { host, method, path } = request;
    // Codex then uses HTTP at once instead of WebSockets.
    if (method === "GET" && path.endsWith("/responses")) return { status: 426 };
    if (method !== "POST") return { status: 404 };
    if (host === "api.anthropic.com" && /^\/v1\/messages(?:\?|$)/.test(path))
      return answerMessages(request.body, ++count);
    if (path.endsWith("/responses")) return answerResponses(request.body, ++count);
    if (path.endsWith("/chat/completions")) return answerChat(request.body, ++count);
    if (/:(?:streamG|g)enerateContent/.test(path)) return answerGemini(path, ++count);
    return { status: 404 };
  };
}

function answerMessages({ model, messages, tools, stream }: Json, count: number): ScriptedAnswer {
  const usage = {
    input_tokens: 100 * count,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
    output_tokens: 2,
  };
  const message = { id: `msg_${count}`, type: "message", role: "assistant", model, stop_reason: null, usage };
  const tool = listOf(tools).find(({ name }) => /^(?:task|agent)$/i.test(String(name)))?.name;
  const last = JSON.stringify(listOf(messages).at(-1) ?? null);
  const starts = tool !== undefined && last.includes("START-TWO") && !last.includes("tool_result");
  if (stream !== true)
    return { json: { ...message, content: [{ type: "text", text: "ok" }], stop_reason: "end_turn" } };
  const blocks = starts
    ? PARTS.map((part) => [
        { type: "tool_use", id: `toolu_${part}`, name: tool, input: {} },
        { type: "input_json_delta", partial_json: JSON.stringify(describePart(part, String(tool))) },
      ])
    : [
        [
          { type: "text", text: "" },
          { type: "text_delta", text: "ok" },
        ],
      ];
  return streamOf([
    { type: "message_start", message: { ...message, content: [] } },
    ...blocks.flatMap(([content_block, delta], index) => [
      { type: "content_block_start", index, content_block },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: starts ? "tool_use" : "end_turn" },
      usage: { output_tokens: 20 },
    },
    { type: "message_stop" },
  ]);
}

const describePart = (part: number, tool: string) => ({
  description: `part ${part}`,
  prompt: `PART-${part}: say ok`,
  subagent_type: tool === "task" ? "general" : "general-purpose",
});

/** Codex starts two agents, then waits for both. */
function answerResponses({ model, input, tools }: Json, count: number): ScriptedAnswer {
  const namespace = listOf(tools).find((each) =>
    listOf(each.tools).some(({ name }) => name === "spawn_agent"),
  );
  const outputs = listOf(input).filter(({ type }) => type === "function_call_output");
  const call = (id: string, name: string, given: object) => ({
    type: "function_call",
    id,
    call_id: id,
    name,
    namespace: namespace?.name,
    status: "completed",
    arguments: JSON.stringify(given),
  });
  const text = { type: "output_text", text: "ok", annotations: [] };
  let output: readonly object[] = [
    { type: "message", id: "m1", role: "assistant", status: "completed", content: [text] },
  ];
  if (namespace !== undefined && JSON.stringify(input).includes("START-TWO")) {
    if (outputs.length === 0)
      output = PARTS.map((part) => call(`call${part}`, "spawn_agent", { message: `PART-${part}: say ok` }));
    else if (outputs.length === PARTS.length)
      output = [call("wait", "wait_agent", { targets: outputs.map(agentIdOf), timeout_ms: 30_000 })];
  }
  const usage = {
    input_tokens: 100 * count,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 100 * count + 10,
  };
  const response = { id: `resp_${count}`, object: "response", model, status: "completed", output, usage };
  return streamOf([
    { type: "response.created", response: { ...response, status: "in_progress", output: [], usage: null } },
    ...output.flatMap((item, output_index) => [
      { type: "response.output_item.added", output_index, item },
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: "response.completed", response },
  ]);
}

const agentIdOf = ({ output }: Json): unknown => (JSON.parse(String(output)) as Json).agent_id;

function answerChat({ model, stream }: Json, count: number): ScriptedAnswer {
  const usage = { prompt_tokens: 100 * count, completion_tokens: 2, total_tokens: 100 * count + 2 };
  const id = `chatcmpl-${count}`;
  const content = { role: "assistant", content: "ok" };
  if (stream !== true)
    return { json: { id, model, choices: [{ index: 0, message: content, finish_reason: "stop" }], usage } };
  const chunk = { id, object: "chat.completion.chunk", model };
  return {
    events: [
      { data: { ...chunk, choices: [{ index: 0, delta: content, finish_reason: null }] } },
      { data: { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage } },
    ],
  };
}

function answerGemini(path: string, count: number): ScriptedAnswer {
  const json = {
    candidates: [{ content: { role: "model", parts: [{ text: "ok" }] }, finishReason: "STOP", index: 0 }],
    usageMetadata: {
      promptTokenCount: 100 * count,
      candidatesTokenCount: 2,
      totalTokenCount: 100 * count + 2,
    },
    modelVersion: "gemini-2.5-pro",
    responseId: `g${count}`,
  };
  return path.includes(":stream") ? { events: [{ data: json }] } : { json };
}

const streamOf = (
  events: readonly { readonly type: string; readonly [name: string]: unknown }[],
): ScriptedAnswer => ({
  events: events.map((data) => ({ event: data.type, data })),
});
