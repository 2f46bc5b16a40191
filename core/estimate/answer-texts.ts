import { createJsonArrayReader, createNdjsonReader, createSseReader } from "../exchange/mod.ts";
import { isRecord, itemsOf, parseText } from "./json.ts";

/** What an answer said, as far as it came. */
export interface AnswerTexts {
  /** Text that the caller sees: words, refusals, what tools are called with. */
  output: string;
  /** Reasoning that was shown. */
  thinking: string;
}

const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/**
 * Reads the text out of an answer's decoded body: one JSON object, an array of them, lines of them, or server-sent
 * events, perhaps cut. The shapes of all APIs are told apart by their members, since no two claim the same. What a
 * stream repeats when it is done is not read again.
 */
export function answerTexts(body: Uint8Array): AnswerTexts {
  const pieces = { output: [] as string[], thinking: [] as string[] };
  const take = (bytes: Uint8Array) => {
    const message = parseText(bytes);
    if (isRecord(message)) takeMessage(message, pieces);
  };
  const reader =
    body[0] === OPEN_BRACKET
      ? createJsonArrayReader(take)
      : body[0] === OPEN_BRACE
        ? null
        : createSseReader(({ data }) => take(data));
  if (reader !== null) {
    reader.push(body);
    reader.end();
  } else if (isRecord(parseText(body))) take(body);
  else {
    const lines = createNdjsonReader(take);
    lines.push(body);
    lines.end();
  }
  return { output: pieces.output.join(""), thinking: pieces.thinking.join("") };
}

interface Pieces {
  output: string[];
  thinking: string[];
}

function takeMessage(message: Readonly<Record<string, unknown>>, pieces: Pieces): void {
  const add = (to: string[], ...values: readonly unknown[]) => {
    for (const value of values) if (typeof value === "string") to.push(value);
  };
  const { output, thinking } = pieces;

  // Chat Completions and what imitates it, streamed or whole; text completions.
  for (const choice of itemsOf(message.choices)) {
    if (!isRecord(choice)) continue;
    add(output, choice.text);
    const said = choice.delta ?? choice.message;
    if (!isRecord(said)) continue;
    add(output, said.content, said.refusal);
    // Some hosts give the same reasoning under both names.
    add(thinking, said.reasoning_content ?? said.reasoning);
    for (const call of itemsOf(said.tool_calls)) {
      if (isRecord(call) && isRecord(call.function)) add(output, call.function.name, call.function.arguments);
    }
  }

  // Anthropic: blocks that begin, and what is added to them; the blocks of a whole message.
  for (const block of [
    message.content_block,
    ...(message.type === "message" ? itemsOf(message.content) : []),
  ]) {
    if (!isRecord(block)) continue;
    add(output, block.text, block.type === "tool_use" ? block.name : null);
    add(thinking, block.thinking);
    if (isRecord(block.input) && Object.keys(block.input).length > 0)
      output.push(JSON.stringify(block.input));
  }
  if (isRecord(message.delta)) {
    add(output, message.delta.text, message.delta.partial_json);
    add(thinking, message.delta.thinking);
  }

  // Responses.
  if (typeof message.type === "string" && message.type.endsWith(".delta")) {
    add(message.type.includes(".reasoning") ? thinking : output, message.delta);
  }

  // Gemini, and Code Assist, which wraps it.
  const gemini = isRecord(message.response) ? message.response : message;
  for (const candidate of itemsOf(gemini.candidates)) {
    if (!isRecord(candidate) || !isRecord(candidate.content)) continue;
    for (const part of itemsOf(candidate.content.parts)) {
      if (!isRecord(part)) continue;
      add(part.thought === true ? thinking : output, part.text);
      if (isRecord(part.functionCall)) output.push(JSON.stringify(part.functionCall));
    }
  }

  // Ollama.
  add(output, message.response);
  if (isRecord(message.message)) {
    add(output, message.message.content);
    add(thinking, message.message.thinking);
  } else if ("response" in message) add(thinking, message.thinking);
}
