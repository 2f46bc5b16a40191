import { anthropicMessages } from "./anthropic-messages.ts";
import { azure, bedrock, codeAssist, vertex } from "./clouds.ts";
import { cohere } from "./cohere.ts";
import { deepseek, groq, mistral, openrouter, otherHosts, perplexity, xai } from "./compatible.ts";
import type { WireCase } from "./define.ts";
import { geminiBatch, geminiEmbed, geminiGenerate, geminiInteractions } from "./gemini.ts";
import { geminiLive } from "./gemini-live.ts";
import { hosts } from "./hosts.ts";
import { jobs } from "./jobs.ts";
import { localAndEdge } from "./local-and-edge.ts";
import { morePaths } from "./more-paths.ts";
import { ollama } from "./ollama.ts";
import { openaiChat } from "./openai-chat.ts";
import {
  batches,
  codex,
  openaiAudio,
  openaiBackground,
  openaiImages,
  openaiRealtime,
} from "./openai-more.ts";
import { openaiEmbeddings, openaiResponses } from "./openai-other.ts";
import { otherPaths } from "./other-paths.ts";
import { mistralOcr, vertexPredict } from "./pages-and-predictions.ts";
import { speechSessions } from "./speech-sessions.ts";
import {
  bedrockBodies,
  bedrockLongContext,
  cohereImages,
  embeddingTotals,
  geminiEmbedMedia,
  geminiOpenai,
  minimaxErrors,
  mistralAudio,
  moonshotStream,
  openaiSearching,
  openaiText,
  qwenOmni,
  vercel,
  watsonxChat,
} from "./totals-and-media.ts";
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
  ...mistralOcr,
  ...deepseek,
  ...openrouter,
  ...otherHosts,
  ...perplexity,
  ...ollama,
  ...cohere,
  ...geminiInteractions,
  ...geminiBatch,
  ...geminiLive,
  ...vertex,
  ...vertexPredict,
  ...codeAssist,
  ...bedrock,
  ...azure,
  ...openaiImages,
  ...openaiAudio,
  ...openaiBackground,
  ...openaiRealtime,
  ...codex,
  ...batches,
  ...bedrockLongContext,
  ...cohereImages,
  ...embeddingTotals,
  ...qwenOmni,
  ...mistralAudio,
  ...vercel,
  ...geminiOpenai,
  ...openaiSearching,
  ...moonshotStream,
  ...minimaxErrors,
  ...watsonxChat,
  ...bedrockBodies,
  ...openaiText,
  ...geminiEmbedMedia,
  ...otherPaths,
  ...jobs,
  ...morePaths,
  ...speechSessions,
  ...hosts,
  ...localAndEdge,
  ...transport,
];
