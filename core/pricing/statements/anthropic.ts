import { isObject, type JsonObject } from "../../values/json-object.ts";
import { normaliseServiceTier } from "../factors.ts";
import {
  EMPTY_LINE,
  type LineKind,
  type PageFormat,
  type PartCounts,
  type RowFormat,
  type StatementFormat,
  type TokenPart,
} from "./statement-line.ts";
import {
  centsOf,
  checkUsd,
  countOf,
  dayOf,
  firstResult,
  nameOf,
  objectAt,
  objectsAt,
  readSafely,
  usdOf,
} from "./statement-values.ts";

/** A cent in pico-USD. */
const CENT = 10_000_000_000n;

/**
 * The cost endpoint and the Console's cost export leave out the Priority Tier, which is paid in advance. Source:
 * https://platform.claude.com/docs/en/manage-claude/usage-cost-api, 2026-09.
 */
const COST: Omit<StatementFormat, "name" | "keyIs" | "unitPicoUsd"> = {
  provider: "anthropic",
  states: "cost",
  hasFeesApart: true,
  omittedTiers: ["priority"],
};

const USAGE: Omit<StatementFormat, "name" | "keyIs"> = {
  provider: "anthropic",
  unitPicoUsd: CENT,
  states: "usage",
  hasFeesApart: true,
  omittedTiers: [],
};

/** The parts by the cost report's `token_type` and by the Console export's. */
const PARTS: Readonly<Record<string, TokenPart>> = {
  uncached_input_tokens: "input",
  cache_read_input_tokens: "cache read",
  "cache_creation.ephemeral_5m_input_tokens": "cache write",
  "cache_creation.ephemeral_1h_input_tokens": "cache write 1h",
  output_tokens: "output",
  input_no_cache: "input",
  input_cache_read: "cache read",
  input_cache_write_5m: "cache write",
  input_cache_write_1h: "cache write 1h",
  output: "output",
};

const partOf = (value: unknown): TokenPart | null => {
  const name = nameOf(value);
  return name !== null && Object.hasOwn(PARTS, name) ? PARTS[name]! : null;
};

/** Anything but tokens is a fee: `web_search`, `code_execution`, `session_usage`. Null: the report is not grouped. */
const kindOf = (costType: string | null): LineKind =>
  costType === null || costType === "tokens" || costType === "token" ? "usage" : "fee";

/** The Console's exports call the standard tier `message`. */
const tierOf = (tier: string | null): string | null =>
  tier === "message" ? null : normaliseServiceTier(tier);

/** Whether each bucket of a page has a start in RFC 3339, as Anthropic's reports do. */
const hasBuckets = (page: JsonObject) =>
  Array.isArray(page.data) && page.data.length > 0 && isObject(page.data[0]) && "starting_at" in page.data[0];

const resultsOf = (page: JsonObject) =>
  objectsAt(page, "data").flatMap((bucket) => {
    const date = dayOf("starting_at", bucket.starting_at);
    return objectsAt(bucket, "results").map((result) => ({ date, result }));
  });

/**
 * `GET /v1/organizations/cost_report`, by day in UTC. `amount` is a decimal text in cents. Source:
 * https://platform.claude.com/docs/en/api/admin/cost_report, 2026-09.
 */
export const anthropicCostReport: PageFormat = {
  ...COST,
  unitPicoUsd: CENT / 100n,
  name: "Anthropic cost report",
  keyIs: "workspace",
  matches: (page) => hasBuckets(page) && "amount" in (firstResult(page) ?? { amount: "" }),
  readPage: (page) =>
    readSafely(() =>
      resultsOf(page).map(({ date, result }) => {
        checkUsd("currency", result.currency);
        const costType = nameOf(result.cost_type);
        return {
          ...EMPTY_LINE,
          date,
          kind: kindOf(costType),
          model: nameOf(result.model),
          key: nameOf(result.workspace_id),
          tier: tierOf(nameOf(result.service_tier)),
          part: partOf(result.token_type),
          costPicoUsd: centsOf("amount", result.amount),
          item: nameOf(result.description) ?? costType,
        };
      }),
    ),
};

/**
 * `GET /v1/organizations/usage_report/messages`, in buckets of a minute, an hour or a day. Source:
 * https://platform.claude.com/docs/en/api/admin/usage_report/retrieve_messages, 2026-09.
 */
export const anthropicUsageReport: PageFormat = {
  ...USAGE,
  name: "Anthropic usage report",
  keyIs: "API key",
  matches: (page) => hasBuckets(page) && "uncached_input_tokens" in (firstResult(page) ?? {}),
  readPage: (page) =>
    readSafely(() =>
      resultsOf(page).map(({ date, result }) => {
        const written = objectAt(result, "cache_creation");
        return {
          ...EMPTY_LINE,
          date,
          model: nameOf(result.model),
          key: nameOf(result.api_key_id),
          tier: tierOf(nameOf(result.service_tier)),
          tokens: definedCounts({
            input: countOf("uncached_input_tokens", result.uncached_input_tokens),
            "cache read": countOf("cache_read_input_tokens", result.cache_read_input_tokens),
            "cache write": countOf("ephemeral_5m_input_tokens", written.ephemeral_5m_input_tokens),
            "cache write 1h": countOf("ephemeral_1h_input_tokens", written.ephemeral_1h_input_tokens),
            output: countOf("output_tokens", result.output_tokens),
          }),
        };
      }),
    ),
};

/**
 * The Console's export `claude_api_cost_….csv`. It names models as people do (`Claude Sonnet 4.5`) and states cents. The
 * format is not documented; columns as in exports of 2025-12 to 2026-08.
 */
export const anthropicCostCsv: RowFormat = {
  ...COST,
  unitPicoUsd: CENT,
  name: "Claude Console cost export",
  keyIs: "API key",
  matches: (columns) => ["usage_date_utc", "model", "cost_usd"].every((name) => columns.has(name)),
  readRow: (row) =>
    readSafely(() => [
      {
        ...EMPTY_LINE,
        date: dayOf("usage_date_utc", row.usage_date_utc),
        kind: kindOf(nameOf(row.cost_type)),
        model: nameOf(row.model),
        key: nameOf(row.api_key),
        tier: tierOf(nameOf(row.usage_type)),
        part: partOf(row.token_type),
        costPicoUsd: usdOf("cost_usd", row.cost_usd),
        item: nameOf(row.cost_type),
      },
    ]),
};

/** The Console's export `claude_api_tokens_….csv`, likewise not documented. It has no cost. */
export const anthropicTokensCsv: RowFormat = {
  ...USAGE,
  name: "Claude Console token export",
  keyIs: "API key",
  matches: (columns) =>
    ["usage_date_utc", "model_version", "usage_output_tokens"].every((name) => columns.has(name)),
  readRow: (row) =>
    readSafely(() => {
      const count = (name: string) => countOf(name, row[name]);
      return [
        {
          ...EMPTY_LINE,
          date: dayOf("usage_date_utc", row.usage_date_utc),
          model: nameOf(row.model_version),
          key: nameOf(row.api_key),
          tier: tierOf(nameOf(row.usage_type)),
          tokens: definedCounts({
            input: count("usage_input_tokens_no_cache"),
            "cache read": count("usage_input_tokens_cache_read"),
            "cache write": count("usage_input_tokens_cache_write_5m"),
            "cache write 1h": count("usage_input_tokens_cache_write_1h"),
            output: count("usage_output_tokens"),
          }),
        },
      ];
    }),
};

/** Leaves out counts that are not stated. */
export function definedCounts(counts: Partial<Record<TokenPart, bigint | null>>): PartCounts {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== null)) as PartCounts;
}
