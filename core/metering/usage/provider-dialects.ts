import { free, MANAGE, type PathRule, post, READ, retrieval, SEND, speechSocket } from "./path-rules.ts";

/** A family of paths that one provider has on its own hosts, beside or instead of an API that others share. */
export type ProviderDialect =
  | "copilot"
  | "dashscope"
  | "minimax"
  | "vercel-ai-sdk"
  | "workers-ai"
  | "watsonx"
  | "oci"
  | "writer"
  | "elevenlabs"
  | "deepgram"
  | "deepgram-agent"
  | "assemblyai"
  | "assemblyai-streaming"
  | "replicate"
  | "fal"
  | "fal-queue"
  | "reranking";

/** The paths of each dialect. A path without a rule counts as unknown. */
export const PROVIDER_DIALECTS: Readonly<Record<ProviderDialect, readonly PathRule[]>> = {
  // The calls of models are OpenAI's and Anthropic's. Source: stored recordings of VS Code and Copilot CLI; 2026-11-23.
  copilot: [
    free(READ, /^\/(_ping|agents|models(\/[^/]+)?)$/),
    free(SEND, /^\/models\/(session|[^/]+\/policy)$/),
    // GitHub's MCP server shares the host. Its tools do not call models.
    free(MANAGE, /^\/mcp(\/.+)?$/),
  ],
  // Source: alibabacloud.com, Model Studio, "Qwen API reference", DashScope; 2026-11-23.
  dashscope: [
    post(/^\/services\/aigc\/(text|multimodal)-generation\/generation$/, "openai.chat", "chat"),
    post(/^\/services\/embeddings\/[a-z-]+\/[a-z-]+$/, "openai.embeddings", "embedding", false),
    post(/^\/services\/rerank\/[a-z-]+\/[a-z-]+$/, "openai.embeddings", "other", false),
    free(READ, /^\/tasks(\/[^/]+)?$/),
  ],
  // MiniMax's first form of Chat Completions. Source: platform.minimax.io, "ChatCompletion v2"; 2026-11-23.
  minimax: [post(/^\/text\/chatcompletion_v2$/, "openai.chat", "chat")],
  // The protocol of the `ai` package's own gateway provider. Source: vercel/ai, packages/gateway; 2026-11-23.
  "vercel-ai-sdk": [
    post(/^\/language-model$/, "vercel.language_model", "chat"),
    post(/^\/embedding-model$/, "vercel.language_model", "embedding", false),
    free(READ, /^\/config$/),
  ],
  // The name of the model is the path. Source: developers.cloudflare.com, "Workers AI", "REST API"; 2026-11-23.
  "workers-ai": [
    post(
      /^\/(?<model>(?:@|%40)[^/]+\/[^/]+\/[^/]*(?:bge-(?!reranker)|embedding)[^/]*)$/i,
      "workers_ai.run",
      "embedding",
    ),
    post(/^\/(?<model>(?:@|%40)[^/]+\/[^/]+\/[^/]+)$/i, "workers_ai.run", "chat"),
  ],
  // Source: cloud.ibm.com/apidocs/watsonx-ai; 2026-11-23.
  watsonx: [
    post(/^(\/deployments\/[^/]+)?\/text\/chat$/, "openai.chat", "chat", false),
    post(/^(\/deployments\/[^/]+)?\/text\/chat_stream$/, "openai.chat", "chat", true),
    post(/^(\/deployments\/[^/]+)?\/text\/generation$/, "watsonx.text", "chat", false),
    post(/^(\/deployments\/[^/]+)?\/text\/generation_stream$/, "watsonx.text", "chat", true),
    post(/^\/text\/embeddings$/, "watsonx.text", "embedding", false),
    post(/^\/text\/rerank$/, "watsonx.text", "other", false),
    free(SEND, /^\/text\/tokenization$/),
    free(READ, /^\/foundation_model_(specs|tasks)$/),
  ],
  // Source: docs.oracle.com, "Generative AI Service Inference API", 20231130; 2026-11-23.
  oci: [
    post(/^\/(chat|generateText|summarizeText)$/, "oci.inference", "chat"),
    post(/^\/embedText$/, "oci.inference", "embedding", false),
    post(/^\/rerankText$/, "oci.inference", "other", false),
  ],
  // Source: dev.writer.com, "Chat completion"; 2026-11-23.
  writer: [post(/^\/chat$/, "openai.chat", "chat"), free(READ, /^\/(applications|graphs|files)(\/[^/]+)?$/)],
  // Source: elevenlabs.io/docs/api-reference; 2026-11-23.
  elevenlabs: [
    post(
      /^\/v1\/(text-to-speech|speech-to-speech)\/[^/]+(\/stream)?(\/with-timestamps)?$/,
      "units.stated",
      "audio",
    ),
    post(/^\/v1\/text-to-dialogue(\/stream)?(\/with-timestamps)?$/, "units.stated", "audio"),
    post(/^\/v1\/(sound-generation|speech-to-text|audio-isolation(\/stream)?)$/, "units.stated", "audio"),
    post(/^\/v1\/music(\/stream|\/detailed)?$/, "units.stated", "audio"),
    // Speech, transcriptions and conversations over a WebSocket. None of them states what is billed.
    speechSocket(
      /^\/v1\/(text-to-speech\/[^/]+\/(multi-)?stream-input|text-to-dialogue\/stream-input|speech-to-text\/realtime|convai\/conversation)$/,
      "speech.live",
    ),
    free(READ, /^\/v[12]\/(models|voices|history|user)(\/.*)?$/),
    free(READ, /^\/v1\/convai\/conversation\/get[-_]signed[-_]url$/),
    free(SEND, /^\/v1\/single-use-token\/[a-z_]+$/),
  ],
  // Source: developers.deepgram.com/reference; 2026-11-23.
  deepgram: [
    speechSocket(/^\/(listen|speak)$/, "speech.live"),
    post(/^\/(listen|speak|read)$/, "units.stated", "audio"),
    free(READ, /^\/(projects|models)(\/.*)?$/),
    free(SEND, /^\/auth\/grant$/),
  ],
  // Billed by the time of the connection. Source: developers.deepgram.com, "Voice Agent API"; 2026-11-23.
  "deepgram-agent": [
    speechSocket(/^\/v1\/agent\/converse$/, "speech.live"),
    free(READ, /^\/v1\/agent\/settings\/think\/models$/),
  ],
  // A transcript is billed by its length, which its result states. Source: assemblyai.com/docs/api-reference; 2026-11-23.
  assemblyai: [
    speechSocket(/^\/v2\/realtime\/ws$/, "speech.live"),
    free(SEND, /^\/v2\/realtime\/token$/),
    post(/^\/lemur\/v3\/generate\/[a-z-]+$/, "openai.chat", "chat", false),
    free(SEND, /^\/v2\/(upload|transcript)$/),
    free(READ, /^\/v2\/transcript(\/[^/]+\/[a-z-]+)?$/),
    retrieval(/^\/v2\/transcript\/[^/]+$/, "units.stated", "audio"),
  ],
  // Source: assemblyai.com/docs, "Universal Streaming", "Message Sequence"; 2026-11-23.
  "assemblyai-streaming": [speechSocket(/^\/v3\/ws$/, "speech.live"), free(READ, /^\/v3\/token$/)],
  // Source: replicate.com/docs/reference/http; 2026-11-23.
  replicate: [
    post(/^\/predictions$/, "units.stated", "other"),
    post(/^\/(models|deployments)\/(?<model>[^/]+\/[^/]+)\/predictions$/, "units.stated", "other"),
    free(READ, /^\/(predictions|models|collections|account|hardware|deployments)$/),
    free(READ, /^\/(models|collections|deployments)\/.+$/),
    free(SEND, /^\/predictions\/[^/]+\/cancel$/),
    retrieval(/^\/predictions\/[^/]+$/, "units.stated", "other"),
  ],
  // Source: docs.fal.ai, "Synchronous requests", "Queue"; 2026-11-23.
  fal: [post(/^\/(?<model>[^/]+\/.+)$/, "units.stated", "other")],
  // A request in the queue is a job, which its result completes.
  "fal-queue": [
    free(READ, /^\/.+\/requests\/[^/]+\/status(\/stream)?$/),
    free(["PUT", "POST"], /^\/.+\/requests\/[^/]+\/cancel$/),
    retrieval(/^\/(?<model>.+)\/requests\/(?<id>[^/]+)$/, "units.stated", "other"),
    post(/^\/(?<model>[^/]+\/.+)$/, "units.stated", "other"),
  ],
  // Rerankers and further embeddings that state tokens as OpenAI's embeddings do. Sources: docs.voyageai.com, "Rerankers",
  // "Multimodal embeddings"; jina.ai/reranker; docs.siliconflow.com, "Create rerank request"; 2026-11-23.
  reranking: [
    post(/^\/rerank$/, "openai.embeddings", "other", false),
    post(/^\/(multimodal|contextualized)embeddings$/, "openai.embeddings", "embedding", false),
    post(/^\/classify$/, "openai.embeddings", "other", false),
  ],
};
