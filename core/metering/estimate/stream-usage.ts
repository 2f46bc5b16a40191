import type { RequestRecord } from "../../values/record.ts";

/** The APIs whose streams state usage only if the request has `stream_options.include_usage`. */
export const APIS_WITH_OPTIONAL_USAGE = ["openai.chat", "openai.completions"] as const;

/**
 * Whether a stream ended in order and stated no usage at all, because the request did not ask for it. Its tokens are unknown.
 * Source: OpenAI, "Create chat completion", `stream_options.include_usage`.
 */
export function isStreamWithoutUsage(
  record: Pick<RequestRecord, "api" | "streaming" | "errorClass" | "tokensComplete" | "tokens">,
): boolean {
  const { promptTokens, completionTokens } = record.tokens;
  return (
    APIS_WITH_OPTIONAL_USAGE.some((api) => api === record.api) &&
    record.streaming &&
    record.errorClass === null &&
    !record.tokensComplete &&
    promptTokens === null &&
    completionTokens === null
  );
}

/** The command that estimates such counts from then on. */
export const ESTIMATES_COMMAND = "meter estimates on";

/**
 * How each program asks for usage, by its name. Sources, read 2026-11-23: the documents of LangChain
 * (`ChatOpenAI.stream_usage`), LiteLLM (`general_settings`), opencode (`provider.options`), the AI SDK
 * (`createOpenAICompatible`), aider ("Advanced model settings") and Open WebUI ("Capabilities").
 */
const FIXES: readonly (readonly [program: RegExp, fix: string])[] = [
  [/^aider/, "set extra_params: { stream_options: { include_usage: true } } in .aider.model.settings.yml"],
  [/^opencode/, 'set "includeUsage": true in the options of the provider in opencode.json'],
  [/^litellm/, "set always_include_stream_usage: true in general_settings of its configuration"],
  [/^open-webui/, 'turn on the capability "Usage" of the model'],
  [
    /^(python|ipython|jupyter|uvicorn|gunicorn|pypy)|\.py$/,
    'pass stream_options={"include_usage": True} (OpenAI SDK, LiteLLM) or stream_usage=True (LangChain)',
  ],
  [
    /^(node|bun|deno|tsx)|\.[cm]?[jt]s$/,
    "pass stream_options: { include_usage: true } (OpenAI SDK), streamUsage: true (LangChain) or includeUsage: true (AI SDK)",
  ],
];

/** Returns what to change in the program so that its streams state usage, as the end of a sentence. */
export function streamUsageFix(client: string | null): string {
  const name = (client ?? "").replace(/^.*[/\\]/, "").toLowerCase();
  const known = FIXES.find(([program]) => program.test(name));
  return known?.[1] ?? 'send "stream_options": {"include_usage": true} with the request';
}
