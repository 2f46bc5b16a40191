import { type Context, Hono } from "hono";
import { html } from "hono/html";
import { formatOrigins, originsOfNamesakes } from "../../core/metering/attribution/list-origins.ts";
import { explainRequest, priceWithoutCache } from "../../core/pricing/explain-request.ts";
import { fixOfExplanation } from "../../core/pricing/price-fix.ts";
import {
  listSamePrompts,
  SAME_PROMPT_SEARCHED,
  type SamePrompts,
} from "../../core/pricing/savings/same-prompt.ts";
import { printUsageQuery } from "../../core/pricing/view/usage-query.ts";
import { addQueries } from "../../core/values/text/query-string.ts";
import { coverageCsv, coverageJson } from "../../pages/coverage-file.ts";
import { renderPeriods } from "../../pages/filters.ts";
import { formatShortUsd } from "../../pages/formats.ts";
import { CLIENT_FILES } from "../../pages/frame.ts";
import { limitsCsv } from "../../pages/limits-file.ts";
import { nowCsv, nowJson } from "../../pages/now-file.ts";
import { createPageFile, fileFormatOf, pageFiles } from "../../pages/page-file.ts";
import { renderUnread } from "../../pages/page-parts.ts";
import { pageHref } from "../../pages/page-place.ts";
import { privacyCsv, privacyJson } from "../../pages/privacy-file.ts";
import { periodOptions } from "../../pages/report-command.ts";
import { settingsCsv, settingsJson } from "../../pages/settings-file.ts";
import { USAGE_PAGES, usageFiles } from "../../pages/usage-pages.ts";
import { usageHref } from "../../pages/usage-view.ts";
import { filesOf, viewHref, viewParameters } from "../../pages/view.ts";
import { type BudgetLines, renderBudgetPanel, renderBudgetsNow } from "../../pages/views/budgets.ts";
import { readCoverageView, renderCoverage } from "../../pages/views/coverage.ts";
import { type LimitWindow, renderLimits } from "../../pages/views/limits.ts";
import { readNowView, renderNow } from "../../pages/views/now.ts";
import { renderPrivacy } from "../../pages/views/privacy.ts";
import { adviceOf, renderNoRequest, renderRequest, requestHeading } from "../../pages/views/request.ts";
import { type RequestsView, readRequestsView, renderRequests } from "../../pages/views/requests.ts";
import { renderSettings } from "../../pages/views/settings.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import { readBodyProjects } from "../api/coverage-routes.ts";
import { explanationJson } from "../api/explanation-json.ts";
import { LOCAL_DIMENSIONS } from "../api/read-usage.ts";
import { requestJson } from "../api/request-json.ts";
import { requestsCsv } from "../api/requests-csv.ts";
import { lastPulls } from "../api/unpriced-models.ts";
import { budgetViews } from "../budgets/budget-views.ts";
import { readLimitViews } from "../limits/limit-views.ts";
import { nextListCursor } from "../store/list-cursor.ts";
import type { StoredRequest } from "../store/port/records.ts";
import { readLocalPeriod } from "./page-period.ts";
import {
  LOCAL_COVERAGE,
  printCoverageFilters,
  readCloud,
  readCoverageAnswer,
  readCoverageFilters,
} from "./read-coverage.ts";
import { readNow } from "./read-now.ts";
import { readPrivacy } from "./read-privacy.ts";
import {
  LOCAL_REQUESTS,
  periodParameters,
  readRequests,
  requestListQuery,
  requestsApiPath,
} from "./read-requests.ts";
import { showSession, showSessions } from "./session-pages.ts";
import {
  parametersOf,
  partsOf,
  placeOf,
  sendFile,
  showFailure,
  showNotFound,
  showPage,
  toolsOf,
} from "./show-page.ts";
import { answerStatement } from "./statement.ts";
import { showUsagePage } from "./usage-pages.ts";

/** The most requests in one file. */
const MAX_FILE_ROWS = 10_000;

