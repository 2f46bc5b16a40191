import { formatInstant } from "../../core/wire/instant.ts";

/** A record as a daemon with the preset `standard` sends it. */
export type WireRecord = Readonly<Record<string, unknown>> & { readonly request_id: string };

const MODELS = [
  ["anthropic", "claude-sonnet-4-5"],
  ["anthropic", "claude-opus-4-5"],
  ["openai", "gpt-4o"],
  ["openai", "gpt-4o-mini"],
] as const;

const PROJECTS = ["web", "api", "agents", "data/etl", "docs", "infra"];

/**
 * Creates batches as daemons send them: calls of the last two hours in order of time, a few models and projects, and
 * ascending ids. The result depends only on the seed.
 */
export function makeBatches(batches: number, size: number, now: number, seed: number): WireRecord[][] {
  const random = createRandom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const count = (most: number) => Math.floor(random() * most);
  const spanMs = 2 * 3_600_000;
  const hex = (length: number) => Array.from({ length }, () => count(16).toString(16)).join("");
  return Array.from({ length: batches }, (_, batch) =>
    Array.from({ length: size }, (_, at) => {
      const requestedAt = Math.floor(now - spanMs + ((batch * size + at) / (batches * size)) * spanMs);
      const [provider, model] = pick(MODELS);
      const stamp = requestedAt.toString(16).padStart(12, "0");
      const failed = random() < 0.02;
      return {
        request_id: `${stamp.slice(0, 8)}-${stamp.slice(8)}-7${hex(3)}-8${hex(3)}-${hex(12)}`,
        requested_at: formatInstant(requestedAt),
        provider,
        model,
        requested_model: model,
        request_kind: "chat",
        streaming: random() < 0.7,
        prompt_tokens: failed ? null : count(8_000),
        completion_tokens: failed ? null : count(2_000),
        cache_read_tokens: failed ? null : count(60_000),
        cache_write_tokens: failed ? null : count(4_000),
        cache_write_1h_tokens: null,
        thinking_tokens: failed ? null : 0,
        tokens_complete: !failed,
        cost_usd_minor_units: failed ? null : count(50_000),
        cost_pico_usd: failed ? null : String(count(500_000_000)),
        cost_source: failed ? "unpriced" : "computed",
        rates_source: failed ? null : "bundled",
        latency_ms: 300 + count(20_000),
        ttfb_ms: 100 + count(900),
        http_status: failed ? 529 : 200,
        error_class: failed ? "server_error" : null,
        retryable: failed ? true : null,
        project: pick(PROJECTS),
        attribution_tier: "git_root",
        prompt_hash: hex(64),
      };
    }),
  );
}

/** mulberry32, whose 32 bits of state are enough for a benchmark. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
