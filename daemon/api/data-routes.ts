import { type Context, Hono } from "hono";
import { summariseCoverage } from "../../core/metering/coverage/coverage-summary.ts";
import { explainRequest } from "../../core/pricing/explain-request.ts";
import { parseRequestQuery } from "../../core/pricing/view/request-query.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { DAY_MS } from "../../core/values/time.ts";
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from "../../core/wire/queries.ts";
import { nextListCursor, parseListCursor } from "../store/list-cursor.ts";
import type { RequestListQuery } from "../store/port/records.ts";
import type { StatisticsQuery } from "../store/port/reports.ts";
import type { Turn } from "../store/port/values.ts";
import type { ApiPorts } from "./api-ports.ts";
import type { StatusResponse } from "./daemon-status.ts";
import { openEventStream } from "./event-stream.ts";
import { explanationJson } from "./explanation-json.ts";
import { problem } from "./problem.ts";
import { type PeriodResult, readPeriod } from "./read-period.ts";
import { isCloudDimension } from "./read-usage.ts";
import { requestJson } from "./request-json.ts";
import { requestsCsv } from "./requests-csv.ts";
import { statisticsJson } from "./statistics-json.ts";
import { readUnpricedModels } from "./unpriced-models.ts";

/** The most requests in one CSV response. */
const MAX_CSV_ROWS = 10_000;

/** The most missed records that a reconnecting reader of events receives. */
const MAX_MISSED = 100;

/** Parses the query of `GET /v1/requests`. Returns the name of the parameter if one is invalid. */
function readListQuery(
  parameters: URLSearchParams,
  csv: boolean,
): Omit<RequestListQuery, "from" | "to"> | string {
  const [limit, cursor] = [parameters.get("limit"), parameters.get("cursor")];
  const most = csv ? MAX_CSV_ROWS : PAGE_SIZE_MAX;
  if (limit !== null && !(/^[1-9]\d{0,4}$/.test(limit) && Number(limit) <= most)) return "limit";
  const { query, notices } = parseRequestQuery(parameters);
  const wrong =
    notices[0]?.key ?? query.filters.find(({ dimension }) => isCloudDimension(dimension))?.dimension;
  if (wrong !== undefined) return wrong;
  const position = cursor === null ? { beforeSeq: null } : parseListCursor(cursor, query.sort);
  if (position === null) return "cursor";
  return {
    ...query,
    ...position,
    limit: limit === null ? (csv ? MAX_CSV_ROWS : PAGE_SIZE_DEFAULT) : Number(limit),
  };
}

/** Whether the client wants CSV. The query takes precedence over the header. */
function wantsCsv(context: Context): boolean {
  const format = context.req.query("format");
  if (format !== undefined) return format === "csv";
  return /(?:^|,)\s*text\/csv\b/i.test(context.req.header("accept") ?? "");
}

/** Creates the routes that return metered data. Access is checked before. */
export function createDataRoutes(ports: ApiPorts): Hono {
  const routes = new Hono();
  routes.get("/status", (context) => getStatus(ports, context));
  routes.get("/stats", (context) => getStatistics(ports, context));
  routes.get("/projects", (context) => getProjects(ports, context));
  routes.get("/requests", (context) => getRequests(ports, context));
  routes.get("/requests/:id", (context) => getRequest(ports, context, context.req.param("id")));
  routes.get("/events", (context) => getEvents(ports, context));
  return routes;
}

function readContextPeriod({ clock }: ApiPorts, context: Context): PeriodResult {
  const { from, to, days } = context.req.query();
  return readPeriod({ from, to, days }, clock.now());
}

const periodJson = (period: { from: number; to: number; days: "local" | "utc" }) => ({
  from: new Date(period.from).toISOString(),
  to: new Date(period.to).toISOString(),
  days_in: period.days,
});

/** How many unpriced models the status has at most. */
const MAX_UNPRICED_MODELS = 10;

