import { isObject } from "../../values/json-object.ts";
import { parseText } from "./json.ts";

/** The request members that contain the prompt, in any API. */
const PROMPT_MEMBERS = [
  "system",
  "systemInstruction",
  "system_instruction",
  "instructions",
  "messages",
  "contents",
  "input",
  "prompt",
  "suffix",
  "tools",
];

/** Nested members that are not prompt text: format keywords, ids, and Base64 files. */
const NON_TEXT_MEMBERS: ReadonlySet<string> = new Set([
  "role",
  "type",
  "id",
  "call_id",
  "tool_use_id",
  "tool_call_id",
  "cache_control",
  "media_type",
  "mimeType",
  "mime_type",
  "data",
  "source",
  "url",
  "image_url",
  "file_data",
  "file_id",
  "fileData",
  "inlineData",
  "inline_data",
  "input_audio",
  "images",
  "signature",
  "thoughtSignature",
  "encrypted_content",
]);

/** Tokens added for each message, about what OpenAI's chat format adds (OpenAI cookbook, 2023-24). */
export const TOKENS_PER_MESSAGE = 4;

/** The texts of a prompt and its number of messages. */
export interface PromptTexts {
  texts: readonly string[];
  messages: number;
}

/** Extracts the prompt from a decoded request body, without files, images and audio. Returns null if it is not a JSON object. */
export function promptTexts(body: Uint8Array): PromptTexts | null {
  const request = parseText(body);
  if (!isObject(request)) return null;
  // Code Assist wraps a Gemini request in `request`.
  const prompt = isObject(request.request) ? request.request : request;
  const texts: string[] = [];
  let messages = 0;
  const walk = (value: unknown, depth: number): void => {
    if (typeof value === "string") texts.push(value);
    else if (depth === MAX_DEPTH) return;
    else if (Array.isArray(value)) for (const item of value) walk(item, depth + 1);
    else if (isObject(value)) {
      if ("role" in value) messages++;
      for (const [name, member] of Object.entries(value))
        if (!NON_TEXT_MEMBERS.has(name)) walk(member, depth + 1);
    }
  };
  for (const name of PROMPT_MEMBERS) walk(prompt[name], 0);
  return { texts, messages };
}

/** Prompts do not nest deeper, and more would exhaust the stack. */
const MAX_DEPTH = 100;