/** A page's address names its content, so it never changes. */
const IMMUTABLE = "public, max-age=31536000, immutable";

/** Creates the routes of the dashboard's pages and their files. Access is checked before. */
export function createLocalPages(ports: ApiPorts): Hono {
  const routes = new Hono();
  for (const { path, type, text } of CLIENT_FILES)
    routes.get(path, (context) =>
      context.body(text, 200, { "content-type": type, "cache-control": IMMUTABLE }),
    );
  for (const [path, show] of Object.entries(USAGE_PAGES))
    routes.get(path, (context) => showUsagePage(ports, context, show));
  routes.get("/now", (context) => showNow(ports, context));
  routes.get("/requests", (context) => showRequests(ports, context));
  routes.get("/requests/:id", (context) => showRequest(ports, context, context.req.param("id")));
  routes.get("/sessions", (context) => showSessions(ports, context));
  routes.get("/sessions/:id", (context) => showSession(ports, context, context.req.param("id")));
  routes.get("/statement", (context) => answerStatement(ports, context, null));
  routes.get("/statement/:month", (context) => answerStatement(ports, context, context.req.param("month")));
  routes.get("/privacy", (context) => showPrivacy(ports, context));
  routes.get("/settings", (context) => showSettings(ports, context));
  routes.get("/limits", (context) => showLimits(ports, context));
  routes.get("/coverage", (context) => showCoverage(ports, context));
  routes.onError((error, context) => {
    // A browser that left is not an error. A file has no page: the API answers with the problem.
    if (error === context.req.raw.signal.reason || context.req.query("format") !== undefined) throw error;
    ports.onError(error);
    return showFailure(ports, context);
  });
  return routes;
}

async function showNow(ports: ApiPorts, context: Context) {
  const view = readNowView(LOCAL_DIMENSIONS, parametersOf(context));
  const parts = partsOf(ports, context);
  const answer = await readNow(ports, view, parts);
  const place = placeOf(ports);
  const format = fileFormatOf(parametersOf(context));
  if (format !== null) {
    const file = { csv: () => nowCsv(answer), json: () => nowJson(answer, place.zone) };
    return sendFile(context, createPageFile("now", format, file));
  }
  const budgets = await parts.read<BudgetLines | null>(
    "budgets",
    () => readBudgetLines(ports, ports.clock.now()),
    null,
  );
  return showPage(ports, context, {
    heading: "Now",
    title: `${formatShortUsd(answer.today.split.spentPicoUsd)} today`,
    path: "/now",
    address: usageHref(view),
    failedParts: parts.failed,
    main: renderNow(
      answer,
      place,
      budgets === null
        ? renderUnread("budgets")
        : renderBudgetsNow(budgets, place, pageHref(place.base, "/limits")),
    ),
    tools: toolsOf(
      context,
      view.query.filters.length === 0 ? "/v1/now?detail=1" : `/v1/usage?${printUsageQuery(view.query)}`,
      { ...usageFiles(view), hasChart: true, command: "meter top" },
    ),
  });
}

async function showRequests(ports: ApiPorts, context: Context) {
  const view = readRequestsView(LOCAL_REQUESTS, parametersOf(context));
  const format = fileFormatOf(parametersOf(context));
  if (format !== null) return sendRequests(ports, context, view, format);
  const parts = partsOf(ports, context);
  const answer = await readRequests(ports, view, context.req.raw.signal, parts);
  const parameters = viewParameters(view);
  const file = (as: string) => `/requests?${new URLSearchParams([...parameters, ["format", as]])}`;
  const period = readLocalPeriod(view, ports.clock.now());
  return showPage(ports, context, {
    heading: "Requests",
    path: "/requests",
    address: viewHref(view, { values: {} }),
    controls: renderPeriods(view, placeOf(ports)),
    failedParts: parts.failed,
    main: renderRequests(answer, view, placeOf(ports)),
    tools: toolsOf(context, requestsApiPath(view, period), {
      csv: file("csv"),
      json: file("json"),
      command: "meter requests",
    }),
  });
}

