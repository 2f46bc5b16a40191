import { isObject } from "../../values/json-object.ts";
import { OPEN_BRACE, OPEN_BRACKET } from "../../values/text/json-bytes.ts";
import { createJsonArrayReader } from "../exchange/json-array-reader.ts";
import { createNdjsonReader } from "../exchange/ndjson-reader.ts";
import { createSseReader } from "../exchange/sse-reader.ts";
import { itemsOf, parseText } from "./json.ts";

/** The texts of a response, which may be incomplete. */
export interface AnswerTexts {
  /** The visible output: text, refusals, and the names and arguments of tool calls. */
  output: string;
  /** The visible reasoning. */
  thinking: string;
}

/**
 * Extracts the texts of a response from its decoded body: a JSON object, a JSON array, JSON lines or server-sent events,
 * possibly truncated. The APIs are distinguished by their members, which do not overlap. Text that a stream repeats in its
 * final event is not extracted twice.
 */
export function answerTexts(body: Uint8Array): AnswerTexts {
  const pieces = { output: [] as string[], thinking: [] as string[] };
  const readMessage = (bytes: Uint8Array) => {
    const message = parseText(bytes);
    if (isObject(message)) collectTexts(message, pieces);
  };
  const reader =
    body[0] === OPEN_BRACKET
      ? createJsonArrayReader(readMessage)
      : body[0] === OPEN_BRACE
        ? null
        : createSseReader(({ data }) => readMessage(data));
  if (reader !== null) {
    reader.push(body);
    reader.end();
  } else if (isObject(parseText(body))) readMessage(body);
  else {
    const lines = createNdjsonReader(readMessage);
    lines.push(body);
    lines.end();
  }
  return { output: pieces.output.join(""), thinking: pieces.thinking.join("") };
}

interface Pieces {
  output: string[];
  thinking: string[];
}

function collectTexts(message: Readonly<Record<string, unknown>>, pieces: Pieces): void {
  const add = (to: string[], ...values: readonly unknown[]) => {
    for (const value of values) if (typeof value === "string") to.push(value);
  };
  const { output, thinking } = pieces;

  // Chat Completions and compatible APIs, streamed or not; text completions.
  for (const choice of itemsOf(message.choices)) {
    if (!isObject(choice)) continue;
    add(output, choice.text);
    const answer = choice.delta ?? choice.message;
    if (!isObject(answer)) continue;
    add(output, answer.content, answer.refusal);
    // Some hosts send the same reasoning under both names.
    add(thinking, answer.reasoning_content ?? answer.reasoning);
    for (const call of itemsOf(answer.tool_calls)) {
      if (isObject(call) && isObject(call.function)) add(output, call.function.name, call.function.arguments);
    }
  }

  // Anthropic: the start of a block, its deltas, and the blocks of a complete message.
  for (const block of [
    message.content_block,
    ...(message.type === "message" ? itemsOf(message.content) : []),
  ]) {
    if (!isObject(block)) continue;
    add(output, block.text, block.type === "tool_use" ? block.name : null);
    add(thinking, block.thinking);
    if (isObject(block.input) && Object.keys(block.input).length > 0)
      output.push(JSON.stringify(block.input));
  }
  if (isObject(message.delta)) {
    add(output, message.delta.text, message.delta.partial_json);
    add(thinking, message.delta.thinking);
  }

  // Responses.
  if (typeof message.type === "string" && message.type.endsWith(".delta")) {
    add(message.type.includes(".reasoning") ? thinking : output, message.delta);
  }

  // Gemini, and Code Assist, which wraps it.
  const gemini = isObject(message.response) ? message.response : message;
  for (const candidate of itemsOf(gemini.candidates)) {
    if (!isObject(candidate) || !isObject(candidate.content)) continue;
    for (const part of itemsOf(candidate.content.parts)) {
      if (!isObject(part)) continue;
      add(part.thought === true ? thinking : output, part.text);
      if (isObject(part.functionCall)) output.push(JSON.stringify(part.functionCall));
    }
  }

  // Ollama.
  add(output, message.response);
  if (isObject(message.message)) {
    add(output, message.message.content);
    add(thinking, message.message.thinking);
  } else if ("response" in message) add(thinking, message.thinking);
}
