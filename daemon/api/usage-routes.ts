import { type Context, Hono } from "hono";
import { UNSUPPORTED_KEYS } from "../../core/pricing/savings/answer-savings.ts";
import { usageCsv, usageMarkdown } from "../../core/pricing/view/usage-export.ts";
import { parseUsageQuery, type UsageQuery } from "../../core/pricing/view/usage-query.ts";
import { USAGE_DIMENSIONS } from "../../core/wire/usage.ts";
import { comparisonJson, listedModels, modelsQuery, NO_MODEL_KEYS } from "../../pages/models-file.ts";
import type { UsageResult } from "../../pages/usage-host.ts";
import {
  EXPECTED_CHOICE,
  EXPECTED_MODEL,
  findOtherModel,
  readModelsChoice,
} from "../../pages/views/model-lines.ts";
import type { ApiPorts } from "./api-ports.ts";
import { problem } from "./problem.ts";
import { readSavingsAnswer, readUsageAnswer, readUsageForecast, readUsageValues } from "./read-usage.ts";

/** The formats of an answer. */
const FORMATS = ["json", "csv", "md"] as const;

/** The longest search text, in UTF-16 code units. */
const MAX_SEARCH = 256;

/** Creates the routes of the usage query. Access is checked before. */
export function createUsageRoutes(ports: ApiPorts): Hono {
  const routes = new Hono();
  routes.get("/", (context) => getUsage(ports, context));
  routes.get("/values", (context) => getValues(ports, context));
  routes.get("/models", (context) => getModels(ports, context));
  routes.get("/comparison", (context) => getComparison(ports, context));
  routes.get("/forecast", (context) => getForecast(ports, context));
  return routes;
}

/** Parses the query. Unknown parameters are refused: without a misspelt filter, the answer would contain everything. */
function readQuery(context: Context, ...otherKeys: readonly string[]): UsageQuery | Response {
  const parameters = new URL(context.req.url).searchParams;
  const { query, notices } = parseUsageQuery(parameters, { otherKeys });
  if (notices.length === 0) return query;
  const detail = notices.map(({ key, problem: text }) => `${key}: ${text}`).join(" ");
  return problem(context, 400, "invalid_query", detail);
}

const refuse = (context: Context, { code, detail }: { code: string; detail: string }) =>
  problem(context, 400, code, detail);

const json = <Answer extends object>(context: Context, result: UsageResult<Answer>): Response =>
  result.ok ? context.json(result.value) : refuse(context, result);

async function getUsage(ports: ApiPorts, context: Context): Promise<Response> {
  const query = readQuery(context, "format");
  if (query instanceof Response) return query;
  const format = FORMATS.find((each) => each === (context.req.query("format") ?? "json"));
  if (format === undefined)
    return refuse(context, { code: "invalid_query", detail: `format: Expected ${FORMATS.join(", ")}.` });
  const result = await readUsageAnswer(ports, query);
  if (!result.ok || format === "json") return json(context, result);
  if (format === "md")
    return context.body(usageMarkdown(result.value), 200, { "content-type": "text/markdown; charset=utf-8" });
  return context.body(usageCsv(result.value), 200, {
    "content-type": "text/csv; charset=utf-8; header=present",
    "content-disposition": 'attachment; filename="usage.csv"',
  });
}

/** Answers with what could cost less. It uses the period, the zone, the buckets and the filters of the query. */
export async function getSavings(ports: ApiPorts, context: Context): Promise<Response> {
  const query = readQuery(context);
  if (query instanceof Response) return query;
  const unused = UNSUPPORTED_KEYS.find((key) => context.req.query(key) !== undefined);
  if (unused === undefined) return json(context, await readSavingsAnswer(ports, query));
  return refuse(context, { code: "invalid_query", detail: `${unused}: There is no such parameter.` });
}

async function getValues(ports: ApiPorts, context: Context): Promise<Response> {
  const query = readQuery(context, "dimension", "q");
  if (query instanceof Response) return query;
  const dimension = USAGE_DIMENSIONS.find((each) => each === context.req.query("dimension"));
  if (dimension === undefined) {
    const detail = `dimension: Expected ${USAGE_DIMENSIONS.join(", ")}.`;
    return refuse(context, { code: "invalid_query", detail });
  }
  const text = (context.req.query("q") ?? "").slice(0, MAX_SEARCH);
  return json(context, await readUsageValues(ports, query, dimension, text));
}

/** Parses the period, the zone and the filters of a query by model. */
function readModelsQuery(context: Context, ...otherKeys: readonly string[]): UsageQuery | Response {
  const query = readQuery(context, ...otherKeys);
  const unused = NO_MODEL_KEYS.find((key) => context.req.query(key) !== undefined);
  if (unused !== undefined)
    return refuse(context, { code: "invalid_query", detail: `${unused}: There is no such parameter.` });
  return query instanceof Response ? query : modelsQuery(query);
}

/** Answers with the period's models, as the page lists them. */
async function getModels(ports: ApiPorts, context: Context): Promise<Response> {
  const query = readModelsQuery(context, "models", "q");
  if (query instanceof Response) return query;
  const own = readModelsChoice(context.req.query());
  if (own === null) return refuse(context, { code: "invalid_query", detail: `models: ${EXPECTED_CHOICE}` });
  const result = await readUsageAnswer(ports, query);
  const prices = { book: ports.prices(), now: ports.clock.now() };
  return result.ok ? context.json(listedModels(result.value, prices, own)) : refuse(context, result);
}

/** Answers with what the period's models would have cost on another one. It uses the period, the zone and the filters of the query. */
async function getComparison(ports: ApiPorts, context: Context): Promise<Response> {
  const query = readModelsQuery(context, "as");
  if (query instanceof Response) return query;
  const prices = { book: ports.prices(), now: ports.clock.now() };
  const row = findOtherModel(context.req.query("as"), prices.book, prices.now);
  if (row === null) return refuse(context, { code: "invalid_query", detail: `as: ${EXPECTED_MODEL}` });
  const result = await readUsageAnswer(ports, query);
  return result.ok ? context.json(comparisonJson(result.value, prices, row)) : refuse(context, result);
}

async function getForecast(ports: ApiPorts, context: Context): Promise<Response> {
  const query = readQuery(context);
  return query instanceof Response ? query : json(context, await readUsageForecast(ports, query));
}
