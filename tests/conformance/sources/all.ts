import { anthropicMessages } from "./anthropic-messages.ts";
import { deepseek, groq, mistral, openrouter, otherHosts, perplexity, xai } from "./compatible.ts";
import type { WireCase } from "./define.ts";
import { geminiEmbed, geminiGenerate } from "./gemini.ts";
import { ollama } from "./ollama.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiEmbeddings, openaiResponses } from "./openai-other.ts";
import { transport } from "./transport.ts";

/** Every case of the suite. */
export const ALL_CASES: readonly WireCase[] = [
  ...anthropicMessages,
  ...openaiChat,
  ...openaiResponses,
  ...openaiEmbeddings,
  ...geminiGenerate,
  ...geminiEmbed,
  ...xai,
  ...groq,
  ...mistral,
  ...deepseek,
  ...openrouter,
  ...otherHosts,
  ...perplexity,
  ...ollama,
  ...transport,
];
