import type { ApiReader } from "./api-reader.ts";
import { anthropicMessages } from "./readers/anthropic-messages.ts";
import { geminiEmbed } from "./readers/gemini-embed.ts";
import { geminiGenerate } from "./readers/gemini-generate.ts";
import { ollamaChat, ollamaEmbed, ollamaGenerate } from "./readers/ollama.ts";
import { openaiChat, openaiCompletions } from "./readers/openai-chat.ts";
import { openaiEmbeddings } from "./readers/openai-embeddings.ts";
import { openaiResponses } from "./readers/openai-responses.ts";

/** Every API that can be read, by the id that records carry. */
export const API_READERS = {
  "anthropic.messages": anthropicMessages,
  "openai.chat": openaiChat,
  "openai.completions": openaiCompletions,
  "openai.responses": openaiResponses,
  "openai.embeddings": openaiEmbeddings,
  "gemini.generate": geminiGenerate,
  "gemini.embed": geminiEmbed,
  "ollama.chat": ollamaChat,
  "ollama.generate": ollamaGenerate,
  "ollama.embed": ollamaEmbed,
} as const satisfies Record<string, ApiReader>;

/** Which reader reads a response. */
export type ApiId = keyof typeof API_READERS;
