import type { RequestKind } from "../../values/record.ts";
import type { ApiId } from "./api-readers.ts";

/** A family of API paths that several hosts share. */
export type PathDialect =
  | "anthropic"
  | "openai"
  | "gemini"
  | "ollama"
  | "code-assist"
  | "vertex"
  | "bedrock"
  | "cohere";

/** The API of an operator's host: one family of paths, or the combination that Azure serves. */
export type Dialect = PathDialect | "azure";

/** A rule for paths below a dialect's base path. The first matching rule applies; without one, the path is unknown. */
interface PathRule {
  readonly method: "POST" | "GET" | "any";
  /** Matched against the whole path after the base. A group named `model` captures the model. */
  readonly path: RegExp;
  /** Null for a path that is not billed by usage. */
  readonly metered: {
    readonly api: ApiId;
    readonly requestKind: RequestKind;
    /** Whether the response streams; null if the request body decides. */
    readonly streaming: boolean | null;
    /** See `MeteredRoute`. */
    readonly fetches?: true;
    readonly webSocket?: true;
  } | null;
}

const post = (
  path: RegExp,
  api: ApiId,
  requestKind: RequestKind,
  streaming: boolean | null = null,
): PathRule => ({ method: "POST", path, metered: { api, requestKind, streaming } });

/** A request that fetches the results of earlier requests. */
const retrieval = (path: RegExp, api: ApiId, requestKind: RequestKind): PathRule => ({
  method: "any",
  path,
  metered: { api, requestKind, streaming: null, fetches: true },
});

/** A WebSocket, whose handshake is a GET. */
const socket = (path: RegExp, api: ApiId): PathRule => ({
  method: "GET",
  path,
  metered: { api, requestKind: "chat", streaming: true, webSocket: true },
});

const free = (path: RegExp): PathRule => ({ method: "any", path, metered: null });

/** A Google model on Vertex, or a tuned model behind an endpoint. */
const GOOGLE_MODEL = (method: string): RegExp =>
  new RegExp(`^/(?:publishers/google/models|endpoints)/(?<model>[^/:]+):${method}$`);

/** Models of `:predict` whose responses state their usage. Those of other models (speech, music) do not. */
const TEXT_EMBEDDING =
  /^\/publishers\/google\/models\/(?<model>(?:text-(?:multilingual-)?|gemini-|text)embedding[^/:]*):predict$/;
const IMAGE_GENERATION =
  /^\/publishers\/google\/models\/(?<model>(?:imagen-|imagegeneration)[^/:]*):predict$/;

/**
 * The paths of each dialect. Paths that may be billed but are not supported (videos, music, phone calls) have no rule and
 * count as unknown. A batch is billed by its results, so creating and polling it is free.
 */
export const DIALECTS: Readonly<Record<PathDialect, readonly PathRule[]>> = {
  anthropic: [
    post(/^\/messages$/, "anthropic.messages", "chat"),
    retrieval(/^\/messages\/batches\/[^/]+\/results$/, "anthropic.batch_results", "chat"),
    free(/^\/messages\/(count_tokens|batches(\/.*)?)$/),
    free(/^\/(models|files|skills|organizations)(\/.*)?$/),
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
    socket(/^\/realtime$/, "openai.realtime"),
    retrieval(/^\/files\/[^/]+\/content$/, "openai.file_content", "chat"),
    // Reading, listing or deleting stored completions.
    free(/^\/chat\/completions(\/.*)?$/),
    free(/^\/responses\/(input_tokens|[^/]+\/input_items)$/),
    retrieval(/^\/responses\/[^/]+(\/cancel)?$/, "openai.responses", "chat"),
    free(/^\/realtime\/(client_secrets|sessions|transcription_sessions)$/),
    free(
      /^\/(models|files|uploads|vector_stores|organization|fine_tuning|batches|moderations|conversations)(\/.*)?$/,
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
    free(/^\/(?:models|tunedModels)\/[^/:]+:(?:countTokens|countTextTokens)$/),
    socket(
      /^\/ws\/google\.ai\.generativelanguage\.v1[a-z0-9]*\.GenerativeService\.BidiGenerateContent(Constrained)?$/,
      "gemini.live",
    ),
    post(/^\/interactions$/, "gemini.interactions", "chat"),
    retrieval(/^\/interactions\/[^/:]+(\/cancel)?$/, "gemini.interactions", "chat"),
    retrieval(/^\/batches\/[^/:]+$/, "gemini.batch", "chat"),
    retrieval(/^\/files\/[^/:]+:download$/, "gemini.batch_file", "chat"),
    free(/^\/models\/[^/:]+:(batchGenerateContent|\w+BatchEmbedContent)$/),
    free(
      /^\/(models|tunedModels|files|operations|batches|cachedContents|fileSearchStores)(\/[^:]*)?(:cancel)?$/,
    ),
  ],
  ollama: [
    post(/^\/chat$/, "ollama.chat", "chat"),
    post(/^\/generate$/, "ollama.generate", "chat"),
    post(/^\/embed(dings)?$/, "ollama.embed", "embedding", false),
    free(/^\/(tags|ps|version|show|pull|push|create|copy|delete|me|signout|blobs\/.*)$/),
  ],
  "code-assist": [
    post(/^:generateContent$/, "gemini.code_assist", "chat", false),
    post(/^:streamGenerateContent$/, "gemini.code_assist", "chat", true),
    // Gemini CLI's sign-in, settings, token counts, metrics and quotas.
    free(/^(:(?!generate|stream|internalAtomic)[a-zA-Z]+|\/operations\/.*)$/),
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
    free(/^\/publishers\/anthropic\/models\/count-tokens[^/:]*:rawPredict$/),
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
    post(/^\/endpoints\/[^/]+\/chat\/completions$/, "openai.chat", "chat"),
    post(/^\/endpoints\/[^/]+\/embeddings$/, "openai.embeddings", "embedding"),
    free(/^\/.*:(countTokens|computeTokens)$/),
    free(/^\/(cachedContents|operations|batchPredictionJobs|tuningJobs|models)(\/[^:]*)?(:cancel)?$/),
  ],
  bedrock: [
    post(/^\/model\/(?<model>[^/]+)\/converse$/, "bedrock.converse", "chat", false),
    post(/^\/model\/(?<model>[^/]+)\/converse-stream$/, "bedrock.converse", "chat", true),
    post(/^\/model\/(?<model>[^/]+)\/invoke$/, "bedrock.invoke", "chat", false),
    post(/^\/model\/(?<model>[^/]+)\/invoke-with-response-stream$/, "bedrock.invoke", "chat", true),
    free(/^\/model\/[^/]+\/count-tokens$/),
    // Asynchronous calls: the results are written to a bucket and never pass through the proxy.
    free(/^\/[a-z]+-invoke(\/.*)?$/),
  ],
  cohere: [
    post(/^\/v[12]\/chat$/, "cohere.chat", "chat"),
    post(/^\/v[12]\/embed$/, "cohere.embed", "embedding", false),
    post(/^\/v[12]\/rerank$/, "cohere.rerank", "other", false),
    free(
      /^\/v[12]\/(models|tokenize|detokenize|check-api-key|datasets|connectors|embed-jobs|finetuning)(\/.*)?$/,
    ),
  ],
};
