import type { RequestKind } from "../record.ts";
import type { ApiId } from "./api-readers.ts";

/** A family of paths that several hosts have in common. */
export type Dialect = "anthropic" | "openai" | "gemini" | "ollama";

/** What a path below a dialect's base is: the first rule that matches decides, no rule leaves it unknown. */
export interface PathRule {
  readonly method: "POST" | "any";
  /** Matched against the whole path behind the base; a group named `model` is the model. */
  readonly path: RegExp;
  /** Null for what is not billed by usage. */
  readonly metered: {
    readonly api: ApiId;
    readonly requestKind: RequestKind;
    /** Whether the answer streams; null where the request's body says so. */
    readonly streaming: boolean | null;
  } | null;
}

const post = (
  path: RegExp,
  api: ApiId,
  requestKind: RequestKind,
  streaming: boolean | null = null,
): PathRule => ({ method: "POST", path, metered: { api, requestKind, streaming } });

const free = (path: RegExp): PathRule => ({ method: "any", path, metered: null });

/**
 * The paths of each dialect. What may bill and is not read yet (batches, images, audio, realtime, background responses
 * that are polled) has no rule, and so counts as unknown.
 */
export const DIALECTS: Readonly<Record<Dialect, readonly PathRule[]>> = {
  anthropic: [
    post(/^\/messages$/, "anthropic.messages", "chat"),
    free(/^\/messages\/count_tokens$/),
    free(/^\/(models|files|skills|organizations)(\/.*)?$/),
  ],
  openai: [
    // Mistral has agents of its own.
    post(/^\/(chat|agents)\/completions$/, "openai.chat", "chat"),
    post(/^(\/fim)?\/completions$/, "openai.completions", "chat"),
    post(/^\/responses(\/compact)?$/, "openai.responses", "chat"),
    post(/^\/embeddings$/, "openai.embeddings", "embedding"),
    // What was stored is read, listed or deleted.
    free(/^\/chat\/completions(\/.*)?$/),
    free(/^\/responses\/(input_tokens|[^/]+\/input_items)$/),
    free(/^\/(models|files|uploads|vector_stores|organization|fine_tuning)(\/.*)?$/),
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
    free(/^\/(models|tunedModels|files|operations|batches)(\/[^:]*)?$/),
  ],
  ollama: [
    post(/^\/chat$/, "ollama.chat", "chat"),
    post(/^\/generate$/, "ollama.generate", "chat"),
    post(/^\/embed(dings)?$/, "ollama.embed", "embedding", false),
    free(/^\/(tags|ps|version|show|pull|push|create|copy|delete|me|signout|blobs\/.*)$/),
  ],
};
