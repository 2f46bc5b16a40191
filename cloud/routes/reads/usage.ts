import type { Context } from "hono";
import { UNSUPPORTED_KEYS } from "../../../core/pricing/savings/answer-savings.ts";
import { usageCsv, usageMarkdown } from "../../../core/pricing/view/usage-export.ts";
import { parseUsageQuery, type UsageQuery } from "../../../core/pricing/view/usage-query.ts";
import { USAGE_DIMENSIONS } from "../../../core/wire/usage.ts";
import { comparisonJson, listedModels, modelsQuery, NO_MODEL_KEYS } from "../../../pages/models-file.ts";
import {
  EXPECTED_CHOICE,
  EXPECTED_MODEL,
  findOtherModel,
  readModelsChoice,
} from "../../../pages/views/model-lines.ts";
import { problem } from "../../http/problem.ts";
import type { OrRefusal } from "../../http/read-payload.ts";
import { isCloudDimension } from "../../store/reads/usage-sources.ts";
import type { ApiHandlers } from "../api-call.ts";
import {
  type CloudUsageResult,
  readSavingsAnswer,
  readUsageAnswer,
  readUsageForecast,
  readUsageValues,
} from "./read-usage.ts";

/** The formats of an answer. */
const FORMATS = ["json", "csv", "md"] as const;

/** The longest search text, in UTF-16 code units. */
const MAX_SEARCH = 256;

/** The routes of the usage query. A period is cut at the retention floor, as that of an overview. */
export const usageHandlers = {
  "GET /v1/workspaces/:ws/usage": async ({ parts, workspace, context, answer }) => {
    const query = readQuery(context, "format");
    if (!query.ok) return query.refusal;
    const format = FORMATS.find((each) => each === (context.req.query("format") ?? "json"));
    if (format === undefined) return refuse("format", `Expected ${FORMATS.join(", ")}.`);
    const result = await readUsageAnswer(parts, workspace, query.value);
    if (!result.ok) return refuseQuery(result);
    if (format === "json") return answer(200, result.value);
    const [text, type] =
      format === "csv"
        ? [usageCsv(result.value), "text/csv; charset=utf-8; header=present"]
        : [usageMarkdown(result.value), "text/markdown; charset=utf-8"];
    return context.body(text, 200, { "content-type": type });
  },

  "GET /v1/workspaces/:ws/usage/values": async ({ parts, workspace, context, answer }) => {
    const query = readQuery(context, "dimension", "q");
    if (!query.ok) return query.refusal;
    const dimension = USAGE_DIMENSIONS.find((each) => each === context.req.query("dimension"));
    if (dimension === undefined) return refuse("dimension", `Expected ${USAGE_DIMENSIONS.join(", ")}.`);
    const text = (context.req.query("q") ?? "").slice(0, MAX_SEARCH);
    const values = await readUsageValues(parts, workspace, query.value, dimension, text);
    return values.ok ? answer(200, values.value) : refuseQuery(values);
  },

  "GET /v1/workspaces/:ws/usage/models": async ({ parts, workspace, context, answer }) => {
    const query = readModelsQuery(context, "models", "q");
    if (!query.ok) return query.refusal;
    const own = readModelsChoice(context.req.query());
    if (own === null) return refuse("models", EXPECTED_CHOICE);
    const usage = await readUsageAnswer(parts, workspace, query.value);
    const prices = { book: (await parts.rates.current()).book, now: parts.clock.now() };
    return usage.ok ? answer(200, listedModels(usage.value, prices, own)) : refuseQuery(usage);
  },

  "GET /v1/workspaces/:ws/usage/comparison": async ({ parts, workspace, context, answer }) => {
    const query = readModelsQuery(context, "as");
    if (!query.ok) return query.refusal;
    const { book } = await parts.rates.current();
    const now = parts.clock.now();
    const row = findOtherModel(context.req.query("as"), book, now);
    if (row === null) return refuse("as", EXPECTED_MODEL);
    const usage = await readUsageAnswer(parts, workspace, query.value, "none");
    return usage.ok ? answer(200, comparisonJson(usage.value, { book, now }, row)) : refuseQuery(usage);
  },

  "GET /v1/workspaces/:ws/usage/forecast": async ({ parts, workspace, context, answer }) => {
    const query = readQuery(context);
    if (!query.ok) return query.refusal;
    const forecast = await readUsageForecast(parts, workspace, query.value);
    return forecast.ok ? answer(200, forecast.value) : refuseQuery(forecast);
  },

  "GET /v1/workspaces/:ws/savings": async ({ parts, workspace, context, answer }) => {
    const query = readQuery(context);
    if (!query.ok) return query.refusal;
    const unused = UNSUPPORTED_KEYS.find((key) => context.req.query(key) !== undefined);
    if (unused !== undefined) return refuse(unused, "There is no such parameter.");
    const savings = await readSavingsAnswer(parts, workspace, query.value);
    return savings.ok ? answer(200, savings.value) : refuseQuery(savings);
  },
} satisfies Partial<ApiHandlers>;

/** Reads the filters of a query that has no other parameters. */
export function readUsageFilters(context: Context): OrRefusal<UsageQuery["filters"]> {
  const query = readQuery(context);
  if (!query.ok) return query;
  const key = [...new URL(context.req.url).searchParams.keys()].find(
    (each) => !USAGE_DIMENSIONS.some((dimension) => each === dimension || each === `${dimension}.not`),
  );
  if (key !== undefined) return { ok: false, refusal: refuse(key, "There is no such parameter.") };
  const unknown = query.value.filters.find(({ dimension }) => !isCloudDimension(dimension));
  if (unknown === undefined) return { ok: true, value: query.value.filters };
  return {
    ok: false,
    refusal: refuse(
      unknown.dimension,
      "The cloud does not receive this dimension. Only the daemon knows it.",
    ),
  };
}

/** Parses the period, the zone and the filters of a query by model. */
function readModelsQuery(context: Context, ...otherKeys: readonly string[]): OrRefusal<UsageQuery> {
  const query = readQuery(context, ...otherKeys);
  const unused = NO_MODEL_KEYS.find((key) => context.req.query(key) !== undefined);
  if (unused !== undefined) return { ok: false, refusal: refuse(unused, "There is no such parameter.") };
  return query.ok ? { ok: true, value: modelsQuery(query.value) } : query;
}

const refuseQuery = ({ code, detail, field }: Extract<CloudUsageResult<never>, { ok: false }>): Response =>
  field === undefined ? problem(code) : refuse(field, detail);

const refuse = (field: string, text: string) =>
  problem("wrong_shape", { errors: [{ field, problem: text }] });

/** Parses the query. Unknown parameters are refused: without a misspelt filter, the answer would contain everything. */
function readQuery(context: Context, ...otherKeys: readonly string[]): OrRefusal<UsageQuery> {
  const { searchParams } = new URL(context.req.url);
  // A cloud does not receive the name of a client, so `client` is its version, as in analytics.
  const parameters = [...searchParams].map(([key, value]): [string, string] =>
    (key === "by" || key === "then") && value === "client" ? [key, "client_version"] : [key, value],
  );
  const { query, notices } = parseUsageQuery(parameters, { otherKeys });
  const errors = notices.map(({ key, problem: text }) => ({ field: key, problem: text }));
  return errors.length === 0
    ? { ok: true, value: query }
    : { ok: false, refusal: problem("wrong_shape", { errors }) };
}
