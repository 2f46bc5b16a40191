import type { DocumentSource } from "../case-format.ts";

const readLater = (document: string): DocumentSource => ({ document, read_on: "2026-11-23" });
const read = (document: string): DocumentSource => ({ document, read_on: "2026-11-21" });
/** Marks documents that were not read again for this suite. Check them if you can. */
const unread = (document: string): DocumentSource => ({ document, read_on: null });

/** The documents that the cases are based on. SDK type files are named by package, version, file and type. */
export const DOCUMENTS = {
  anthropicUsage: read(
    "@anthropic-ai/sdk 1.11.0, resources/messages/messages.d.ts: Usage, MessageDeltaUsage",
  ),
  anthropicBetaUsage: read(
    "@anthropic-ai/sdk 1.11.0, resources/beta/messages/messages.d.ts: BetaUsage, BetaMessageDeltaUsage",
  ),
  anthropicIterations: read(
    "@anthropic-ai/sdk 1.11.0, resources/beta/messages/messages.d.ts: BetaUsage.iterations",
  ),
  anthropicStreaming: unread("https://platform.claude.com/docs/en/build-with-claude/streaming"),
  anthropicErrors: unread("https://platform.claude.com/docs/en/api/errors"),
  anthropicBatches: read(
    "@anthropic-ai/sdk 1.11.0, resources/messages/batches.d.ts: MessageBatchIndividualResponse",
  ),
  anthropicCountTokens: read(
    "@anthropic-ai/sdk 1.11.0, resources/messages/messages.d.ts: MessageTokensCount",
  ),
  anthropicPricing: unread("https://platform.claude.com/docs/en/about-claude/pricing"),
  openaiChat: read("openai 7.55.0, resources/completions.d.ts: CompletionUsage"),
  openaiChatChunk: read(
    "openai 7.55.0, resources/chat/completions/completions.d.ts: ChatCompletionChunk.usage",
  ),
  openaiResponses: read("openai 7.55.0, resources/responses/responses.d.ts: ResponseUsage"),
  openaiResponsesStream: read("openai 7.55.0, resources/responses/responses.d.ts: ResponseStreamEvent"),
  openaiEmbeddings: read("openai 7.55.0, resources/embeddings.d.ts: CreateEmbeddingResponse.Usage"),
  openaiImages: read("openai 7.55.0, resources/images.d.ts: ImagesResponse.Usage"),
  openaiTranscription: read(
    "openai 7.55.0, resources/audio/transcriptions.d.ts: Transcription.Tokens, Duration",
  ),
  openaiRealtime: read("openai 7.55.0, resources/realtime/realtime.d.ts: RealtimeResponseUsage"),
  openaiErrors: unread("https://developers.openai.com/api/docs/guides/error-codes"),
  geminiUsage: read("@google/genai 3.1.0, dist/genai.d.ts: GenerateContentResponseUsageMetadata"),
  geminiTiers: read("@google/genai 3.1.0, dist/genai.d.ts: UsageMetadata.serviceTier, TrafficType"),
  geminiLive: read(
    "https://ai.google.dev/api/live; @google/genai 3.1.0, dist/genai.d.ts: LiveServerMessage, UsageMetadata",
  ),
  geminiLiveBilling: read(
    "https://ai.google.dev/gemini-api/docs/live-api/best-practices#pricing-billing, as its author sums it up in https://discuss.ai.google.dev/t/pricing-of-speech-to-speech-live-model/140340",
  ),
  geminiLiveTurns: read(
    "a probe of three turns: https://github.com/pydantic/pydantic-ai/pull/7269; of the bill: https://discuss.ai.google.dev/t/does-gemini-live-native-audio-bill-cumulative-prompt-tokens-on-every-turn-cost-seems-to-scale-with-turn-count-not-call-duration/173248",
  ),
  geminiLiveThoughts: read(
    "a receipt off the wire: https://discuss.ai.google.dev/t/gemini-3-8-live-missing-billable-token-details-and-pre-generation-spending-bounds/188765",
  ),
  geminiInteractions: read("@google/genai 3.1.0, dist/genai.d.ts: Usage (interactions)"),
  geminiErrors: unread("https://ai.google.dev/gemini-api/docs/troubleshooting"),
  vertexErrors: unread(
    "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/api-errors",
  ),
  vertexTextEmbeddings: read(
    "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api; @google/genai 3.1.0, dist/genai.d.ts: ContentEmbeddingStatistics, EmbedContentMetadata",
  ),
  vertexImages: read(
    "https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/Shared.Types/VisionGenerativeModelResult",
  ),
  mistralOcr: read(
    "Mistral's OpenAPI document, OCRResponse and OCRUsageInfo, as in https://docs.rs/mistral-openapi-client/0.1.0; prices: https://docs.mistral.ai/models/ocr-4-1.md",
  ),
  mistralOcrAnnotations: read(
    "https://docs.mistral.ai/capabilities/document_ai/annotations; the count as Azure sends it: https://github.com/BerriAI/litellm/issues/38546",
  ),
  mistralAudio: read(
    "https://docs.mistral.ai/api/#tag/audio.transcriptions; the counts of a response: https://github.com/pydantic/genai-prices/pull/591",
  ),
  qwenOmni: unread("https://www.alibabacloud.com/help/en/model-studio/models, Qwen-Omni: prices by modality"),
  geminiHiddenThoughts: read(
    "https://ai.google.dev/gemini-api/docs/openai; the total includes the thoughts: https://github.com/mozilla-ai/any-llm/issues/1290, https://github.com/Clarifai/clarifai-python/pull/978",
  ),
  vercelUsage: read(
    "vercel/ai, packages/gateway/src/gateway-language-model.ts; packages/google/src: outputTokens leaves out the thoughts",
  ),
  openaiAudioPrices: read(
    "https://developers.openai.com/api/docs/models/gpt-4o-audio-preview; https://developers.openai.com/api/docs/models/gpt-4o-mini-audio-preview",
  ),
  geminiEmbeddingMedia: read(
    "https://ai.google.dev/gemini-api/docs/pricing#gemini-embedding-2; the counts of a response: https://github.com/BerriAI/litellm/issues/33681",
  ),
  openaiLongContext: read("https://developers.openai.com/api/docs/models/gpt-5.4-pro"),
  openaiResidency: read("https://developers.openai.com/api/docs/guides/data-residency"),
  bedrockLongContext: read(
    "https://aws.amazon.com/bedrock/pricing/ and https://aws.amazon.com/about-aws/whats-new/2026/08/gpt-sol-terra-luna-long-context-bedrock/, as https://github.com/anomalyco/models.dev/pull/4473 states them; https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-openai-gpt-54.html",
  ),
  xaiCost: read("https://docs.x.ai/developers/cost-tracking"),
  xaiReasoning: unread("https://docs.x.ai/docs/guides/reasoning"),
  groq: unread("https://console.groq.com/docs/api-reference#chat-create"),
  groqErrors: read("https://console.groq.com/docs/errors"),
  mistral: unread("https://docs.mistral.ai/api/#tag/chat"),
  deepseek: unread("https://api-docs.deepseek.com/api/create-chat-completion"),
  deepseekErrors: unread("https://api-docs.deepseek.com/quick_start/error_codes"),
  openrouter: read("https://openrouter.ai/docs/use-cases/usage-accounting"),
  openrouterErrors: unread("https://openrouter.ai/docs/api-reference/errors"),
  perplexity: unread("https://docs.perplexity.ai/api-reference/chat-completions-post"),
  cohere: read("https://docs.cohere.com/v2/docs/how-does-cohere-pricing-work"),
  cohereCompatibility: unread("https://docs.cohere.com/docs/compatibility-api"),
  together: unread("https://docs.together.ai/reference/chat-completions"),
  fireworks: unread("https://docs.fireworks.ai/api-reference/post-chatcompletions"),
  cerebras: unread("https://inference-docs.cerebras.ai/api-reference/chat-completions"),
  ollama: unread("https://docs.ollama.com/api"),
  bedrockConverse: read(
    "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html",
  ),
  bedrockConverseStream: read(
    "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamMetadataEvent.html",
  ),
  bedrockTiers: readLater(
    "https://docs.aws.amazon.com/bedrock/latest/userguide/service-tiers-inference.html; the prices: https://github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/blob/main/config_library/pricing.yaml",
  ),
  bedrockInvoke: unread(
    "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html",
  ),
  azure: unread("https://learn.microsoft.com/en-us/azure/ai-foundry/openai/reference"),
  mistralConversations: readLater(
    "@mistralai/mistralai 2.7.0, models/components: ConversationResponse, ConversationUsageInfo, ResponseDoneEvent",
  ),
  mistralConnectors: unread("https://docs.mistral.ai/agents/connectors/websearch"),
  mistralModeration: readLater(
    "@mistralai/mistralai 2.7.0, models/components: ModerationResponse; the price: https://docs.mistral.ai/models/mistral-moderation-24-11",
  ),
  openaiRuns: readLater("openai 6.49.0, resources/beta/threads/runs/runs.d.ts: Run.Usage"),
  openaiEvals: readLater("openai 6.49.0, resources/evals/runs/runs.d.ts: RunRetrieveResponse.PerModelUsage"),
  videos: readLater(
    "openai 6.49.0, resources/videos.d.ts: Video; together-ai 0.52.0, resources/videos.d.ts: VideoJob; @openrouter/sdk 1.3.19, models: VideoGenerationResponse; https://docs.x.ai/developers/model-capabilities/video/generation",
  ),
  xaiDeferred: unread("https://docs.x.ai/docs/guides/deferred-chat-completions"),
  perplexityAsync: readLater(
    "@perplexity-ai/perplexity_ai 0.38.5, dist/generated/api.d.ts: AsyncApiChatCompletionsResponse",
  ),
  anthropicDreams: readLater(
    "@anthropic-ai/sdk 1.12.0, resources/beta/dreams.d.ts: BetaDream, BetaDreamUsage",
  ),
  rerank: readLater(
    "together-ai 0.52.0, resources/rerank.d.ts: RerankCreateResponse; @openrouter/sdk 1.3.19, models/operations: CreateRerankUsage",
  ),
  azureCohere: readLater("https://docs.cohere.com/docs/cohere-on-microsoft-azure"),
  openrouterImages: readLater("@openrouter/sdk 1.3.19, models: ImageGenerationUsage"),
  vertexPartner: readLater("https://docs.litellm.ai/docs/providers/vertex_partner"),
  cachedContents: readLater(
    "https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/context-cache/context-cache-overview; https://ai.google.dev/gemini-api/docs/caching",
  ),
  bedrockAgents: unread(
    "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_agent-runtime_OrchestrationModelInvocationOutput.html",
  ),
  novaSonic: readLater("https://docs.aws.amazon.com/nova/latest/userguide/output-events.html"),
  cohereTypes: readLater("cohere-ai 8.1.0, api/types: ApiMetaBilledUnits, Generation, ClassifyResponse"),
  containers: readLater("openai 6.49.0, resources/containers/containers.d.ts: ContainerCreateResponse"),
  perplexitySearch: readLater(
    "@perplexity-ai/perplexity_ai 0.38.5, dist/generated/api.d.ts: SearchResponse, ResponsesUsage",
  ),
  xaiVoice: unread("https://docs.x.ai/developers/model-capabilities/audio/voice"),
  anthropicSessions: readLater(
    "@anthropic-ai/sdk 1.12.0, resources/beta/sessions/events.d.ts: BetaManagedAgentsSpanModelRequestEndEvent",
  ),
  mistralRealtime: readLater(
    "@mistralai/mistralai 2.7.0, extra/realtime/transcription.ts; models/components: TranscriptionStreamDone, UsageInfo",
  ),
  openaiTranslation: readLater(
    "openai 6.49.0, resources/realtime/realtime.d.ts: RealtimeTranslationServerEvent",
  ),
  azureVoiceLive: unread(
    "https://learn.microsoft.com/en-us/azure/ai-services/speech-service/voice-live-api-reference",
  ),
  xaiBatches: unread("https://docs.x.ai/docs/guides/batch-api"),
  vercelGateway: read(
    "https://vercel.com/docs/ai-gateway; vercel/ai, packages/gateway/src/gateway-language-model.ts: the flat and the nested usage",
  ),
  dashscope: unread("https://www.alibabacloud.com/help/en/model-studio/qwen-api-via-dashscope"),
  watsonx: read("https://cloud.ibm.com/apidocs/watsonx-ai"),
  oci: unread("https://docs.oracle.com/en-us/iaas/api/#/en/generative-ai-inference/20231130/datatypes/Usage"),
  sagemaker: unread(
    "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html",
  ),
  elevenlabs: read("https://elevenlabs.io/docs/api-reference/introduction#tracking-generation-costs"),
  deepgram: unread("https://developers.deepgram.com/reference/speech-to-text/listen-pre-recorded"),
  assemblyai: unread("https://www.assemblyai.com/docs/api-reference/transcripts/get"),
  replicate: unread("https://replicate.com/docs/reference/http#predictions.get"),
  fal: unread("https://docs.fal.ai/model-apis/model-endpoints/queue"),
  lmstudio: readLater("https://lmstudio.ai/docs/developer/rest/chat"),
  lmstudioStream: readLater("https://lmstudio.ai/docs/developer/rest/streaming-events"),
  lmstudioV0: readLater("https://lmstudio.ai/docs/developer/rest/endpoints"),
  llamaCpp: readLater(
    "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md; tools/server/server-task.cpp: to_json_non_oaicompat; a response: https://github.com/ggml-org/llama.cpp/issues/9933",
  ),
  workersAi: readLater(
    "https://developers.cloudflare.com/workers-ai/get-started/rest-api/; @cloudflare/workers-types 4.20251118: Ai_Cf_Meta_Llama_3_3_70B_Instruct_Fp8_Fast_Output; the prices: cloudflare/cloudflare-docs, src/content/workers-ai-models",
  ),
  deepgramLive: readLater(
    "deepgram/deepgram-js-sdk, src/api/resources/listen: ListenV1Metadata, ListenV1Results",
  ),
  deepgramFlux: readLater(
    "deepgram/deepgram-js-sdk, src/api/resources/speak: SpeakV2SpeechMetadata, SpeakV2SessionMetadata; src/api/resources/listen: ListenV2TurnInfo",
  ),
  deepgramSpeak: readLater(
    "deepgram/deepgram-js-sdk, src/api/resources/speak: SpeakV1Metadata, SpeakV1Flushed",
  ),
  deepgramAgent: readLater(
    "deepgram/deepgram-js-sdk, src/api/resources/agent: AgentV1Welcome, AgentV1ConversationText",
  ),
  assemblyaiLive: readLater(
    "AssemblyAI/assemblyai-node-sdk, src/types/streaming: BeginEvent, TurnEvent, TerminationEvent; what is billed: https://www.assemblyai.com/docs/streaming/universal-streaming",
  ),
  elevenlabsLive: readLater(
    "elevenlabs/elevenlabs-js, src/wrapper/realtime: SessionStartedMessage; https://elevenlabs.io/docs/api-reference/text-to-speech/v-1-text-to-speech-voice-id-stream-input",
  ),
  http: read("https://www.rfc-editor.org/rfc/rfc9112"),
  contentCoding: read("https://www.rfc-editor.org/rfc/rfc9110#section-8.4"),
  eventSource: read("https://html.spec.whatwg.org/multipage/server-sent-events.html"),
} as const;
