import { type TextView, ViewBuilder } from "./text-view.ts";

/** Server-sent events, newline-delimited JSON, or one JSON array of chunks: what providers stream answers in. */
const STREAMED = /^\s{0,64}(?:(?:event|data|id|retry)?:|\[\s{0,64}\{|\{[^\n]*\}\r?\n\{)/;

/**
 * The fields whose values are parts of one text, in the streams of the Anthropic, OpenAI, Gemini and Ollama APIs.
 * A stream that interleaves several answers under one field is read as one text.
 */
const PART =
  /"(text|content|delta|partial_json|arguments|thinking|reasoning|reasoning_content|refusal|response)"\s{0,8}:\s{0,8}"/g;

/** The end of the JSON string that begins at `start`: the index of its closing quote, or the end of the text. */
function stringEnd(text: string, start: number): number {
  let index = start;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code === 0x22) return index;
    index += code === 0x5c ? 2 : 1;
  }
  return text.length;
}

/**
 * One view for each field of a streamed answer, its parts joined, so that a secret cut by the provider into several
 * events is found; none for a text that is no stream.
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
