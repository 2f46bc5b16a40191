import { isRecord, parseText } from "./json.ts";

/** The members of a request whose text the model reads, whatever the API. */
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

/** Members within those that hold no text: words of the format, ids, and files in base64. */
const NOT_TEXT: ReadonlySet<string> = new Set([
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

/** What each message of a prompt costs beside its text: about what OpenAI's chat format adds (OpenAI cookbook, 2023-24). */
export const TOKENS_PER_MESSAGE = 4;

/** The prompt of a request as texts. */
export interface PromptTexts {
  texts: readonly string[];
  messages: number;
}

/** Reads the prompt out of a request's decoded body; null where it can't be read. Files, images and sound are left out. */
export function promptTexts(body: Uint8Array): PromptTexts | null {
  const request = parseText(body);
  if (!isRecord(request)) return null;
  // Code Assist puts Gemini's request into a member.
  const prompt = isRecord(request.request) ? request.request : request;
  const texts: string[] = [];
  let messages = 0;
  const walk = (value: unknown, depth: number): void => {
    if (typeof value === "string") texts.push(value);
    else if (depth === MAX_DEPTH) return;
    else if (Array.isArray(value)) for (const item of value) walk(item, depth + 1);
    else if (isRecord(value)) {
      if ("role" in value) messages++;
      for (const [name, member] of Object.entries(value)) if (!NOT_TEXT.has(name)) walk(member, depth + 1);
    }
  };
  for (const name of PROMPT_MEMBERS) walk(prompt[name], 0);
  return { texts, messages };
}

/** Deeper nesting holds no prompt, and would exhaust the stack. */
const MAX_DEPTH = 100;