async function getStatus(ports: ApiPorts, context: Context): Promise<Response> {
  const cloud = (await ports.cloud?.banner()) ?? null;
  const state = ports.state();
  const now = ports.clock.now();
  const unpriced_models = await readUnpricedModels(ports, now - DAY_MS, now, MAX_UNPRICED_MODELS);
  const response: StatusResponse = {
    ...state,
    last_24_hours: { ...ports.lastDay(), unpriced_models },
    cloud: cloud && { banner: cloud.banner, sentence: cloud.sentence },
  };
  return context.json(response);
}

async function readStatisticsJson({ reports }: ApiPorts["store"], period: StatisticsQuery, turn: Turn) {
  const statistics = await reports.readStatistics(period, turn);
  return statisticsJson(statistics, await reports.readLastRequests(period));
}

async function getStatistics(ports: ApiPorts, context: Context): Promise<Response> {
  const { store, turn } = ports;
  const period = readContextPeriod(ports, context);
  if (!period.ok) return problem(context, 400, period.code, period.detail);
  const statistics = await readStatisticsJson(store, period, turn);
  const { metered, seen, permille, missing, withoutUsage, notStored } = summariseCoverage(
    store.coverage.read(period),
  );
  return context.json({
    ...periodJson(period),
    ...statistics,
    coverage: { metered, seen, permille, without_usage: withoutUsage, not_kept: notStored, missing },
  });
}

async function getProjects(ports: ApiPorts, context: Context): Promise<Response> {
  const { store, turn } = ports;
  const period = readContextPeriod(ports, context);
  if (!period.ok) return problem(context, 400, period.code, period.detail);
  const { projects } = await readStatisticsJson(store, period, turn);
  const capture = new Map(store.settings.listProjects().map((each) => [each.project, each.bodyCapture]));
  return context.json({
    ...periodJson(period),
    items: projects.map((line) => ({ ...line, body_capture: capture.get(line.project) ?? null })),
  });
}

async function getRequests(ports: ApiPorts, context: Context): Promise<Response> {
  const csv = wantsCsv(context);
  const query = readListQuery(new URL(context.req.url).searchParams, csv);
  if (typeof query === "string")
    return problem(context, 400, "invalid_query", `invalid query parameter: ${query}`);
  const { from, to } = context.req.query();
  let bounds: Pick<RequestListQuery, "from" | "to"> = { from: null, to: null };
  if (from !== undefined || to !== undefined) {
    const period = readContextPeriod(ports, context);
    if (!period.ok) return problem(context, 400, period.code, period.detail);
    bounds = period;
  }
  const page = await ports.store.records.list(
    { ...query, from: bounds.from, to: bounds.to },
    ports.turn,
    context.req.raw.signal,
  );
  const items = page.requests.map(requestJson);
  const next = nextListCursor(page);
  if (!csv) return context.json({ items, next_cursor: next });
  return context.body(requestsCsv(items), 200, {
    "content-type": "text/csv; charset=utf-8; header=present",
    "content-disposition": 'attachment; filename="requests.csv"',
    ...(next !== null && { "x-next-cursor": next }),
  });
}

async function getRequest(ports: ApiPorts, context: Context, id: string): Promise<Response> {
  const request = await ports.store.records.get(id);
  if (request === null) return problem(context, 404, "not_found", "There is no request with this ID.");
  return context.json(explanationJson(explainRequest(request, ports.prices())));
}

async function getEvents({ store, feed, clock }: ApiPorts, context: Context): Promise<Response> {
  const lastId = context.req.header("last-event-id");
  const last = lastId === undefined ? null : await store.records.get(lastId);
  const missed: readonly RequestRecord[] =
    last === null ? [] : store.records.read({ from: null, to: null, afterSeq: last.seq, limit: MAX_MISSED });
  const stream = openEventStream(feed, missed, clock);
  if (stream === null)
    return problem(context, 503, "too_many_listeners", "Too many clients are already listening for events.");
  // An idle keep-alive connection would delay the daemon's stop.
  return context.body(stream, 200, {
    "content-type": "text/event-stream; charset=utf-8",
    connection: "close",
  });
}
