import { type Context, Hono } from "hono";
import type { RequestRecord } from "../../core/record.ts";
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from "../../core/wire/mod.ts";
import type { StatusAnswer } from "../daemon-status.ts";
import { explainRequest } from "../explain-request.ts";
import type { RequestListQuery } from "../store/mod.ts";
import type { ApiPorts } from "./api-ports.ts";
import { summariseCoverage } from "./coverage-summary.ts";
import { openEventStream } from "./event-stream.ts";
import { explanationJson } from "./explanation-json.ts";
import { problem } from "./problem.ts";
import { readPeriod } from "./read-period.ts";
import { requestJson } from "./request-json.ts";
import { requestsCsv } from "./requests-csv.ts";
import { statisticsJson } from "./statistics-json.ts";

/** Requests in one CSV answer at most. */
const MAX_CSV_ROWS = 10_000;

/** Records that a reader of events may have missed and still gets. */
const MAX_MISSED = 100;

/** A name in a filter, as long as the longest that is stored. */
const MAX_FILTER = 256;

/** What the query of `GET /v1/requests` asks for, or the name of the parameter that can't be read. */
function readListQuery(
  query: Readonly<Record<string, string>>,
  csv: boolean,
): Omit<RequestListQuery, "from" | "to"> | string {
  const { limit, cursor, status } = query;
  const most = csv ? MAX_CSV_ROWS : PAGE_SIZE_MAX;
  if (limit !== undefined && !(/^[1-9]\d{0,4}$/.test(limit) && Number(limit) <= most)) return "limit";
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) return "cursor";
  if (status !== undefined && !/^(?:ok|failed|[1-9]\d\d)$/.test(status)) return "status";
  const filters: Pick<RequestListQuery, "project" | "model" | "provider" | "client"> = {};
  for (const name of ["project", "model", "provider", "client"] as const) {
    const value = query[name];
    if (value === undefined) continue;
    if (value.length > MAX_FILTER) return name;
    filters[name] = value;
  }
  return {
    ...filters,
    ...(status !== undefined && { status: status === "ok" || status === "failed" ? status : Number(status) }),
    beforeSeq: cursor === undefined ? null : Number(cursor),
    limit: limit === undefined ? (csv ? MAX_CSV_ROWS : PAGE_SIZE_DEFAULT) : Number(limit),
  };
}

/** Whether CSV is asked for; the query counts more than the header. */
function wantsCsv(context: Context): boolean {
  const format = context.req.query("format");
  if (format !== undefined) return format === "csv";
  return /(?:^|,)\s*text\/csv\b/i.test(context.req.header("accept") ?? "");
}

/** The part of the API that tells what was metered. Who may ask is decided before. */
export function createDataRoutes(ports: ApiPorts): Hono {
  const { store, clock, turn } = ports;
  const routes = new Hono();

  const period = (context: Context) => {
    const { from, to, days } = context.req.query();
    return readPeriod({ from, to, days }, clock.now());
  };
  const periodJson = (read: { from: number; to: number; days: "local" | "utc" }) => ({
    from: new Date(read.from).toISOString(),
    to: new Date(read.to).toISOString(),
    days_in: read.days,
  });

  routes.get("/status", async (context) => {
    const cloud = (await ports.cloud?.banner()) ?? null;
    const answer: StatusAnswer = {
      ...ports.status(),
      cloud: cloud && { banner: cloud.banner, sentence: cloud.sentence },
    };
    return context.json(answer);
  });

  routes.get("/stats", async (context) => {
    const read = period(context);
    if (!read.ok) return problem(context, 400, read.code, read.detail);
    const statistics = await store.readStatistics(read, turn);
    const { metered, seen, permille, missing, withoutUsage } = summariseCoverage(store.readCoverage(read));
    return context.json({
      ...periodJson(read),
      ...statisticsJson(statistics),
      coverage: { metered, seen, permille, without_usage: withoutUsage, missing },
    });
  });

  routes.get("/projects", async (context) => {
    const read = period(context);
    if (!read.ok) return problem(context, 400, read.code, read.detail);
    const { projects } = statisticsJson(await store.readStatistics(read, turn));
    const capture = new Map(store.listProjectSettings().map((each) => [each.project, each.bodyCapture]));
    return context.json({
      ...periodJson(read),
      items: projects.map((line) => ({ ...line, body_capture: capture.get(line.project) ?? null })),
    });
  });

  routes.get("/requests", async (context) => {
    const csv = wantsCsv(context);
    const query = readListQuery(context.req.query(), csv);
    if (typeof query === "string") return problem(context, 400, "invalid_query", `${query} can't be read`);
    const { from, to } = context.req.query();
    let bounds: Pick<RequestListQuery, "from" | "to"> = { from: null, to: null };
    if (from !== undefined || to !== undefined) {
      const read = period(context);
      if (!read.ok) return problem(context, 400, read.code, read.detail);
      bounds = read;
    }
    const page = await store.listRequests(
      { ...query, from: bounds.from, to: bounds.to },
      turn,
      context.req.raw.signal,
    );
    const items = page.requests.map(requestJson);
    const next = page.nextBeforeSeq?.toString() ?? null;
    if (!csv) return context.json({ items, next_cursor: next });
    return context.body(requestsCsv(items), 200, {
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": 'attachment; filename="requests.csv"',
      ...(next !== null && { "x-next-cursor": next }),
    });
  });

  routes.get("/requests/:id", async (context) => {
    const request = await store.readRequest(context.req.param("id"));
    if (request === null) return problem(context, 404, "not_found", "There is no request of this id.");
    return context.json(explanationJson(explainRequest(request, ports.prices())));
  });

  routes.get("/events", async (context) => {
    const lastId = context.req.header("last-event-id");
    const last = lastId === undefined ? null : await store.readRequest(lastId);
    const missed: readonly RequestRecord[] =
      last === null
        ? []
        : store.readRequests({ from: null, to: null, afterSeq: last.seq, limit: MAX_MISSED });
    const stream = openEventStream(ports.feed, missed, clock);
    if (stream === null)
      return problem(context, 503, "too_many_listeners", "Too many pages listen to events already.");
    // When it ends there is nothing to keep the connection for: an idle one would hold up a daemon that stops.
    return context.body(stream, 200, {
      "content-type": "text/event-stream; charset=utf-8",
      connection: "close",
    });
  });
  return routes;
}