/** Answers with the requests of a view as a file. */
async function sendRequests(ports: ApiPorts, context: Context, view: RequestsView, format: "csv" | "json") {
  const { store, turn, clock } = ports;
  const query = requestListQuery(view, readLocalPeriod(view, clock.now()), MAX_FILE_ROWS);
  const page = await store.records.list(query, turn, context.req.raw.signal);
  const items = page.requests.map(requestJson);
  context.header("content-disposition", `attachment; filename="requests.${format}"`);
  if (format === "json") return context.json({ items, next_cursor: nextListCursor(page) });
  return context.body(requestsCsv(items), 200, { "content-type": "text/csv; charset=utf-8; header=present" });
}

/** Reads the calls around a request that had the same prompt. Null if its prompt is not known. */
async function readSamePrompts(
  { store }: ApiPorts,
  { requestId, requestedAt, promptHash }: StoredRequest,
): Promise<SamePrompts | null> {
  if (promptHash === null) return null;
  const found = await store.reports.findSamePrompt({ requestedAt, promptHash }, SAME_PROMPT_SEARCHED);
  return listSamePrompts({ requestId, requestedAt }, found);
}

async function showRequest(ports: ApiPorts, context: Context, id: string) {
  const { store, clock } = ports;
  const back = { path: "/requests", name: "Requests" };
  const request = await store.records.get(id);
  if (request === null) return showNotFound(ports, context, back, renderNoRequest(placeOf(ports)));
  const book = ports.prices();
  const explanation = explainRequest(request, book);
  if (context.req.query("format") === "json") {
    context.header("content-disposition", `attachment; filename="request-${request.requestId}.json"`);
    return context.json(explanationJson(explanation));
  }
  const parts = partsOf(ports, context);
  const readOrigins = () =>
    originsOfNamesakes({ assignments: store.origins.list(), merges: store.origins.listMerges() });
  const namesakes = await parts.read<ReturnType<typeof readOrigins>>(
    "origins of projects",
    readOrigins,
    new Map(),
  );
  const origins = namesakes.get(request.project);
  const fix = fixOfExplanation(explanation, lastPulls(ports), clock.now());
  const answer = {
    explanation,
    withoutCachePicoUsd: priceWithoutCache(request, book),
    advice: fix === null ? null : adviceOf(fix),
    update: "meter recompute-costs",
    origin: origins === undefined ? null : formatOrigins(origins, null),
    samePrompts: await parts.read<SamePrompts | null>(
      "requests with the same prompt",
      () => readSamePrompts(ports, request),
      null,
    ),
    failed: parts.failed,
  };
  return showPage(ports, context, {
    heading: requestHeading(request.requestedAt, placeOf(ports)),
    path: "/requests",
    back,
    failedParts: parts.failed,
    main: renderRequest(answer, placeOf(ports)),
    tools: toolsOf(context, `/v1/requests/${request.requestId}`, {
      json: `/requests/${request.requestId}?format=json`,
      command: `meter explain ${request.requestId}`,
    }),
  });
}

async function showPrivacy(ports: ApiPorts, context: Context) {
  const parts = partsOf(ports, context);
  const answer = await readPrivacy(ports, parts);
  const format = fileFormatOf(parametersOf(context));
  if (format !== null) {
    const file = { csv: () => privacyCsv(answer), json: () => privacyJson(answer) };
    return sendFile(context, createPageFile("privacy", format, file));
  }
  return showPage(ports, context, {
    heading: "Privacy",
    path: "/privacy",
    failedParts: parts.failed,
    main: renderPrivacy(answer, placeOf(ports)),
    tools: toolsOf(context, "/v1/outbox", { ...pageFiles("/privacy"), command: "meter cloud privacy audit" }),
  });
}

