import { isObject } from "../../values/json-object.ts";
import { definedCounts } from "./anthropic.ts";
import {
  EMPTY_LINE,
  type PageFormat,
  type RowFormat,
  type StatementFormat,
  type StatementRow,
} from "./statement-line.ts";
import { countOf, dayOf, nameOf, objectsAt, readSafely, requestsOf, usdOf } from "./statement-values.ts";

const OPENROUTER: Omit<StatementFormat, "name" | "keyIs"> = {
  provider: "openrouter",
  states: "both",
  hasFeesApart: false,
  unitPicoUsd: 1_000_000n,
  omittedTiers: [],
};

/**
 * `GET /api/v1/activity`: the last 30 complete days in UTC, by model and endpoint. `usage` is in USD. Source:
 * https://openrouter.ai/docs/api/api-reference/analytics/get-user-activity, 2026-08.
 */
export const openrouterActivity: PageFormat = {
  ...OPENROUTER,
  name: "OpenRouter activity",
  keyIs: null,
  matches: (page) =>
    Array.isArray(page.data) && isObject(page.data[0]) && "date" in page.data[0] && "usage" in page.data[0],
  readPage: (page) =>
    readSafely(() =>
      objectsAt(page, "data").map((item) => ({
        ...EMPTY_LINE,
        date: dayOf("date", item.date),
        model: nameOf(item.model) ?? nameOf(item.model_permaslug),
        costPicoUsd: usdOf("usage", item.usage),
        tokens: definedCounts({
          "all input": countOf("prompt_tokens", item.prompt_tokens),
          output: countOf("completion_tokens", item.completion_tokens),
        }),
        requests: requestsOf("requests", item.requests),
      })),
    ),
};

/**
 * The export of single generations. Its token counts are OpenRouter's own and differ from the model's, so only the costs are
 * read. Columns as in exports of 2026-09.
 */
export const openrouterGenerationsCsv: RowFormat = {
  ...OPENROUTER,
  name: "OpenRouter generation export",
  keyIs: "API key",
  matches: (columns) => columns.has("generation_id") && columns.has("cost_total"),
  readRow: (row) =>
    readSafely(() => [
      {
        ...EMPTY_LINE,
        date: dayOf("created_at", row.created_at),
        model: nameOf(row.model_permaslug),
        key: nameOf(row.api_key_name),
        costPicoUsd: usdOf("cost_total", row.cost_total),
        requests: 1,
      },
    ]),
};

/** The export of days and models; columns as in exports of 2026-03. */
export const openrouterActivityCsv: RowFormat = {
  ...OPENROUTER,
  name: "OpenRouter activity export",
  keyIs: null,
  matches: (columns) => ["date", "slug", "usage", "requests"].every((name) => columns.has(name)),
  readRow: (row: StatementRow) =>
    readSafely(() => [
      {
        ...EMPTY_LINE,
        date: dayOf("Date", row.date),
        model: nameOf(row.slug),
        costPicoUsd: usdOf("Usage", row.usage),
        tokens: definedCounts({
          "all input": countOf("Prompt Tokens", row.prompt_tokens),
          output: countOf("Completion Tokens", row.completion_tokens),
        }),
        requests: requestsOf("Requests", row.requests),
      },
    ]),
};
