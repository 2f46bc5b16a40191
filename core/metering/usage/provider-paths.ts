import { free, MANAGE, type PathRule, post, READ, retrieval, SEND, speechSocket } from "./path-rules.ts";

/** The paths that only one provider has, matched from the host and before those of its dialects. */

/**
 * Claude Code's sign-in, profile, settings, telemetry, connectors and remote control. Source: the requests of Claude Code 2.1,
 * as several proxies list them, read 2026-11-23.
 */
export const ANTHROPIC_PATHS: readonly PathRule[] = [
  free(READ, /^\/$/),
  free(READ, /^\/mcp-registry\/v0\/servers(\/.+)?$/),
  free(SEND, /^\/api\/event_logging(\/v\d+)?\/batch$/),
  free(MANAGE, /^\/api\/(oauth|claude_code|claude_cli|organizations?)\/.+$/),
  free(READ, /^\/api\/claude_code_(penguin_mode|grove)$/),
  free(SEND, /^\/api\/(claude_cli_feedback|claude_code_shared_session_transcripts)$/),
  free(["GET", "POST"], /^\/api\/(hello|web\/domain_info|eval\/[^/]+|features\/[^/]+)$/),
  free(MANAGE, /^\/v1\/oauth\/.+$/),
  free(
    READ,
    /^\/v1\/(mcp_servers|environment_providers|environments\/[^/]+\/work\/poll|ultrareview\/quota)$/,
  ),
  free(MANAGE, /^\/v1\/code\/triggers(\/.+)?$/),
  // Transcripts of remote sessions repeat the usage of calls that were metered where they were made.
  retrieval(/^\/v1\/(session_ingress|code\/sessions)(\/.+)?$/, "repeated", "chat", ["GET", "POST", "PUT"]),
];

export const GEMINI_PATHS: readonly PathRule[] = [
  free(["POST", "PUT"], /^\/(resumable\/)?upload\/v1[a-z0-9]*\/files$/),
];

export const XAI_PATHS: readonly PathRule[] = [
  retrieval(/^\/v1\/batches\/[^/]+\/results$/, "xai.batch_results", "chat"),
  retrieval(/^\/v1\/chat\/deferred-completion\/(?<id>[^/]+)$/, "chat.deferred", "chat"),
  speechSocket(/^\/v1\/(tts|stt)$/),
  post(/^\/v1\/tts$/, "openai.speech", "audio"),
  post(/^\/v1\/documents\/search$/, "other_units", "other", false),
  post(/^\/v1\/stt$/, "openai.transcriptions", "audio", false),
  free(READ, /^\/v1\/tts\/voices(\/[^/]+)?$/),
  free(READ, /^\/v1\/(api-key|(language|image-generation|video-generation|embedding)-models(\/[^/]+)?)$/),
  free(SEND, /^\/v1\/tokenize-text$/),
];

export const OPENROUTER_PATHS: readonly PathRule[] = [
  // Statistics about past generations.
  retrieval(/^\/api\/v1\/generation$/, "repeated", "chat"),
  free(READ, /^\/api\/v1\/(credits|key|providers|activity|endpoints\/zdr)$/),
  free(MANAGE, /^\/api\/v1\/(keys|auth)(\/.+)?$/),
  post(/^\/api\/v1\/images$/, "openai.images", "image"),
  free(READ, /^\/api\/v1\/(images|embeddings)\/models(\/.+)?$/),
  // A batch states the usage and the cost of all its requests when it has ended.
  post(/^\/api\/v1\/batches$/, "other_units", "chat", false),
  retrieval(/^\/api\/v1\/batches\/(?<id>[^/]+)$/, "other_units", "chat"),
  free(READ, /^\/api\/v1\/model\/.+$/),
  // The website, by reading alone: no page calls a model.
  free(READ, /^\/(?!api\/)[^?]*$/),
];

export const OLLAMA_PATHS: readonly PathRule[] = [free(READ, /^\/$/)];

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
  free(SEND, /^\/v1\/client\/sessions$/),
  free(READ, /^\/v1\/conversations(\/[^/]+(\/(history|messages))?)?$/),
  free(["DELETE"], /^\/v1\/conversations\/[^/]+$/),
  post(/^\/v1\/(chat\/)?(moderations|classifications)$/, "mistral.classifications", "other", false),
  free(MANAGE, /^\/v1\/agents(\/(?!completions$).+)?$/),
  free(MANAGE, /^\/v1\/(libraries|connectors|batch\/jobs|audio\/voices)(\/.+)?$/),
  free(READ, /^\/v1\/users\/me(\/(organizations|workspaces))?$/),
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

export const DEEPSEEK_PATHS: readonly PathRule[] = [free(READ, /^\/user\/balance$/)];

/**
 * Codex with a ChatGPT account: telemetry, settings, quotas, plugins and connectors. The website is on the same host; reading
 * its pages calls no model, and a chat on it (`POST /backend-api/conversation`) counts as unknown, because it states no usage.
 */
export const CODEX_PATHS: readonly PathRule[] = [
  // Calls of a model whose responses state no usage.
  post(/^\/backend-api\/codex\/(v1\/)?(memories\/trace_summarize|alpha\/search)$/, "other_units", "chat"),
  free(SEND, /^\/backend-api\/codex\/analytics-events\/.+$/),
  free(READ, /^\/backend-api\/(me|models|accounts\/.+|settings\/.+|wham\/.+)$/),
  free(
    MANAGE,
    /^\/backend-api\/(connectors|plugins|ps\/plugins|wham\/(apps|config|profiles|environments))(\/.+)?$/,
  ),
  free(SEND, /^\/(ces\/.+|backend-api\/sentinel\/.+)$/),
  free(READ, /^\/(?!api\/|backend-api\/|backend-anon\/)[^?]*$/),
];

/** Services of Azure that share its hosts and are no language models. */
const AZURE_SERVICES =
  "speechtotext|texttospeech|customvoice|videotranslation|vision|computervision|customvision|face|formrecognizer|documentintelligence|language|text|translator|contentsafety";

export const AZURE_PATHS: readonly PathRule[] = [
  post(/^\/openai(\/v1)?\/video\/generations\/jobs$/, "other_units", "other", false),
  retrieval(/^\/openai(\/v1)?\/video\/generations\/jobs\/(?<id>[^/]+)$/, "other_units", "other"),
  free(READ, /^\/openai(\/v1)?\/video\/generations\/[^/]+\/content\/(video|thumbnail)$/),
  post(/^\/providers\/blackforestlabs\/v1\/(?<model>[^/]+)$/, "openai.images", "image", false),
  // Decision: what these services process is billed by units that the responses do not state; reading from them is free.
  post(new RegExp(`^/(${AZURE_SERVICES})/.+$`), "other_units", "other", false),
  free(READ, new RegExp(`^/(${AZURE_SERVICES})/.+$`)),
  free(
    READ,
    /^\/api\/projects(\/[^/]+(\/(connections|deployments|indexes|datasets|evaluations|agents)(\/.+)?)?)?$/,
  ),
];