async function showSettings(ports: ApiPorts, context: Context) {
  const answer = (await ports.settings?.()) ?? null;
  const format = fileFormatOf(parametersOf(context));
  if (format !== null && answer !== null) {
    const file = {
      csv: () => settingsCsv(answer, readBodyProjects(ports)),
      json: () => settingsJson(answer, readBodyProjects(ports)),
    };
    return sendFile(context, createPageFile("settings", format, file));
  }
  const parts = partsOf(ports, context);
  const cloud = await parts.read(
    "state of the cloud",
    async () => (await readCloud(ports)).sentence,
    "could not be read",
  );
  const bodyProjects = await parts.read<readonly string[] | null>(
    "projects that keep bodies",
    () => readBodyProjects(ports),
    null,
  );
  return showPage(ports, context, {
    heading: "Settings",
    path: "/settings",
    failedParts: parts.failed,
    main: renderSettings(answer, cloud, bodyProjects, placeOf(ports)),
    tools: toolsOf(context, "/v1/settings", { ...pageFiles("/settings"), command: "meter doctor" }),
  });
}

async function showLimits(ports: ApiPorts, context: Context) {
  const now = ports.clock.now();
  const place = placeOf(ports);
  const parts = partsOf(ports, context);
  const readLimits = () => {
    ports.limits?.flush();
    return readLimitViews(ports.store.limits, now);
  };
  const limits = await parts.read<readonly LimitWindow[] | null>("limits", readLimits, null);
  const lines = await parts.read<BudgetLines | null>("budgets", () => readBudgetLines(ports, now), null);
  const format = fileFormatOf(parametersOf(context));
  if (format !== null && limits !== null && lines !== null) {
    const { budgets } = lines;
    const file = { csv: () => limitsCsv(limits, budgets), json: () => ({ limits, budgets }) };
    return sendFile(context, createPageFile("limits", format, file));
  }
  return showPage(ports, context, {
    heading: "Limits and budgets",
    path: "/limits",
    failedParts: parts.failed,
    main: html`${limits === null ? renderUnread("limits") : renderLimits(limits, place)}${lines === null ? renderUnread("budgets") : renderBudgetPanel(lines, place)}`,
    tools: toolsOf(context, "/v1/limits", { ...pageFiles("/limits"), command: "meter limits" }),
  });
}

function readBudgetLines({ budgets }: ApiPorts, now: number): BudgetLines {
  if (budgets === undefined) return { budgets: [], letThrough: 0, early: 0 };
  const { calls, early, byBudget: letThrough } = budgets.letThrough();
  const { tracker, configured } = budgets;
  const views = budgetViews(tracker.state(), now, { configured, letThrough, cutCalls: tracker.cutCalls() });
  return { budgets: views, letThrough: calls, early };
}

async function showCoverage(ports: ApiPorts, context: Context) {
  const view = readCoverageView(LOCAL_COVERAGE, parametersOf(context));
  const period = readLocalPeriod(view, ports.clock.now());
  const filters = readCoverageFilters(viewParameters(view));
  const parts = partsOf(ports, context);
  const answer = await readCoverageAnswer(ports, period, parts, filters);
  const { zone } = placeOf(ports);
  const format = fileFormatOf(parametersOf(context));
  if (format !== null) {
    const file = { csv: () => coverageCsv(answer, zone), json: () => coverageJson(answer, zone) };
    return sendFile(context, createPageFile("coverage", format, file));
  }
  return showPage(ports, context, {
    heading: "Coverage",
    path: "/coverage",
    failedParts: parts.failed,
    controls: renderPeriods(view, placeOf(ports)),
    main: renderCoverage(answer, view, placeOf(ports)),
    tools: toolsOf(
      context,
      addQueries("/v1/coverage", periodParameters(period), printCoverageFilters(filters)),
      {
        ...filesOf(view),
        hasChart: true,
        // The command has no filters.
        ...(view.filters.length === 0 && { command: `meter coverage ${periodOptions(period)}` }),
      },
    ),
  });
}
