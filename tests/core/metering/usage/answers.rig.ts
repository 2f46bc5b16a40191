import { createRegistry } from "../../../../core/metering/usage/registry.ts";
import type { MeteredRoute } from "../../../../core/metering/usage/route.ts";
import { createUsageReader } from "../../../../core/metering/usage/usage-reader.ts";
import type { UsageReport } from "../../../../core/metering/usage/usage-report.ts";

const encoder = new TextEncoder();

export const bytesOf = (text: string): Uint8Array => encoder.encode(text);

const registry = createRegistry();

/** Returns the route of a POST; throws if it is not metered. */
export function routeOf(url: string): MeteredRoute {
  const { hostname, port, protocol, pathname, search } = new URL(url);
  const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
  const route = registry.match({ host: hostname, port: number, method: "POST", path: pathname + search });
  if (route.kind !== "metered") throw new Error(`${url} is ${route.kind}`);
  return route;
}

/** Well-known URLs, by provider and API. */
export const ADDRESSES = {
  anthropic: "https://api.anthropic.com/v1/messages",
  chat: "https://api.openai.com/v1/chat/completions",
  completions: "https://api.openai.com/v1/completions",
  responses: "https://api.openai.com/v1/responses",
  embeddings: "https://api.openai.com/v1/embeddings",
  gemini: "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:generateContent",
  geminiStream: "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent",
  geminiChat: "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
  geminiEmbed: "https://generativelanguage.googleapis.com/v1beta/models/embed-x:embedContent",
  xai: "https://api.x.ai/v1/chat/completions",
  xaiResponses: "https://api.x.ai/v1/responses",
  openrouter: "https://openrouter.ai/api/v1/chat/completions",
  groq: "https://api.groq.com/openai/v1/chat/completions",
  deepseek: "https://api.deepseek.com/chat/completions",
  perplexity: "https://api.perplexity.ai/chat/completions",
  mistral: "https://api.mistral.ai/v1/chat/completions",
  ollamaChat: "http://localhost:11434/api/chat",
  ollamaEmbed: "http://localhost:11434/api/embed",
} as const;

interface ReadOptions {
  status?: number;
  complete?: boolean;
  contentType?: string;
  /** Where the bytes are cut. */
  cuts?: readonly number[];
}

/** Reads a whole response, cut at the given places. */
export function readAnswer(url: string, body: string | Uint8Array, options: ReadOptions = {}): UsageReport {
  const { status = 200, complete = true, contentType = null, cuts = [] } = options;
  const reader = createUsageReader(routeOf(url), { status, contentType, streaming: null });
  const bytes = typeof body === "string" ? bytesOf(body) : body;
  let from = 0;
  for (const cut of [...cuts].sort((one, other) => one - other)) {
    reader.push(bytes.slice(from, cut));
    from = cut;
  }
  reader.push(bytes.slice(from));
  return reader.end(complete);
}

/** Server-sent events; an event with a `type` is named after it, as in Anthropic's API and OpenAI's Responses API. */
export function sse(...events: readonly (object | string)[]): string {
  return events
    .map((event) => {
      if (typeof event === "string") return `data: ${event}\n\n`;
      const name = "type" in event && typeof event.type === "string" ? `event: ${event.type}\n` : "";
      return `${name}data: ${JSON.stringify(event)}\n\n`;
    })
    .join("");
}

/** The counts in the order prompt, cache read, cache write, one-hour part of it, completion, thinking. */
export function countsOf({ tokens }: UsageReport): (number | null)[] {
  return [
    tokens.promptTokens,
    tokens.cacheReadTokens,
    tokens.cacheWriteTokens,
    tokens.cacheWrite1hTokens,
    tokens.completionTokens,
    tokens.thinkingTokens,
  ];
}

/** The sum of the five disjoint counts. */
export function sumOf({ tokens }: UsageReport): number {
  return (
    (tokens.promptTokens ?? 0) +
    (tokens.cacheReadTokens ?? 0) +
    (tokens.cacheWriteTokens ?? 0) +
    (tokens.completionTokens ?? 0) +
    (tokens.thinkingTokens ?? 0)
  );
}

export const NO_COUNTS = [null, null, null, null, null, null];
