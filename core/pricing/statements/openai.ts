import type { JsonObject } from "../../values/json-object.ts";
import { normaliseServiceTier } from "../factors.ts";
import { definedCounts } from "./anthropic.ts";
import {
  EMPTY_LINE,
  type LineKind,
  type PageFormat,
  type RowFormat,
  type StatementFormat,
  type TokenPart,
} from "./statement-line.ts";
import {
  checkUsd,
  countOf,
  dayOfSeconds,
  firstResult,
  nameOf,
  objectAt,
  objectsAt,
  readSafely,
  requestsOf,
  usdOf,
} from "./statement-values.ts";

const OPENAI: Omit<StatementFormat, "name" | "keyIs" | "states"> = {
  provider: "openai",
  hasFeesApart: true,
  unitPicoUsd: 1_000_000n,
  omittedTiers: [],
};

/** The last words of a line item that bills tokens, such as `gpt-5-2025-08-07, cached input`. */
const PARTS: readonly (readonly [ending: RegExp, part: TokenPart])[] = [
  [/^(.+?)[,:]? +cached input$/i, "cache read"],
  [/^(.+?)[,:]? +cache writes?$/i, "cache write"],
  [/^(.+?)[,:]? +input$/i, "input"],
  [/^(.+?)[,:]? +output$/i, "output"],
];

/** What a line item bills. An item that is no model's tokens is a fee, such as `web search tool calls`. */
function readLineItem(lineItem: string | null) {
  if (lineItem === null)
    return { kind: "usage" as LineKind, model: null, part: null, tier: null, item: null };
  for (const [ending, part] of PARTS) {
    const [, name] = ending.exec(lineItem) ?? [];
    if (name === undefined) continue;
    const [, model = name, tier = null] = /^(.+?)[, ]+\(?(batch|flex|priority)\)?$/i.exec(name) ?? [];
    return {
      kind: "usage" as LineKind,
      model: model.trim(),
      part,
      tier: tier?.toLowerCase() ?? null,
      item: lineItem,
    };
  }
  return { kind: "fee" as LineKind, model: null, part: null, tier: null, item: lineItem };
}

const resultsOf = (page: JsonObject) =>
  objectsAt(page, "data").flatMap((bucket) => {
    const date = dayOfSeconds("start_time", bucket.start_time);
    return objectsAt(bucket, "results").map((result) => ({ date, result }));
  });

/**
 * `GET /v1/organization/costs`, by day in UTC. Source:
 * https://developers.openai.com/api/reference/resources/admin/subresources/organization/subresources/usage/methods/costs,
 * 2026-08. The texts of `line_item` are not documented; an unknown one is a fee.
 */
export const openaiCosts: PageFormat = {
  ...OPENAI,
  states: "cost",
  name: "OpenAI costs",
  keyIs: "API key or project",
  matches: (page) => firstResult(page)?.object === "organization.costs.result",
  readPage: (page) =>
    readSafely(() =>
      resultsOf(page).map(({ date, result }) => {
        const amount = objectAt(result, "amount");
        checkUsd("currency", amount.currency);
        return {
          ...EMPTY_LINE,
          date,
          ...readLineItem(nameOf(result.line_item)),
          key: nameOf(result.api_key_id) ?? nameOf(result.project_id),
          costPicoUsd: usdOf("amount.value", amount.value),
        };
      }),
    ),
};

/**
 * `GET /v1/organization/usage/completions`. `input_tokens` includes cached and cache-write tokens. Source:
 * https://developers.openai.com/api/reference/resources/admin/subresources/organization/subresources/usage/methods/completions,
 * 2026-08.
 */
export const openaiUsage: PageFormat = {
  ...OPENAI,
  states: "usage",
  name: "OpenAI usage",
  keyIs: "API key",
  matches: (page) => firstResult(page)?.object === "organization.usage.completions.result",
  readPage: (page) => readSafely(() => resultsOf(page).map(({ date, result }) => usageLine(date, result))),
};

function usageLine(date: string, result: JsonObject) {
  const all = countOf("input_tokens", result.input_tokens) ?? 0n;
  const read = countOf("input_cached_tokens", result.input_cached_tokens) ?? 0n;
  const written = countOf("input_cache_write_tokens", result.input_cache_write_tokens) ?? 0n;
  const isBatch = String(result.batch).toLowerCase() === "true";
  return {
    ...EMPTY_LINE,
    date,
    model: nameOf(result.model),
    key: nameOf(result.api_key_id),
    tier: isBatch ? "batch" : normaliseServiceTier(nameOf(result.service_tier)),
    tokens: definedCounts({
      input: all >= read + written ? all - read - written : null,
      "cache read": read,
      "cache write": written,
      output: countOf("output_tokens", result.output_tokens),
    }),
    requests: requestsOf("num_model_requests", result.num_model_requests),
  };
}

/** The dashboard's export of costs. It has the fields of the API; the columns are as in exports of 2026-09. */
export const openaiCostsCsv: RowFormat = {
  ...OPENAI,
  states: "cost",
  name: "OpenAI cost export",
  keyIs: "API key or project",
  matches: (columns) => columns.has("start_time") && columns.has("amount_value"),
  readRow: (row) =>
    readSafely(() => {
      const date = dayOfSeconds("start_time", row.start_time);
      // A bucket without costs is a row without an amount.
      if (nameOf(row.amount_value) === null) return [];
      checkUsd("amount_currency", row.amount_currency);
      return [
        {
          ...EMPTY_LINE,
          date,
          ...readLineItem(nameOf(row.line_item)),
          key: nameOf(row.api_key_id) ?? nameOf(row.project_name) ?? nameOf(row.project_id),
          costPicoUsd: usdOf("amount_value", row.amount_value),
        },
      ];
    }),
};

/** The dashboard's export `completions_usage_….csv`, in buckets of a minute; columns as in exports of 2025-10. */
export const openaiUsageCsv: RowFormat = {
  ...OPENAI,
  states: "usage",
  name: "OpenAI usage export",
  keyIs: "API key",
  matches: (columns) => columns.has("start_time") && columns.has("num_model_requests"),
  readRow: (row) =>
    readSafely(() => {
      const date = dayOfSeconds("start_time", row.start_time);
      return nameOf(row.num_model_requests) === null ? [] : [usageLine(date, row)];
    }),
};
