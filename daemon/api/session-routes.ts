import { type Context, Hono } from "hono";
import { buildSessionTree } from "../../core/metering/sessions/session-tree.ts";
import { parseSessionQuery } from "../../core/pricing/view/session-query.ts";
import { formatCsvLine } from "../../core/values/text/format-csv-field.ts";
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from "../../core/wire/queries.ts";
import type { SessionList } from "../store/port/sessions.ts";
import type { ApiPorts } from "./api-ports.ts";
import { problem } from "./problem.ts";
import { readPeriod } from "./read-period.ts";
import { isCloudDimension } from "./read-usage.ts";
import { type CsvTable, callsTable, sessionsTable } from "./session-csv.ts";
import { agentJson, sessionJson, sessionsJson } from "./session-json.ts";

/** The most calls of a session in one answer. */
const MAX_CALLS = 10_000;

/** The formats of sessions. */
export type SessionFormat = "csv" | "json";

/** Creates the routes of sessions: the same as `meter sessions` and `meter session`. Access is checked before. */
export function createSessionRoutes(ports: ApiPorts): Hono {
  const routes = new Hono();
  routes.get("/", (context) => listSessions(ports, context));
  routes.get("/:id", (context) => {
    const format = context.req.query("format") === "csv" ? "csv" : "json";
    return (
      sendSession(ports, context, context.req.param("id"), format) ??
      problem(context, 404, "not_found", "There is no session with this ID.")
    );
  });
  return routes;
}

async function listSessions({ store, clock, turn }: ApiPorts, context: Context): Promise<Response> {
  const { from, to, days, limit = `${PAGE_SIZE_DEFAULT}`, format } = context.req.query();
  const { query, notices } = parseSessionQuery(new URL(context.req.url).searchParams);
  const isLimit = /^[1-9]\d{0,2}$/.test(limit) && Number(limit) <= PAGE_SIZE_MAX;
  const wrong =
    notices[0]?.key ??
    query.filters.find(({ dimension }) => isCloudDimension(dimension))?.dimension ??
    (isLimit ? undefined : "limit");
  if (wrong !== undefined) return problem(context, 400, "invalid_query", `invalid query parameter: ${wrong}`);
  const period = readPeriod({ from, to, days }, clock.now());
  if (!period.ok) return problem(context, 400, period.code, period.detail);
  const list = await store.sessions.list(
    { ...query, from: period.from, to: period.to, limit: Number(limit) },
    turn,
  );
  return sendSessions(context, list, format === "csv" ? "csv" : "json");
}

/** Answers with sessions. A header of a CSV says how many sessions of unknown cost a minimum cost leaves out. */
export function sendSessions(context: Context, list: SessionList, format: SessionFormat): Response {
  if (format === "json") return sendJson(context, sessionsJson(list));
  context.header("x-unknown-cost-sessions", `${list.unknownCosts}`);
  return sendCsv(context, sessionsTable(list.sessions));
}

/** Answers with a session and its calls; null if there is none with this ID. */
export function sendSession(
  { store }: Pick<ApiPorts, "store">,
  context: Context,
  sessionId: string,
  format: SessionFormat,
): Response | null {
  const session = store.sessions.summarise(sessionId);
  if (session === null) return null;
  const tree = buildSessionTree(store.sessions.requests(sessionId, MAX_CALLS));
  return format === "csv"
    ? sendCsv(context, callsTable(tree))
    : sendJson(context, { ...sessionJson(session), tree: agentJson(tree) });
}

const sendCsv = (context: Context, [columns, rows]: CsvTable): Response =>
  context.body([columns, ...rows].map(formatCsvLine).join(""), 200, {
    "content-type": "text/csv; charset=utf-8; header=present",
  });

/** Sends JSON, in which bigints are text. */
const sendJson = (context: Context, value: unknown): Response =>
  context.body(
    JSON.stringify(value, (_key, inner) => (typeof inner === "bigint" ? inner.toString() : inner)),
    200,
    { "content-type": "application/json" },
  );
