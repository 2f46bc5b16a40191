import { free, MANAGE, type PathRule, post, READ, retrieval, SEND } from "./path-rules.ts";

/** A family of paths that one provider has on its own hosts, beside or instead of an API that others share. */
export type ProviderDialect =
  | "copilot"
  | "dashscope"
  | "minimax"
  | "vercel-ai-sdk"
  | "watsonx"
  | "oci"
  | "writer"
  | "elevenlabs"
  | "deepgram"
  | "assemblyai"
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
    free(READ, /^\/v[12]\/(models|voices|history|user)(\/.*)?$/),
  ],
  // Source: developers.deepgram.com/reference; 2026-11-23.
  deepgram: [
    post(/^\/(listen|speak|read)$/, "units.stated", "audio"),
    free(READ, /^\/(projects|models)(\/.*)?$/),
    free(SEND, /^\/auth\/grant$/),
  ],
  // A transcript is billed by its length, which its result states. Source: assemblyai.com/docs/api-reference; 2026-11-23.
  assemblyai: [
    post(/^\/lemur\/v3\/generate\/[a-z-]+$/, "openai.chat", "chat", false),
    free(SEND, /^\/v2\/(upload|transcript)$/),
    free(READ, /^\/v2\/transcript(\/[^/]+\/[a-z-]+)?$/),
    retrieval(/^\/v2\/transcript\/[^/]+$/, "units.stated", "audio"),
  ],
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
