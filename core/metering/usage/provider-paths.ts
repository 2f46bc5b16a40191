import { free, freePaths, type PathRule, post, READ, retrieval, speechSocket } from "./path-rules.ts";

/** The paths that only one provider has, matched from the host and before those of its dialects. */

/**
 * Claude Code's sign-in, profile, settings, telemetry, connectors and remote control. Source: the requests of Claude Code 2.1,
 * as several proxies list them, read 2026-11-23.
 */
export const ANTHROPIC_PATHS: readonly PathRule[] = [
  ...freePaths(
    "GET /",
    "GET /mcp-registry/v0/servers",
    "GET /mcp-registry/v0/servers/...",
    "POST /api/event_logging/batch",
    "POST /api/event_logging/v2/batch",
    // The account, its settings and its limits.
    "GET /api/oauth/...",
    "POST /api/oauth/claude_cli/create_api_key",
    "POST PATCH /api/oauth/account/settings",
    "POST /api/oauth/account/grove_notice_viewed",
    "POST /api/oauth/file_upload",
    "GET /api/claude_code/...",
    "POST /api/claude_code/metrics",
    "POST PUT /api/claude_code/settings",
    "POST PUT /api/claude_code/user_settings",
    "POST PUT /api/claude_code/team_memory",
    "POST /api/claude_code/notification/preferences",
    "GET /api/claude_cli/...",
    "GET /api/organizations/...",
    "GET /api/organization/...",
    "GET /api/claude_code_penguin_mode",
    "GET /api/claude_code_grove",
    "POST /api/claude_cli_feedback",
    "POST /api/claude_code_shared_session_transcripts",
    "GET /api/hello",
    "GET /api/web/domain_info",
    "POST /api/eval/*",
    "GET /api/features/*",
    "POST /v1/oauth/token",
    "POST /v1/oauth/hello",
    "GET /v1/mcp_servers",
    "GET /v1/environment_providers",
    "GET /v1/ultrareview/quota",
    "GET POST /v1/code/triggers",
    "GET POST DELETE /v1/code/triggers/*",
  ),
  // Transcripts of remote sessions repeat the usage of calls that were metered where they were made.
  retrieval(/^\/v1\/(session_ingress|code\/sessions)(\/.+)?$/, "repeated", "chat", ["GET", "POST", "PUT"]),
];

export const GEMINI_PATHS: readonly PathRule[] = [
  ...freePaths("POST PUT /upload/*/files", "POST PUT /resumable/upload/*/files"),
];

export const XAI_PATHS: readonly PathRule[] = [
  retrieval(/^\/v1\/batches\/[^/]+\/results$/, "xai.batch_results", "chat"),
  retrieval(/^\/v1\/chat\/deferred-completion\/(?<id>[^/]+)$/, "chat.deferred", "chat"),
  speechSocket(/^\/v1\/(tts|stt)$/),
  post(/^\/v1\/tts$/, "openai.speech", "audio"),
  post(/^\/v1\/documents\/search$/, "other_units", "other", false),
  post(/^\/v1\/stt$/, "openai.transcriptions", "audio", false),
  ...["language", "image-generation", "video-generation", "embedding"].flatMap((kind) =>
    freePaths(`GET /v1/${kind}-models`, `GET /v1/${kind}-models/**`),
  ),
  ...freePaths(
    "GET /v1/tts/voices",
    "GET /v1/tts/voices/*",
    "GET /v1/api-key",
    "POST /v1/tokenize-text",
    "GET POST /v1/batches/*/requests",
    "POST /v1/batches/*:cancel",
  ),
];

export const OPENROUTER_PATHS: readonly PathRule[] = [
  // Statistics about past generations.
  retrieval(/^\/api\/v1\/generation$/, "repeated", "chat"),
  retrieval(/^\/api\/v1\/activity$/, "repeated", "chat"),
  ...freePaths(
    "GET /api/v1/credits",
    "GET /api/v1/key",
    "GET /api/v1/providers",
    "GET /api/v1/endpoints/zdr",
    "GET POST /api/v1/keys",
    "GET PATCH DELETE /api/v1/keys/*",
    "POST /api/v1/auth/keys",
    "POST /api/v1/auth/keys/code",
    "GET /api/v1/model/*/*",
    "GET /api/v1/images/models",
    "GET /api/v1/images/models/*/*/endpoints",
    "GET /api/v1/embeddings/models",
  ),
  post(/^\/api\/v1\/images$/, "openai.images", "image"),
  // A batch states the usage and the cost of all its requests when it has ended.
  post(/^\/api\/v1\/batches$/, "other_units", "chat", false),
  retrieval(/^\/api\/v1\/batches\/(?<id>[^/]+)$/, "other_units", "chat"),
  // The website, by reading alone: no page calls a model.
  free(READ, /^\/(?!api\/)[^?]*$/),
];

export const OLLAMA_PATHS: readonly PathRule[] = freePaths("GET /");

/** Ollama's website has the library of models. Reading its pages calls no model. */
export const OLLAMA_CLOUD_PATHS: readonly PathRule[] = [free(READ, /^\/(?!api\/|v1\/)[^?]*$/)];

export const TOGETHER_PATHS: readonly PathRule[] = [
  // Videos have a version of their own.
  post(/^\/v2\/videos$/, "other_units", "other", false),
  retrieval(/^\/v2\/videos\/(?<id>[^/]+)$/, "other_units", "other"),
];

