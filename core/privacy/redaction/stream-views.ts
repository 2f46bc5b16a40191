import { BACKSLASH, QUOTE } from "../../values/text/json-bytes.ts";
import { type TextView, ViewBuilder } from "./text-view.ts";

/** Matches a streamed response: server-sent events, newline-delimited JSON, or one JSON array of chunks. */
const STREAMED = /^\s{0,64}(?:(?:event|data|id|retry)?:|\[\s{0,64}\{|\{[^\n]*\}\r?\n\{)/;

/**
 * The fields whose values are parts of one text in the streams of the Anthropic, OpenAI, Gemini and Ollama APIs.
 * If a stream interleaves several responses under one field, they are read as one text.
 */
const PART =
  /"(text|content|delta|partial_json|arguments|thinking|reasoning|reasoning_content|refusal|response)"\s{0,8}:\s{0,8}"/g;

/** Returns the index of the closing quote of the JSON string that begins at `start`, or the end of the text. */
function stringEnd(text: string, start: number): number {
  let index = start;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) return index;
    index += code === BACKSLASH ? 2 : 1;
  }
  return text.length;
}

/**
 * Returns one view per field of a streamed response, with the parts joined, so that a secret that the provider split over
 * several events is found. Returns none if the text is not a stream.
 */
export function streamViews(text: string): TextView[] {
  if (!STREAMED.test(text)) return [];
  const parts = new Map<string, number[]>();
  PART.lastIndex = 0;
  for (let match = PART.exec(text); match !== null; match = PART.exec(text)) {
    const name = match[1] as string;
    const end = stringEnd(text, PART.lastIndex);
    const known = parts.get(name);
    if (known === undefined) parts.set(name, [PART.lastIndex, end]);
    else known.push(PART.lastIndex, end);
    PART.lastIndex = end;
  }
  return [...parts.values()].map((bounds) => {
    let capacity = 0;
    for (let index = 0; index < bounds.length; index += 2) {
      capacity += (bounds[index + 1] as number) - (bounds[index] as number);
    }
    const builder = new ViewBuilder(text, capacity);
    for (let index = 0; index < bounds.length; index += 2) {
      builder.appendUnescaped(bounds[index] as number, bounds[index + 1] as number);
    }
    return builder.build();
  });
}
