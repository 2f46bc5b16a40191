import {
  free,
  MANAGE,
  type PathRule,
  post,
  READ,
  retrieval,
  SEND,
  socket,
  speechSocket,
} from "./path-rules.ts";
import { PROVIDER_DIALECTS, type ProviderDialect } from "./provider-dialects.ts";

/** A family of API paths that several hosts share. */
export type PathDialect =
  | "anthropic"
  | "openai"
  | "gemini"
  | "ollama"
  | "code-assist"
  | "vertex"
  | "bedrock"
  | "cohere"
  | "model-serving"
  | ProviderDialect;

/** The API of an operator's host: one family of paths, or the combination that Azure serves. */
export type Dialect = Exclude<PathDialect, ProviderDialect> | "azure";

/** A Google model on Vertex, or a tuned model behind an endpoint. */
const GOOGLE_MODEL = (method: string): RegExp =>
  new RegExp(`^/(?:publishers/google/models|endpoints)/(?<model>[^/:]+):${method}$`);

/** Models of `:predict` whose responses state their usage. Those of other models (speech, music) do not. */
const TEXT_EMBEDDING =
  /^\/publishers\/google\/models\/(?<model>(?:text-(?:multilingual-)?|gemini-|text)embedding[^/:]*):predict$/;
const IMAGE_GENERATION =
  /^\/publishers\/google\/models\/(?<model>(?:imagen-|imagegeneration)[^/:]*):predict$/;

/**
 * The paths of each dialect. A path that may be billed and is not supported has no rule and counts as unknown. A batch is
 * billed by its results, so creating and polling it is free.
 */