export const MISTRAL_PATHS: readonly PathRule[] = [
  // A run of the model: a new conversation, a message to one, or a restart from an entry.
  post(/^\/v1\/conversations(\/[^/]+(\/restart)?)?$/, "mistral.conversations", "chat"),
  speechSocket(/^\/v1\/audio\/transcriptions\/realtime$/),
  ...freePaths(
    "POST /v1/client/sessions",
    "GET /v1/conversations",
    "GET DELETE /v1/conversations/*",
    "GET /v1/conversations/*/history",
    "GET /v1/conversations/*/messages",
  ),
  post(/^\/v1\/(chat\/)?(moderations|classifications)$/, "mistral.classifications", "other", false),
  ...freePaths(
    "GET POST /v1/agents",
    "GET PATCH DELETE /v1/agents/*",
    "PATCH /v1/agents/*/version",
    "GET /v1/agents/*/versions",
    "GET /v1/agents/*/versions/*",
    "GET PUT DELETE /v1/agents/*/aliases",
    "GET POST /v1/libraries",
    "GET PUT DELETE /v1/libraries/*",
    "GET PUT DELETE /v1/libraries/*/share",
    "GET /v1/libraries/*/documents",
    "GET PUT DELETE /v1/libraries/*/documents/*",
    "GET /v1/libraries/*/documents/*/status",
    "GET /v1/libraries/*/documents/*/text_content",
    "GET /v1/libraries/*/documents/*/signed-url",
    "GET /v1/libraries/*/documents/*/extracted-text-signed-url",
    "GET POST /v1/connectors",
    "GET PATCH DELETE /v1/connectors/*",
    "GET /v1/connectors/*/tools",
    "GET POST /v1/batch/jobs",
    "GET DELETE /v1/batch/jobs/*",
    "POST /v1/batch/jobs/*/cancel",
    "GET POST /v1/audio/voices",
    "GET PATCH DELETE /v1/audio/voices/*",
    "GET /v1/audio/voices/*/sample",
    "GET /v1/users/me",
    "GET /v1/users/me/organizations",
    "GET /v1/users/me/workspaces",
  ),
];

export const PERPLEXITY_PATHS: readonly PathRule[] = [
  // Search is billed by the request.
  post(/^\/search$/, "other_units", "other", false),
  post(/^\/(v1\/)?agent$/, "openai.responses", "chat"),
  retrieval(/^\/(v1\/)?agent\/[^/]+(\/cancel)?$/, "openai.responses", "chat", ["GET", "POST"]),
  // Chat completions that are fetched later (`/async/chat/completions`).
  post(/^\/[a-z]{5}\/chat\/completions$/, "chat.deferred", "chat", false),
  retrieval(/^\/[a-z]{5}\/chat\/completions\/(?<id>[^/]+)$/, "chat.deferred", "chat"),
  free(READ, /^\/[a-z]{5}\/chat\/completions$/),
  post(/^\/v1\/contextualizedembeddings$/, "openai.embeddings", "embedding", false),
  post(/^\/v1\/browser\/sessions$/, "other_units", "other", false),
];

export const DEEPSEEK_PATHS: readonly PathRule[] = freePaths("GET /user/balance");

/**
 * Codex with a ChatGPT account: telemetry, settings, quotas, plugins and connectors. The website is on the same host; reading
 * its pages calls no model, and a chat on it (`POST /backend-api/conversation`) counts as unknown, because it states no usage.
 */
export const CODEX_PATHS: readonly PathRule[] = [
  // Calls of a model whose responses state no usage.
  post(/^\/backend-api\/codex\/(v1\/)?(memories\/trace_summarize|alpha\/search)$/, "other_units", "chat"),
  ...freePaths(
    "POST /backend-api/codex/analytics-events/events",
    "GET /backend-api/me",
    "GET /backend-api/models",
    "GET /backend-api/accounts/...",
    "GET /backend-api/settings/...",
    "GET /backend-api/wham/...",
    "POST /backend-api/wham/apps",
    "GET /backend-api/connectors/...",
    "POST /backend-api/connectors/directory/list",
    "GET /backend-api/plugins/...",
    "GET /backend-api/ps/plugins/...",
    // The telemetry and the protection of the website.
    "POST /ces/...",
    "POST /backend-api/sentinel/...",
  ),
  free(READ, /^\/(?!api\/|backend-api\/|backend-anon\/)[^?]*$/),
];

/** Services of Azure that share its hosts and are no language models. */
const AZURE_SERVICES =
  "speechtotext|texttospeech|customvoice|videotranslation|vision|computervision|customvision|face|formrecognizer|documentintelligence|language|text|translator|contentsafety";

export const AZURE_PATHS: readonly PathRule[] = [
  post(/^\/openai(\/v1)?\/video\/generations\/jobs$/, "other_units", "other", false),
  retrieval(/^\/openai(\/v1)?\/video\/generations\/jobs\/(?<id>[^/]+)$/, "other_units", "other"),
  ...["/openai", "/openai/v1"].flatMap((base) =>
    freePaths(
      `GET ${base}/video/generations/*/content/video`,
      `GET ${base}/video/generations/*/content/thumbnail`,
    ),
  ),
  post(/^\/providers\/blackforestlabs\/v1\/(?<model>[^/]+)$/, "openai.images", "image", false),
  // Decision: what these services process is billed by units that the responses do not state; reading from them is free.
  post(new RegExp(`^/(${AZURE_SERVICES})/.+$`), "other_units", "other", false),
  free(READ, new RegExp(`^/(${AZURE_SERVICES})/.+$`)),
  ...["connections", "deployments", "indexes", "datasets", "agents"].flatMap((name) =>
    freePaths(`GET /api/projects/*/${name}`, `GET /api/projects/*/${name}/**`),
  ),
];
