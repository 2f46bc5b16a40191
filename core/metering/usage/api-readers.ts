import type { ApiReader } from "./api-reader.ts";
import { anthropicMessages } from "./readers/anthropic-messages.ts";
import { anthropicDreams, anthropicSessionEvents } from "./readers/anthropic-sessions.ts";
import {
  anthropicBatchResults,
  geminiBatch,
  geminiBatchFile,
  openaiFileContent,
  xaiBatchResults,
} from "./readers/batch-results.ts";
import { bedrockAgents, bedrockBidirectional } from "./readers/bedrock-agents.ts";
import { bedrockConverse } from "./readers/bedrock-converse.ts";
import { bedrockInvoke } from "./readers/bedrock-invoke.ts";
import { cohereChat, cohereEmbed, cohereGenerate, cohereRerank, cohereUnits } from "./readers/cohere.ts";
import { deferredChat } from "./readers/deferred-chat.ts";
import { geminiCachedContents } from "./readers/gemini-cached-contents.ts";
import { geminiEmbed } from "./readers/gemini-embed.ts";
import { geminiCodeAssist, geminiGenerate } from "./readers/gemini-generate.ts";
import { geminiInteractions } from "./readers/gemini-interactions.ts";
import { geminiLive } from "./readers/gemini-live.ts";
import { llamaCompletion } from "./readers/llama-completion.ts";
import { lmstudioChat } from "./readers/lmstudio-chat.ts";
import { mistralConversations } from "./readers/mistral-conversations.ts";
import { mistralOcr } from "./readers/mistral-ocr.ts";
import { ociInference } from "./readers/oci-inference.ts";
import { ollamaChat, ollamaEmbed, ollamaGenerate } from "./readers/ollama.ts";
import { openaiSpeech, openaiTranscriptions } from "./readers/openai-audio.ts";
import { openaiChat, openaiCompletions } from "./readers/openai-chat.ts";
import { openaiEmbeddings } from "./readers/openai-embeddings.ts";
import { openaiImages } from "./readers/openai-images.ts";
import { openaiRealtime } from "./readers/openai-realtime.ts";
import { openaiResponses } from "./readers/openai-responses.ts";
import { openaiEvalRuns, openaiRuns } from "./readers/openai-runs.ts";
import { openaiServed } from "./readers/openai-served.ts";
import { otherUnits } from "./readers/other-units.ts";
import { repeatedUsage } from "./readers/repeated-usage.ts";
import { rerank } from "./readers/rerank.ts";
import { liveSpeech, speechSession } from "./readers/speech-sessions.ts";
import { statedUnits } from "./readers/stated-units.ts";
import { anyModel } from "./readers/usage-shapes.ts";
import { vercelLanguageModel } from "./readers/vercel-language-model.ts";
import { vertexPredict } from "./readers/vertex-predict.ts";
import { watsonxText } from "./readers/watsonx-text.ts";
import { workersAi } from "./readers/workers-ai.ts";

/** Every supported API, by the id stored in records. */
export const API_READERS = {
  "anthropic.messages": anthropicMessages,
  "anthropic.batch_results": anthropicBatchResults,
  "anthropic.session_events": anthropicSessionEvents,
  "anthropic.dreams": anthropicDreams,
  "openai.chat": openaiChat,
  "openai.completions": openaiCompletions,
  "openai.responses": openaiResponses,
  "openai.embeddings": openaiEmbeddings,
  "openai.images": openaiImages,
  "openai.transcriptions": openaiTranscriptions,
  "openai.speech": openaiSpeech,
  "openai.realtime": openaiRealtime,
  "speech.session": speechSession,
  "speech.live": liveSpeech,
  "openai.served": openaiServed,
  "openai.file_content": openaiFileContent,
  "openai.runs": openaiRuns,
  "openai.eval_runs": openaiEvalRuns,
  "chat.deferred": deferredChat,
  rerank,
  "gemini.generate": geminiGenerate,
  "gemini.code_assist": geminiCodeAssist,
  "gemini.live": geminiLive,
  "gemini.interactions": geminiInteractions,
  "gemini.batch": geminiBatch,
  "gemini.batch_file": geminiBatchFile,
  "gemini.embed": geminiEmbed,
  "gemini.cached_contents": geminiCachedContents,
  "vertex.predict": vertexPredict,
  any_model: anyModel,
  "mistral.ocr": mistralOcr,
  "mistral.conversations": mistralConversations,
  // Input alone, as embeddings have.
  "mistral.classifications": openaiEmbeddings,
  "xai.batch_results": xaiBatchResults,
  "ollama.chat": ollamaChat,
  "ollama.generate": ollamaGenerate,
  "ollama.embed": ollamaEmbed,
  "bedrock.converse": bedrockConverse,
  "bedrock.invoke": bedrockInvoke,
  "bedrock.bidirectional": bedrockBidirectional,
  "bedrock.agents": bedrockAgents,
  "cohere.chat": cohereChat,
  "cohere.embed": cohereEmbed,
  "cohere.rerank": cohereRerank,
  "cohere.generate": cohereGenerate,
  "cohere.units": cohereUnits,
  other_units: otherUnits,
  repeated: repeatedUsage,
  "vercel.language_model": vercelLanguageModel,
  "watsonx.text": watsonxText,
  "oci.inference": ociInference,
  "units.stated": statedUnits,
  "lmstudio.chat": lmstudioChat,
  "llama.completion": llamaCompletion,
  "workers_ai.run": workersAi,
} as const satisfies Record<string, ApiReader>;

/** The id of a supported API. */
export type ApiId = keyof typeof API_READERS;
