import { isObject } from "../../../values/json-object.ts";
import { HOUR_MS } from "../../../values/time.ts";
import { defineApiReader, type MessageReader } from "../api-reader.ts";
import { asObject, NO_TOKENS, readCount } from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";
import { setExtra } from "../usage-extras.ts";

const KNOWN: KnownMembers = { totalTokenCount: true, textCount: true };

/**
 * The creation of an explicit context cache, at Google's developer API and Vertex. The response states the cached tokens
 * (`usageMetadata.totalTokenCount`), when the cache was created and when it expires.
 *
 * - The tokens are billed once at the input price, so they are a cache write.
 * - Decision: storage is billed by the token and the hour. It is counted for the lifetime that the creation states, in token
 *   hours, rounded up. A cache that is prolonged or deleted early costs more or less than that.
 * - Sound and images in the cache are stated as counts and durations, not as tokens. Sound costs more than text, so its usage
 *   is incomplete.
 *
 * Sources, read 2026-11-23: docs.cloud.google.com, "Context caching overview", "Caching storage costs"; ai.google.dev,
 * "Context caching"; @google/genai 3.1.0, dist/genai.d.ts: CachedContent, CachedContentUsageMetadata.
 */
export const geminiCachedContents = defineApiReader({
  members: ["name", "model", "usageMetadata", "createTime", "expireTime"],
  keys: ["usageMetadata"],
  streamsByDefault: null,
  promptMembers: ["systemInstruction", "contents"],
  start: startCache,
});

function startCache(): MessageReader {
  let name: string | null = null;
  let model: string | null = null;
  let usage: unknown;
  let lifetimeMs: number | null = null;
  return {
    read(message) {
      name = message.string("name");
      model = lastSegment(message.string("model"));
      if (isObject(message.value("usageMetadata"))) usage = message.value("usageMetadata");
      const lifetime =
        Date.parse(message.string("expireTime") ?? "") - Date.parse(message.string("createTime") ?? "");
      if (lifetime >= 0) lifetimeMs = lifetime;
    },
    end() {
      const stated = asObject(usage);
      const total = readCount(stated.totalTokenCount);
      const extras: Record<string, number> = {};
      const storage =
        lifetimeMs === null ? null : readCount(Math.ceil(((total ?? 0) * lifetimeMs) / HOUR_MS));
      setExtra(extras, "cache_storage_token_hours", storage);
      return {
        tokens:
          total === null
            ? NO_TOKENS
            : {
                ...NO_TOKENS,
                promptTokens: 0,
                cacheReadTokens: 0,
                cacheWriteTokens: total,
                completionTokens: 0,
              },
        tokensComplete:
          total !== null && storage !== null && !((readCount(stated.audioDurationSeconds) ?? 0) > 0),
        model,
        responseId: name,
        serviceTier: null,
        extras,
        providerCostPicoUsd: null,
        unknownUsage: unknownUsage(usage, KNOWN),
      };
    },
  };
}

/** Returns `m` for `models/m`, or for a longer path on Vertex. */
function lastSegment(model: string | null): string | null {
  return model === null ? null : model.slice(model.lastIndexOf("/") + 1);
}
