import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { calcPrice } from "@pydantic/genai-prices";
import { priceListOf } from "../../core/pricing/provider-names.ts";
import type { ExpectedRecord } from "./case-format.ts";
import { loadCases } from "./load-cases.ts";

/**
 * What `calcPrice` of @pydantic/genai-prices cannot express or computes differently, each with the reason. A difference
 * that is not listed fails, and so does a line without a difference.
 */
const DIFFERENCES: readonly (readonly [applies: (record: ExpectedRecord) => boolean, reason: string])[] = [
  [
    ({ service_tier }) => service_tier !== null && !/^(standard|default|on_demand|auto)$/i.test(service_tier),
    "it has no service tiers: flex, batch and priority are priced as standard",
  ],
  [
    ({ provider }) => ["ollama", "llama-cpp", "lmstudio"].includes(provider),
    "it has no prices for servers on the user's machine, which are free",
  ],
  [
    ({ provider, model, tokens }) =>
      provider === "deepseek" && (/^deepseek-(chat|reasoner)$/.test(model) || tokens.cache_read === 896),
    "its prices of deepseek-chat and deepseek-reasoner are of 2025, and its peak hours apply on weekends too",
  ],
  [({ extras }) => (extras.search_units ?? 0) > 0, "it has no prices of reranks"],
  [({ provider }) => provider === "vercel", "it has no price list of this gateway"],
  [({ extras }) => extras.fast_mode === 1, "it has no fast mode"],
  [({ extras }) => extras.us_inference === 1, "it has no factor for inference in the US"],
  [
    ({ extras }) => extras.regional_endpoint === 1,
    "it has no factor for regional endpoints of Vertex and OpenAI",
  ],
  [
    ({ extras }) => (extras.model_calls ?? 0) > 1,
    "it takes one context tier for the sum of all calls that made the answer, not one for each of them",
  ],
  [
    ({ provider, tokens }) => provider === "bedrock" && (tokens.cache_write_1h ?? 0) > 0,
    "its Bedrock prices lack the one-hour cache write, which is then priced as any other write",
  ],
  [
    ({ provider, extras }) => provider === "gemini" && (extras.web_search_requests ?? 0) > 0,
    "its Google prices lack the searches of the web",
  ],
  [
    ({ tokens }) => (tokens.prompt ?? 0) + (tokens.cache_read ?? 0) === 272_000,
    "its context tier begins at 272,000 tokens; OpenAI's is for more than that",
  ],
  [
    ({ model, extras }) => /^gpt-4o-(mini-)?audio/.test(model) && (extras.audio_input_tokens ?? 0) > 0,
    "it prices the audio of these models as text",
  ],
  [({ provider }) => provider === "watsonx", "it has no price list of watsonx"],
  [
    ({ provider, extras }) => provider === "mistral" && (extras.web_search_requests ?? 0) > 0,
    "its Mistral prices lack the searches of connectors",
  ],
  [
    ({ model, extras }) => model.startsWith("embed-") && (extras.image_input_tokens ?? 0) > 0,
    "its Cohere prices lack the images of embeddings",
  ],
  [({ model }) => model.includes("-search-"), "it has no fee for the searches of search models"],
  [
    ({ extras }) => (extras.file_search_requests ?? 0) > 0,
    "the usage key of file searches is not passed to it",
  ],
  [
    ({ model }) => model.startsWith("google/"),
    "it does not know Vertex's names with a publisher before them",
  ],
];

/** Extras that are not usage keys of the calculator, or keys that do not change a price. */
const USAGE_KEYS: Readonly<Record<string, string>> = {
  audio_output_tokens: "output_audio_tokens",
  image_output_tokens: "output_image_tokens",
  video_input_tokens: "input_video_tokens",
  video_output_tokens: "output_video_tokens",
  citation_tokens: "output_citation_tokens",
  web_search_requests: "web_searches",
};

/** The calculator's cost in pico-USD, rounded from its floats; null if it knows no price. */
function genaiPricesCost(record: ExpectedRecord, at: string): bigint | null {
  const { tokens, extras } = record;
  const read = tokens.cache_read ?? 0;
  const write = tokens.cache_write ?? 0;
  // Its totals are inclusive. A key of 0 is left out, since it may not be a unit of the model's price.
  const usage: Record<string, number> = {
    input_tokens: (tokens.prompt ?? 0) + read + write,
    cache_read_tokens: read,
    cache_write_tokens: write,
    cache_write_1h_tokens: tokens.cache_write_1h ?? 0,
    output_tokens: (tokens.completion ?? 0) + (tokens.thinking ?? 0),
    output_reasoning_tokens: tokens.thinking ?? 0,
    input_audio_tokens: (extras.audio_input_tokens ?? 0) + (extras.audio_cache_read_tokens ?? 0),
    cache_audio_read_tokens: extras.audio_cache_read_tokens ?? 0,
    input_image_tokens: (extras.image_input_tokens ?? 0) + (extras.image_cache_read_tokens ?? 0),
    cache_image_read_tokens: extras.image_cache_read_tokens ?? 0,
  };
  if (extras.audio_milliseconds !== undefined) usage.audio_seconds = extras.audio_milliseconds / 1000;
  for (const [name, count] of Object.entries(extras)) {
    const key = USAGE_KEYS[name];
    if (key !== undefined) usage[key] = count;
  }
  // Its pages include the annotated ones, which have their own price.
  const annotated = extras.annotated_document_pages ?? 0;
  usage.input_document_pages = (extras.document_pages ?? 0) + annotated;
  usage.input_annotated_document_pages = annotated;
  // Citations are counted beside the completion here and as part of the output there.
  usage.output_tokens! += extras.citation_tokens ?? 0;
  // If a medium is in the input and something in the cache, it needs the part of the medium that is cached.
  const isRequiredZero = (key: string) =>
    read > 0 &&
    ((key === "cache_audio_read_tokens" && usage.input_audio_tokens! > 0) ||
      (key === "cache_image_read_tokens" && usage.input_image_tokens! > 0));
  const used = Object.fromEntries(
    Object.entries(usage).filter(([key, count]) => count > 0 || isRequiredZero(key)),
  );
  const result = calcPrice(used, record.model, {
    providerId: priceListOf(record.provider),
    timestamp: new Date(at),
  });
  return result === null ? null : BigInt(Math.round(result.total_price * 1e12));
}

describe("costs compared with the calculator of @pydantic/genai-prices", () => {
  const records = loadCases().flatMap(({ name, expected }) =>
    expected.records
      .filter(({ cost }) => cost.source === "computed")
      .map((record) => ({ name, record, at: expected.at })),
  );
  const usedReasons = new Set<string>();

  it(`agree to the pico-USD in all ${records.length} computed costs of the suite except the listed ones`, () => {
    let agreed = 0;
    const surprises: string[] = [];
    for (const { name, record, at } of records) {
      const theirs = genaiPricesCost(record, at);
      if (String(theirs) === record.cost.pico_usd) {
        agreed++;
        continue;
      }
      const reason = DIFFERENCES.find(([applies]) => applies(record))?.[1];
      if (reason === undefined) surprises.push(`${name}: ours ${record.cost.pico_usd}, theirs ${theirs}`);
      else usedReasons.add(reason);
    }
    assert.deepEqual(surprises, []);
    assert.ok(agreed > 90, `only ${agreed} costs were compared`);
  });

  it("differ for every listed reason", () => {
    assert.deepEqual(
      DIFFERENCES.map(([, reason]) => reason).filter((reason) => !usedReasons.has(reason)),
      [],
    );
  });
});