export const DIALECTS: Readonly<Record<PathDialect, readonly PathRule[]>> = {
  anthropic: [
    post(/^\/messages$/, "anthropic.messages", "chat"),
    retrieval(/^\/messages\/batches\/[^/]+\/results$/, "anthropic.batch_results", "chat"),
    free(SEND, /^\/messages\/(count_tokens|batches|batches\/[^/]+\/cancel)$/),
    free(MANAGE, /^\/messages\/batches(\/[^/]+)?$/),
    free(READ, /^\/models(\/[^/]+)?$/),
    free(MANAGE, /^\/(files|skills|organizations)(\/.+)?$/),
    // Managed agents: a session is billed by the model requests that its events state.
    retrieval(
      /^\/sessions\/[^/]+\/(events|events\/stream|threads\/[^/]+\/(events|stream))$/,
      "anthropic.session_events",
      "chat",
    ),
    retrieval(/^\/sessions(\/[^/]+(\/threads(\/[^/]+)?)?)?$/, "repeated", "chat"),
    free(["POST", "DELETE"], /^\/sessions(\/[^/]+(\/(archive|events|threads\/[^/]+\/archive))?)?$/),
    free(MANAGE, /^\/sessions\/[^/]+\/resources(\/[^/]+)?$/),
    post(/^\/dreams$/, "anthropic.dreams", "chat", false),
    retrieval(/^\/dreams\/(?<id>[^/]+)(\/(archive|cancel))?$/, "anthropic.dreams", "chat", ["GET", "POST"]),
    retrieval(/^\/dreams$/, "repeated", "chat"),
    free(
      MANAGE,
      /^\/(agents|environments|vaults|memory_stores|deployments|deployment_runs|tunnels|user_profiles)(\/.+)?$/,
    ),
  ],
  openai: [
    // `/agents/completions` is Mistral's.
    post(/^\/(chat|agents)\/completions$/, "openai.chat", "chat"),
    post(/^(\/fim)?\/completions$/, "openai.completions", "chat"),
    post(/^\/responses(\/compact)?$/, "openai.responses", "chat"),
    socket(/^\/responses$/, "openai.responses"),
    post(/^\/embeddings$/, "openai.embeddings", "embedding"),
    post(/^\/images\/(generations|edits|variations)$/, "openai.images", "image"),
    post(/^\/audio\/(transcriptions|translations)$/, "openai.transcriptions", "audio"),
    post(/^\/audio\/speech$/, "openai.speech", "audio"),
    post(/^\/ocr$/, "mistral.ocr", "other", false),
    post(/^\/rerank$/, "rerank", "other", false),
    // Videos are jobs: created, edited, extended or remixed, then polled.
    post(/^\/videos(\/(generations|edits|extensions|[^/]+\/remix))?$/, "other_units", "other", false),
    free(READ, /^\/videos\/(models|[^/]+\/content|characters\/[^/]+)$/),
    free(SEND, /^\/videos\/characters$/),
    retrieval(/^\/videos\/(?<id>[^/]+)$/, "other_units", "other"),
    retrieval(/^\/videos$/, "repeated", "other"),
    free(["DELETE"], /^\/videos\/[^/]+$/),
    // Assistants. The thread and its messages are not billed; a run is.
    post(/^\/threads\/(runs|[^/]+\/runs)$/, "openai.runs", "chat"),
    retrieval(
      /^\/threads\/[^/]+\/runs\/(?<id>[^/]+)(\/(cancel|submit_tool_outputs))?$/,
      "openai.runs",
      "chat",
      ["GET", "POST"],
    ),
    retrieval(/^\/threads\/[^/]+\/runs(\/[^/]+\/steps(\/[^/]+)?)?$/, "repeated", "chat"),
    free(MANAGE, /^\/(assistants|threads)(\/[^/]+(\/messages(\/[^/]+)?)?)?$/),
    post(/^\/evals\/[^/]+\/runs$/, "openai.eval_runs", "chat", false),
    retrieval(/^\/evals\/[^/]+\/runs\/(?<id>[^/]+)$/, "openai.eval_runs", "chat", ["GET", "POST"]),
    retrieval(/^\/evals\/[^/]+\/runs(\/[^/]+\/output_items(\/[^/]+)?)?$/, "repeated", "chat"),
    free(MANAGE, /^\/evals(\/[^/]+)?$/),
    free(["DELETE"], /^\/evals\/[^/]+\/runs\/[^/]+$/),
    post(/^\/containers$/, "other_units", "other", false),
    free(MANAGE, /^\/containers(\/[^/]+(\/files(\/[^/]+(\/content)?)?)?)?$/),
    socket(/^\/realtime$/, "openai.realtime"),
    speechSocket(/^\/realtime\/translations$/),
    // A call over WebRTC or SIP: its sound and its usage do not pass here.
    post(/^\/realtime(\/translations)?\/calls(\/[^/]+\/accept)?$/, "other_units", "audio"),
    free(SEND, /^\/realtime\/calls\/[^/]+\/(reject|hangup|refer)$/),
    retrieval(/^\/files\/[^/]+\/content$/, "openai.file_content", "chat"),
    // Stored completions, which were metered when they were made.
    retrieval(/^\/chat\/completions(\/[^/]+)?$/, "repeated", "chat"),
    free(READ, /^\/chat\/completions\/[^/]+\/messages$/),
    free(["POST", "DELETE"], /^\/chat\/completions\/[^/]+$/),
    free(SEND, /^\/responses\/input_tokens$/),
    free(READ, /^\/responses\/[^/]+\/input_items$/),
    retrieval(/^\/responses\/[^/]+(\/cancel)?$/, "openai.responses", "chat", ["GET", "POST"]),
    free(["DELETE"], /^\/responses\/[^/]+$/),
    free(SEND, /^\/realtime\/((translations\/)?client_secrets|sessions|transcription_sessions)$/),
    free(["GET", "DELETE"], /^\/models(\/.+)?$/),
    free(SEND, /^\/moderations$/),
    free(MANAGE, /^\/(files|uploads|vector_stores|organization|projects|skills)(\/.+)?$/),
    // A fine-tuning job is billed by the tokens that it was trained on.
    post(/^\/fine_tuning\/(jobs|alpha\/graders\/run)$/, "other_units", "other", false),
    free(READ, /^\/fine_tuning\/jobs\/[^/]+\/(events|checkpoints)$/),
    retrieval(/^\/fine_tuning\/jobs\/(?<id>[^/]+)(\/(cancel|pause|resume))?$/, "other_units", "other", [
      "GET",
      "POST",
    ]),
    retrieval(/^\/fine_tuning\/jobs$/, "repeated", "other"),
    free(MANAGE, /^\/fine_tuning\/(checkpoints\/.+|alpha\/graders\/validate)$/),
    free(MANAGE, /^\/conversations(\/[^/]+(\/items(\/[^/]+)?)?)?$/),
    free(["GET", "POST"], /^\/batches(\/[^/]+(\/(cancel|requests))?)?$/),
  ],
  gemini: [
    post(/^\/(?:models|tunedModels)\/(?<model>[^/:]+):generateContent$/, "gemini.generate", "chat", false),
    post(
      /^\/(?:models|tunedModels)\/(?<model>[^/:]+):streamGenerateContent$/,
      "gemini.generate",
      "chat",
      true,
    ),
    post(
      /^\/models\/(?<model>[^/:]+):(?:embedContent|batchEmbedContents)$/,
      "gemini.embed",
      "embedding",
      false,
    ),
    free(SEND, /^\/(?:models|tunedModels)\/[^/:]+:(?:countTokens|countTextTokens)$/),
    socket(
      /^\/ws\/google\.ai\.generativelanguage\.v1[a-z0-9]*\.GenerativeService\.BidiGenerateContent(Constrained)?$/,
      "gemini.live",
    ),
    // Images, videos and music state what they made at most as images.
    post(/^\/models\/(?<model>[^/:]+):predict$/, "vertex.predict", "image", false),
    post(/^\/models\/(?<model>[^/:]+):predictLongRunning$/, "other_units", "other", false),
    post(/^\/cachedContents$/, "gemini.cached_contents", "other", false),
    retrieval(/^\/cachedContents(\/[^/:]+)?$/, "repeated", "other", ["GET", "PATCH"]),
    free(["DELETE"], /^\/cachedContents\/[^/:]+$/),
    // What is added to a file search store is billed by its embeddings, which no response states.
    post(/^\/fileSearchStores\/[^/:]+:importFile$/, "other_units", "embedding", false),
    speechSocket(/^\/ws\/google\.ai\.generativelanguage\.v1[a-z0-9]*\.GenerativeService\.BidiGenerateMusic$/),
    post(/^\/interactions$/, "gemini.interactions", "chat"),
    retrieval(/^\/interactions\/[^/:]+(\/cancel)?$/, "gemini.interactions", "chat", ["GET", "POST"]),
    free(["DELETE"], /^\/interactions\/[^/:]+$/),
    retrieval(/^\/batches\/[^/:]+$/, "gemini.batch", "chat"),
    retrieval(/^\/files\/[^/:]+:download$/, "gemini.batch_file", "chat"),
    free(SEND, /^\/models\/[^/:]+:(batchGenerateContent|asyncBatchEmbedContent|batchEmbedContent)$/),
    free(READ, /^\/models(\/[^/:]+(\/operations\/[^/:]+)?)?$/),
    free(MANAGE, /^\/(tunedModels|files|operations|batches|fileSearchStores)(\/[^:]+)?$/),
    free(SEND, /^\/(operations|batches)\/[^/:]+:cancel$/),
  ],
  ollama: [
    post(/^\/chat$/, "ollama.chat", "chat"),
    post(/^\/generate$/, "ollama.generate", "chat"),
    post(/^\/embed(dings)?$/, "ollama.embed", "embedding", false),
    // Ollama's own searches count towards the plan.
    post(/^\/web_(search|fetch)$/, "other_units", "other", false),
    free(READ, /^\/(tags|ps|version)$/),
    free(["POST", "DELETE"], /^\/(show|pull|push|create|copy|delete|me|signout|blobs\/[^/]+)$/),
  ],
  "code-assist": [
    post(/^:generateContent$/, "gemini.code_assist", "chat", false),
    post(/^:streamGenerateContent$/, "gemini.code_assist", "chat", true),
    // The sign-in, settings, token counts, metrics and quotas of Gemini CLI, the IDE extensions and Antigravity.
    free(
      ["GET", "POST"],
      /^[:/](loadCodeAssist|onboardUser|countTokens|fetchAdminControls|fetchAvailableModels|fetchUserInfo|cascadeNuxes|listExperiments|listModelConfigs|(get|set)CodeAssistGlobalUserSetting|setUserSettings|record(CodeAssistMetrics|ConversationOffered|ConversationInteraction|TrajectoryAnalytics|ClientEvent)|retrieveUserQuota(Summary)?)$/,
    ),
    free(READ, /^\/operations\/.+$/),
  ],
  vertex: [
    post(GOOGLE_MODEL("generateContent"), "gemini.generate", "chat", false),
    post(GOOGLE_MODEL("streamGenerateContent"), "gemini.generate", "chat", true),
    post(GOOGLE_MODEL("embedContent"), "gemini.embed", "embedding", false),
    post(TEXT_EMBEDDING, "vertex.predict", "embedding", false),
    post(IMAGE_GENERATION, "vertex.predict", "image", false),
    socket(
      /^\/ws\/google\.cloud\.aiplatform\.v1[a-z0-9]*\.LlmBidiService\/BidiGenerateContent$/,
      "gemini.live",
    ),
    free(SEND, /^\/publishers\/anthropic\/models\/count-tokens[^/:]*:rawPredict$/),
    post(
      /^\/publishers\/anthropic\/models\/(?<model>[^/:]+):(raw|streamRaw)Predict$/,
      "anthropic.messages",
      "chat",
    ),
    post(
      /^\/publishers\/mistralai\/models\/(?<model>mistral-ocr[^/:]*):rawPredict$/,
      "mistral.ocr",
      "other",
      false,
    ),
    post(/^\/publishers\/mistralai\/models\/(?<model>[^/:]+):(raw|streamRaw)Predict$/, "openai.chat", "chat"),
    post(
      /^\/publishers\/[^/]+\/models\/(?<model>[^/:]+):(raw|streamRaw|serverStreaming)Predict$/,
      "any_model",
      "chat",
    ),
    post(/^\/publishers\/[^/]+\/models\/(?<model>[^/:]+):predict$/, "vertex.predict", "other", false),
    post(/^\/publishers\/[^/]+\/models\/(?<model>[^/:]+):predictLongRunning$/, "other_units", "other", false),
    free(SEND, /^\/publishers\/[^/]+\/models\/[^/:]+:fetchPredictOperation$/),
    // Models on an endpoint of the customer: tuned ones, and those of the Model Garden.
    post(/^\/endpoints\/[^/]+\/chat\/completions$/, "openai.chat", "chat"),
    post(/^\/endpoints\/[^/]+\/embeddings$/, "openai.embeddings", "embedding"),
    post(
      /^\/endpoints\/(?<model>[^/:]+):(predict|rawPredict|streamRawPredict|serverStreamingPredict)$/,
      "any_model",
      "chat",
    ),
    free(MANAGE, /^\/endpoints(\/[^/:]+(\/operations\/[^/:]+)?)?$/),
    post(/^\/cachedContents$/, "gemini.cached_contents", "other", false),
    retrieval(/^\/cachedContents(\/[^/:]+)?$/, "repeated", "other", ["GET", "PATCH"]),
    free(["DELETE"], /^\/cachedContents\/[^/:]+$/),
    free(SEND, /^\/(publishers\/[^/]+\/models|endpoints)\/[^/:]+:(countTokens|computeTokens)$/),
    free(READ, /^\/publishers\/[^/]+\/models(\/[^/:]+)?$/),
    free(MANAGE, /^\/(operations|batchPredictionJobs|tuningJobs|models)(\/[^:]+)?$/),
    free(SEND, /^\/(operations|batchPredictionJobs|tuningJobs)\/[^/:]+:cancel$/),
  ],
  bedrock: [
    post(/^\/model\/(?<model>[^/]+)\/converse$/, "bedrock.converse", "chat", false),
    post(/^\/model\/(?<model>[^/]+)\/converse-stream$/, "bedrock.converse", "chat", true),
    post(/^\/model\/(?<model>[^/]+)\/invoke$/, "bedrock.invoke", "chat", false),
    post(/^\/model\/(?<model>[^/]+)\/invoke-with-response-stream$/, "bedrock.invoke", "chat", true),
    post(
      /^\/model\/(?<model>[^/]+)\/invoke-with-bidirectional-stream$/,
      "bedrock.bidirectional",
      "audio",
      true,
    ),
    free(SEND, /^\/model\/[^/]+\/count-tokens$/),
    post(/^\/[a-z]{5}-invoke$/, "other_units", "other", false),
    // Guardrails, and the paths of the agent runtime.
    post(/^\/guardrail\/[^/]+\/version\/[^/]+\/apply$/, "other_units", "other", false),
    post(/^\/agents\/[^/]+\/agentAliases\/[^/]+\/sessions\/[^/]+\/text$/, "bedrock.agents", "chat", true),
    // An inline agent, whose path ends with the session.
    post(/^\/agents\/[^/]+$/, "bedrock.agents", "chat", true),
    post(
      /^\/(retrieveAndGenerate(Stream)?|rerank|optimize-prompt|generateQuery|knowledgebases\/[^/]+\/retrieve|flows\/[^/]+\/aliases\/[^/]+)$/,
      "other_units",
      "other",
    ),
    // The states of asynchronous calls (`/async-invoke`). Their results are written to a bucket and never pass through the proxy.
    free(READ, /^\/[a-z]{5}-invoke(\/[^/]+)?$/),
  ],
  cohere: [
    post(/^\/v[12]\/chat$/, "cohere.chat", "chat"),
    post(/^\/v[12]\/embed$/, "cohere.embed", "embedding", false),
    post(/^\/v[12]\/rerank$/, "cohere.rerank", "other", false),
    post(/^\/v1\/(generate|summarize)$/, "cohere.generate", "chat"),
    post(/^\/v1\/classify$/, "cohere.units", "other", false),
    post(/^\/v2\/(parse|audio\/transcriptions)$/, "cohere.units", "other", false),
    // Jobs are billed by the embeddings that they make, which the job does not state before it has ended.
    post(/^\/v1\/embed-jobs$/, "cohere.embed", "embedding", false),
    retrieval(/^\/v1\/embed-jobs(\/[^/]+)?$/, "repeated", "embedding"),
    free(SEND, /^\/v1\/embed-jobs\/[^/]+\/cancel$/),
    free(["GET", "POST"], /^\/v2\/batches(\/[^/]+(\/cancel)?)?$/),
    free(READ, /^\/v[12]\/models(\/[^/]+)?$/),
    free(SEND, /^\/v[12]\/(tokenize|detokenize|check-api-key)$/),
    free(MANAGE, /^\/v[12]\/(datasets|connectors|finetuning)(\/.+)?$/),
  ],
  // Platforms that serve models of any kind at one path. Sources: docs.databricks.com, "Query generative AI models";
  // docs.aws.amazon.com/sagemaker, InvokeEndpoint; docs.snowflake.com, "Cortex REST API"; 2026-11-23.
  "model-serving": [
    post(/^\/(?:serving-)?endpoints\/(?<model>[^/]+)\/invocations$/, "openai.served", "chat"),
    post(/^\/endpoints\/(?<model>[^/]+)\/invocations-response-stream$/, "openai.served", "chat", true),
    post(/^\/api\/v2\/cortex\/inference:complete$/, "openai.served", "chat"),
    post(/^\/api\/v2\/cortex\/inference:embed$/, "openai.embeddings", "embedding", false),
  ],
  ...PROVIDER_DIALECTS,
};
