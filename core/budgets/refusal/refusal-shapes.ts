import type { ApiId } from "../../metering/usage/api-readers.ts";

/** The family of an API, which determines the shape of its errors. */
export type ErrorShape =
  | "anthropic"
  | "openai"
  | "gemini"
  | "bedrock"
  | "ollama"
  | "cohere"
  | "oci"
  | "watsonx"
  | "workers_ai"
  | "any";

/** The error shape of each API. The APIs that several providers have get `any`: the members of all of them. */
const SHAPES: Readonly<Record<ApiId, ErrorShape>> = {
  "anthropic.messages": "anthropic",
  "anthropic.batch_results": "anthropic",
  "anthropic.session_events": "anthropic",
  "anthropic.dreams": "anthropic",
  "openai.chat": "openai",
  "openai.completions": "openai",
  "openai.responses": "openai",
  "openai.embeddings": "openai",
  "openai.images": "openai",
  "openai.transcriptions": "openai",
  "openai.speech": "openai",
  "openai.realtime": "openai",
  "openai.served": "openai",
  "openai.file_content": "openai",
  "openai.runs": "openai",
  "openai.eval_runs": "openai",
  "chat.deferred": "openai",
  "xai.batch_results": "openai",
  "mistral.ocr": "openai",
  "mistral.conversations": "openai",
  "mistral.classifications": "openai",
  "vercel.language_model": "openai",
  "lmstudio.chat": "openai",
  "llama.completion": "openai",
  "gemini.generate": "gemini",
  "gemini.code_assist": "gemini",
  "gemini.live": "gemini",
  "gemini.interactions": "gemini",
  "gemini.batch": "gemini",
  "gemini.batch_file": "gemini",
  "gemini.embed": "gemini",
  "gemini.cached_contents": "gemini",
  "vertex.predict": "gemini",
  "bedrock.converse": "bedrock",
  "bedrock.invoke": "bedrock",
  "bedrock.bidirectional": "bedrock",
  "bedrock.agents": "bedrock",
  "ollama.chat": "ollama",
  "ollama.generate": "ollama",
  "ollama.embed": "ollama",
  "cohere.chat": "cohere",
  "cohere.embed": "cohere",
  "cohere.rerank": "cohere",
  "cohere.generate": "cohere",
  "cohere.units": "cohere",
  "oci.inference": "oci",
  "watsonx.text": "watsonx",
  "workers_ai.run": "workers_ai",
  "speech.session": "openai",
  "speech.live": "any",
  rerank: "any",
  any_model: "any",
  other_units: "any",
  repeated: "any",
  "units.stated": "any",
};

export const errorShapeOf = (api: ApiId): ErrorShape => SHAPES[api];

/** OpenAI's error object. */
export const openaiError = (message: string) => ({
  message,
  type: "insufficient_quota",
  param: null,
  code: "insufficient_quota",
});

/** Anthropic's error object, as its own gateway sends it for a spend limit. */
export const anthropicError = (message: string) => ({
  type: "error",
  error: { type: "billing_error", message },
});

/** The body of an error in each shape. */
export const ERROR_BODIES: Readonly<Record<ErrorShape, (message: string) => unknown>> = {
  anthropic: anthropicError,
  openai: (message) => ({ error: openaiError(message) }),
  // 400 FAILED_PRECONDITION is also Google's answer to a key whose billing is off.
  gemini: (message) => ({ error: { code: 400, message, status: "FAILED_PRECONDITION", details: [] } }),
  bedrock: (message) => ({ message }),
  ollama: (message) => ({ error: message }),
  cohere: (message) => ({ message }),
  oci: (message) => ({ code: "LimitExceeded", message }),
  watsonx: (message) => ({ errors: [{ code: "invalid_request_entity", message }], status_code: 400 }),
  workers_ai: (message) => ({
    success: false,
    errors: [{ code: 1000, message }],
    messages: [],
    result: null,
  }),
  any: (message) => ({ error: openaiError(message), message, detail: message }),
};
