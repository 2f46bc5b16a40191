import {
  free,
  freePaths,
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
  | "lmstudio"
  | "llama-cpp"
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
    ...freePaths(
      "POST /messages/count_tokens",
      "GET POST /messages/batches",
      "GET DELETE /messages/batches/*",
      "POST /messages/batches/*/cancel",
      "GET /models",
      "GET /models/**",
      "GET POST /files",
      "GET DELETE /files/*",
      "GET /files/*/content",
      "GET POST /skills",
      "GET DELETE /skills/*",
      "GET POST /skills/*/versions",
      "GET DELETE /skills/*/versions/*",
      "GET /skills/*/versions/*/content",
    ),
    // The Admin API. Its reports repeat the usage of calls.
    retrieval(
      /^\/organizations\/(usage_report|cost_report|analytics|rate_limits|spend_limits)(\/.+)?$/,
      "repeated",
      "chat",
    ),
    ...freePaths("GET POST DELETE /organizations/..."),
    // Managed agents: a session is billed by the model requests that its events state.
    retrieval(
      /^\/sessions\/[^/]+\/(events|events\/stream|threads\/[^/]+\/(events|stream))$/,
      "anthropic.session_events",
      "chat",
    ),
    retrieval(/^\/sessions(\/[^/]+(\/threads(\/[^/]+)?)?)?$/, "repeated", "chat"),
    ...freePaths(
      "POST /sessions",
      "POST DELETE /sessions/*",
      "POST /sessions/*/archive",
      "POST /sessions/*/events",
      "POST /sessions/*/threads/*/archive",
      "GET POST /sessions/*/resources",
      "GET POST DELETE /sessions/*/resources/*",
    ),
    post(/^\/dreams$/, "anthropic.dreams", "chat", false),
    retrieval(/^\/dreams\/(?<id>[^/]+)(\/(archive|cancel))?$/, "anthropic.dreams", "chat", ["GET", "POST"]),
    retrieval(/^\/dreams$/, "repeated", "chat"),
    ...[
      "agents",
      "environments",
      "vaults",
      "memory_stores",
      "deployments",
      "tunnels",
      "user_profiles",
    ].flatMap((name) =>
      freePaths(`GET POST /${name}`, `GET POST DELETE /${name}/*`, `POST /${name}/*/archive`),
    ),
    ...freePaths(
      "GET /agents/*/versions",
      "GET /environments/*/work",
      "GET /environments/*/work/poll",
      "GET /environments/*/work/stats",
      "GET POST /environments/*/work/*",
      "POST /environments/*/work/*/ack",
      "POST /environments/*/work/*/heartbeat",
      "POST /environments/*/work/*/stop",
      "GET POST /vaults/*/credentials",
      "GET POST DELETE /vaults/*/credentials/*",
      "POST /vaults/*/credentials/*/archive",
      "POST /vaults/*/credentials/*/mcp_oauth_validate",
      "GET POST /memory_stores/*/memories",
      "GET POST DELETE /memory_stores/*/memories/*",
      "GET /memory_stores/*/memory_versions",
      "GET /memory_stores/*/memory_versions/*",
      "POST /memory_stores/*/memory_versions/*/redact",
      // A run of a deployment starts a session.
      "POST /deployments/*/run",
      "POST /deployments/*/pause",
      "POST /deployments/*/unpause",
      "GET /deployment_runs",
      "GET /deployment_runs/*",
      "GET POST /tunnels/*/certificates",
      "GET DELETE /tunnels/*/certificates/*",
      "POST /tunnels/*/certificates/*/archive",
      "POST /tunnels/*/reveal_token",
      "POST /tunnels/*/rotate_token",
      "POST /user_profiles/*/action_urls",
      "POST /user_profiles/*/enrollment_url",
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
    ...freePaths(
      "GET /videos/models",
      "GET /videos/*/content",
      "GET /videos/characters/*",
      "POST /videos/characters",
      "DELETE /videos/*",
    ),
    retrieval(/^\/videos\/(?<id>[^/]+)$/, "other_units", "other"),
    retrieval(/^\/videos$/, "repeated", "other"),
    // Assistants. The thread and its messages are not billed; a run is.
    post(/^\/threads\/(runs|[^/]+\/runs)$/, "openai.runs", "chat"),
    retrieval(
      /^\/threads\/[^/]+\/runs\/(?<id>[^/]+)(\/(cancel|submit_tool_outputs))?$/,
      "openai.runs",
      "chat",
      ["GET", "POST"],
    ),
    retrieval(/^\/threads\/[^/]+\/runs(\/[^/]+\/steps(\/[^/]+)?)?$/, "repeated", "chat"),
    ...freePaths(
      "GET POST /assistants",
      "GET POST DELETE /assistants/*",
      "POST /threads",
      "GET POST DELETE /threads/*",
      "GET POST /threads/*/messages",
      "GET POST DELETE /threads/*/messages/*",
    ),
    post(/^\/evals\/[^/]+\/runs$/, "openai.eval_runs", "chat", false),
    retrieval(/^\/evals\/[^/]+\/runs\/(?<id>[^/]+)$/, "openai.eval_runs", "chat", ["GET", "POST"]),
    retrieval(/^\/evals\/[^/]+\/runs(\/[^/]+\/output_items(\/[^/]+)?)?$/, "repeated", "chat"),
    ...freePaths("GET POST /evals", "GET POST DELETE /evals/*", "DELETE /evals/*/runs/*"),
    post(/^\/containers$/, "other_units", "other", false),
    ...freePaths(
      "GET /containers",
      "GET DELETE /containers/*",
      "GET POST /containers/*/files",
      "GET DELETE /containers/*/files/*",
      "GET /containers/*/files/*/content",
      "POST /containers/*/files/*/promote",
    ),
    socket(/^\/realtime$/, "openai.realtime"),
    speechSocket(/^\/realtime\/translations$/),
    // A call over WebRTC or SIP: its sound and its usage do not pass here.
    post(/^\/realtime(\/translations)?\/calls(\/[^/]+\/accept)?$/, "other_units", "audio"),
    ...freePaths(
      "POST /realtime/calls/*/reject",
      "POST /realtime/calls/*/hangup",
      "POST /realtime/calls/*/refer",
      "POST /realtime/client_secrets",
      "POST /realtime/translations/client_secrets",
      "POST /realtime/sessions",
      "POST /realtime/transcription_sessions",
    ),
    retrieval(/^\/files\/[^/]+\/content$/, "openai.file_content", "chat"),
    // Stored completions, which were metered when they were made.
    retrieval(/^\/chat\/completions(\/[^/]+)?$/, "repeated", "chat"),
    ...freePaths(
      "GET /chat/completions/*/messages",
      "POST DELETE /chat/completions/*",
      "POST /responses/input_tokens",
      "GET /responses/*/input_items",
      "DELETE /responses/*",
    ),
    retrieval(/^\/responses\/[^/]+(\/cancel)?$/, "openai.responses", "chat", ["GET", "POST"]),
    // The Admin API. Its reports repeat the usage of calls.
    retrieval(/^\/organization\/(usage\/[^/]+|costs)$/, "repeated", "chat"),
    ...freePaths(
      "GET POST DELETE /organization/...",
      "GET POST DELETE /projects/...",
      "GET /models",
      // The name of a model may have a slash.
      "GET DELETE /models/...",
      "POST /moderations",
      "GET POST /files",
      "GET DELETE /files/*",
      "POST /uploads",
      "POST /uploads/*/parts",
      "POST /uploads/*/complete",
      "POST /uploads/*/cancel",
      "GET POST /vector_stores",
      "GET POST DELETE /vector_stores/*",
      "POST /vector_stores/*/search",
      "GET POST /vector_stores/*/files",
      "GET POST DELETE /vector_stores/*/files/*",
      "GET /vector_stores/*/files/*/content",
      "POST /vector_stores/*/file_batches",
      "GET /vector_stores/*/file_batches/*",
      "POST /vector_stores/*/file_batches/*/cancel",
      "GET /vector_stores/*/file_batches/*/files",
      "GET POST /skills",
      "GET POST DELETE /skills/*",
      "GET /skills/*/content",
      "GET POST /skills/*/versions",
      "GET DELETE /skills/*/versions/*",
      "GET /skills/*/versions/*/content",
      "POST /conversations",
      "GET POST DELETE /conversations/*",
      "GET POST /conversations/*/items",
      "GET DELETE /conversations/*/items/*",
      "GET POST /batches",
      "GET /batches/*",
      "POST /batches/*/cancel",
    ),
    // A fine-tuning job is billed by the tokens that it was trained on.
    post(/^\/fine_tuning\/(jobs|alpha\/graders\/run)$/, "other_units", "other", false),
    retrieval(/^\/fine_tuning\/jobs\/(?<id>[^/]+)(\/(cancel|pause|resume))?$/, "other_units", "other", [
      "GET",
      "POST",
    ]),
    retrieval(/^\/fine_tuning\/jobs$/, "repeated", "other"),
    ...freePaths(
      "GET /fine_tuning/jobs/*/events",
      "GET /fine_tuning/jobs/*/checkpoints",
      "GET POST /fine_tuning/checkpoints/**/permissions",
      "DELETE /fine_tuning/checkpoints/**/permissions/*",
      "POST /fine_tuning/alpha/graders/validate",
    ),
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
    ...freePaths(
      "POST /models/*:countTokens",
      "POST /models/*:countTextTokens",
      "POST /tunedModels/*:countTokens",
    ),
    socket(
      /^\/ws\/google\.ai\.generativelanguage\.v1[a-z0-9]*\.GenerativeService\.BidiGenerateContent(Constrained)?$/,
      "gemini.live",
    ),
    // Images, videos and music state what they made at most as images.
    post(/^\/models\/(?<model>[^/:]+):predict$/, "vertex.predict", "image", false),
    post(/^\/models\/(?<model>[^/:]+):predictLongRunning$/, "other_units", "other", false),
    post(/^\/cachedContents$/, "gemini.cached_contents", "other", false),
    retrieval(/^\/cachedContents(\/[^/:]+)?$/, "repeated", "other", ["GET", "PATCH"]),
    ...freePaths("DELETE /cachedContents/*"),
    // What is added to a file search store is billed by its embeddings, which no response states.
    post(/^\/fileSearchStores\/[^/:]+:importFile$/, "other_units", "embedding", false),
    speechSocket(/^\/ws\/google\.ai\.generativelanguage\.v1[a-z0-9]*\.GenerativeService\.BidiGenerateMusic$/),
    post(/^\/interactions$/, "gemini.interactions", "chat"),
    retrieval(/^\/interactions\/[^/:]+(\/cancel)?$/, "gemini.interactions", "chat", ["GET", "POST"]),
    ...freePaths("DELETE /interactions/*"),
    retrieval(/^\/batches\/[^/:]+$/, "gemini.batch", "chat"),
    retrieval(/^\/files\/[^/:]+:download$/, "gemini.batch_file", "chat"),
    ...freePaths(
      "POST /models/*:batchGenerateContent",
      "POST /models/*:asyncBatchEmbedContent",
      "GET /models",
      "GET /models/*",
      "GET /models/*/operations/*",
      "GET POST /tunedModels",
      "GET PATCH DELETE /tunedModels/*",
      "GET /tunedModels/*/operations/*",
      "GET POST /files",
      "GET DELETE /files/*",
      "GET DELETE /operations/*",
      "POST /operations/*:cancel",
      "GET /batches",
      "DELETE /batches/*",
      "POST /batches/*:cancel",
      "GET POST /fileSearchStores",
      "GET DELETE /fileSearchStores/*",
      "GET /fileSearchStores/*/operations/*",
      "GET /fileSearchStores/*/documents",
      "GET DELETE /fileSearchStores/*/documents/*",
    ),
  ],
  ollama: [
    post(/^\/chat$/, "ollama.chat", "chat"),
    post(/^\/generate$/, "ollama.generate", "chat"),
    post(/^\/embed(dings)?$/, "ollama.embed", "embedding", false),
    // Ollama's own searches count towards the plan.
    post(/^\/web_(search|fetch)$/, "other_units", "other", false),
    ...freePaths(
      "GET /tags",
      "GET /ps",
      "GET /version",
      "POST /show",
      "POST /pull",
      "POST /push",
      "POST /create",
      "POST /copy",
      "DELETE /delete",
      "POST /me",
      "POST /signout",
      "POST /blobs/**",
    ),
  ],
  "code-assist": [
    post(/^:generateContent$/, "gemini.code_assist", "chat", false),
    post(/^:streamGenerateContent$/, "gemini.code_assist", "chat", true),
    // The sign-in, settings, token counts, metrics and quotas of Gemini CLI, the IDE extensions and Antigravity.
    free(
      ["GET", "POST"],
      /^[:/](loadCodeAssist|onboardUser|countTokens|fetchAdminControls|fetchAvailableModels|fetchUserInfo|cascadeNuxes|listExperiments|listModelConfigs|(get|set)CodeAssistGlobalUserSetting|setUserSettings|record(CodeAssistMetrics|ConversationOffered|ConversationInteraction|TrajectoryAnalytics|ClientEvent)|retrieveUserQuota(Summary)?)$/,
    ),
    ...freePaths("GET /operations/..."),
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
    ...freePaths("POST /publishers/*/models/*:fetchPredictOperation"),
    // Models on an endpoint of the customer: tuned ones, and those of the Model Garden.
    post(/^\/endpoints\/[^/]+\/chat\/completions$/, "openai.chat", "chat"),
    post(/^\/endpoints\/[^/]+\/embeddings$/, "openai.embeddings", "embedding"),
    post(
      /^\/endpoints\/(?<model>[^/:]+):(predict|rawPredict|streamRawPredict|serverStreamingPredict)$/,
      "any_model",
      "chat",
    ),
    post(/^\/cachedContents$/, "gemini.cached_contents", "other", false),
    retrieval(/^\/cachedContents(\/[^/:]+)?$/, "repeated", "other", ["GET", "PATCH"]),
    ...freePaths("DELETE /cachedContents/*"),
    ...freePaths(
      "POST /publishers/*/models/*:countTokens",
      "POST /publishers/*/models/*:computeTokens",
      "POST /endpoints/*:countTokens",
      "POST /endpoints/*:computeTokens",
      "GET /publishers/*/models",
      "GET /publishers/*/models/*",
      "GET POST /endpoints",
      "GET PATCH DELETE /endpoints/*",
      "GET /endpoints/*/operations/*",
      "GET /operations",
      "GET DELETE /operations/*",
      "POST /operations/*:cancel",
      "GET POST /batchPredictionJobs",
      "GET DELETE /batchPredictionJobs/*",
      "POST /batchPredictionJobs/*:cancel",
      "GET POST /tuningJobs",
      "GET /tuningJobs/*",
      "POST /tuningJobs/*:cancel",
      "GET /models",
      "GET PATCH DELETE /models/*",
    ),
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
    ...freePaths("POST /model/**/count-tokens"),
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
    ...freePaths(
      "POST /v1/embed-jobs/*/cancel",
      "GET POST /v2/batches",
      "GET /v2/batches/*",
      "POST /v2/batches/*/cancel",
    ),
    ...["/v1", "/v2"].flatMap((version) =>
      freePaths(
        `GET ${version}/models`,
        `GET ${version}/models/**`,
        `POST ${version}/tokenize`,
        `POST ${version}/detokenize`,
        `POST ${version}/check-api-key`,
      ),
    ),
    ...freePaths(
      "GET POST /v1/datasets",
      "GET DELETE /v1/datasets/*",
      "GET POST /v1/connectors",
      "GET PATCH DELETE /v1/connectors/*",
      "POST /v1/connectors/*/oauth/authorize",
      "GET POST /v1/finetuning/finetuned-models",
      "GET PATCH DELETE /v1/finetuning/finetuned-models/*",
      "GET /v1/finetuning/finetuned-models/*/events",
      "GET /v1/finetuning/finetuned-models/*/training-step-metrics",
    ),
  ],
  // Platforms that serve models of any kind at one path. Sources: docs.databricks.com, "Query generative AI models";
  // docs.aws.amazon.com/sagemaker, InvokeEndpoint; docs.snowflake.com, "Cortex REST API"; 2026-11-23.
  "model-serving": [
    post(/^\/(?:serving-)?endpoints\/(?<model>[^/]+)\/invocations$/, "openai.served", "chat"),
    post(/^\/endpoints\/(?<model>[^/]+)\/invocations-response-stream$/, "openai.served", "chat", true),
    post(/^\/api\/v2\/cortex\/inference:complete$/, "openai.served", "chat"),
    post(/^\/api\/v2\/cortex\/inference:embed$/, "openai.embeddings", "embedding", false),
  ],
  lmstudio: [post(/^\/api\/v1\/chat$/, "lmstudio.chat", "chat")],
  "llama-cpp": [post(/^\/(completions?|infill)$/, "llama.completion", "chat")],
  ...PROVIDER_DIALECTS,
};
