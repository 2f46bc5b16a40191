import type { Context } from "hono";
import { html } from "hono/html";
import { formatOrigins, originsOfNamesakes } from "../../core/metering/attribution/list-origins.ts";
import { distinctFixes } from "../../core/pricing/price-fix.ts";
import { usageCsv } from "../../core/pricing/view/usage-export.ts";
import {
  DEFAULT_USAGE_QUERY,
  parseUsageQuery,
  printUsageQuery,
  type UsageQuery,
} from "../../core/pricing/view/usage-query.ts";
import { USAGE_DIMENSIONS, type UsageAnswer, type UsageDimension } from "../../core/wire/usage.ts";
import { formatShortUsd } from "../../pages/formats.ts";
import { renderState } from "../../pages/states.ts";
import {
  readUsageView,
  renderUsagePeriods,
  type UsageView,
  type UsageViewSpec,
  usageHref,
} from "../../pages/usage-view.ts";
import { renderExplore } from "../../pages/views/explore.ts";
import { EXPLORE_VIEW } from "../../pages/views/explore-view.ts";
import { MODELS_VIEW, type ModelsAnswer, renderModels } from "../../pages/views/models.ts";
import { OVERVIEW_VIEW, type OverviewAnswer, renderOverview } from "../../pages/views/overview.ts";
import { PROJECTS_VIEW, renderProjects } from "../../pages/views/projects.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import {
  readUsageAnswer,
  readUsageBreakdowns,
  readUsageForecast,
  type UsageResult,
} from "../api/read-usage.ts";
import { readUnpricedModels } from "../api/unpriced-models.ts";
import { listFirstSteps } from "./read-now.ts";
import { parametersOf, showPage, toolsOf } from "./show-page.ts";

/** The dimensions that the daemon has. */
export const LOCAL_DIMENSIONS: readonly UsageDimension[] = USAGE_DIMENSIONS.filter(
  (dimension) => dimension !== "machine" && dimension !== "person",
);

/** The dimensions that the list of requests can filter by. */
const LISTED: readonly UsageDimension[] = [
  "project",
  "model",
  "provider",
  "client",
  "billing",
  "status",
  "cost",
  "tokens",
  "http_status",
];

/** The rows of each breakdown of the overview. */
const BREAKDOWN_ROWS = 8;
/** The dimensions of the breakdowns. The rollups have all of them, since a page does not read every request. */
const BREAKDOWNS: readonly UsageDimension[] = ["project", "model", "client", "provider"];

/** How many fixes of missing prices the overview shows at most. */
const MAX_PRICE_FIXES = 3;

/** Whether the list of requests can filter by it. */
function isListed({ dimension, not, values }: UsageQuery["filters"][number]): boolean {
  const [value, ...more] = values;
  if (not || more.length > 0 || value === undefined || value === "" || !LISTED.includes(dimension))
    return false;
  if (dimension === "cost") return value === "unpriced";
  return dimension !== "tokens" || value === "incomplete";
}

/** Returns the address of the requests of a query; null if the list can't filter by it. */
export function requestsHref({ filters, period }: UsageQuery): string | null {
  if (!filters.every(isListed)) return null;
  const listed = { ...DEFAULT_USAGE_QUERY, filters, period };
  return ["/requests", printUsageQuery(listed)].filter((part) => part !== "").join("?");
}

/** The rows behind a figure: its requests, or the same question in Explore. */
export const LINKS = {
  requests: (query: string) =>
    requestsHref(parseUsageQuery(new URLSearchParams(query)).query) ?? `/explore?${query}`,
  coverage: "/coverage",
  list: requestsHref,
};

/** Answers with the page of a result, or with the problem of its query. */
export function showResult<Answer>(
  ports: ApiPorts,
  context: Context,
  view: UsageView,
  heading: string,
  result: UsageResult<Answer>,
  show: (answer: Answer) => Response | Promise<Response>,
) {
  if (result.ok) return show(result.value);
  return showPage(
    ports,
    context,
    {
      heading,
      path: view.path,
      controls: renderUsagePeriods(view),
      main: renderState(
        "This question has no answer",
        result.detail,
        html`<p><a href="${view.path}">Start again</a></p>`,
      ),
    },
    400,
  );
}

/** Answers with a usage answer as a file. */
export function sendUsage(context: Context, answer: UsageAnswer, format: "csv" | "json") {
  context.header("content-disposition", `attachment; filename="usage.${format}"`);
  if (format === "json") return context.json(answer);
  return context.body(usageCsv(answer), 200, { "content-type": "text/csv; charset=utf-8; header=present" });
}

/** The format of a file that the address asks for. */
export function formatOf(context: Context): "csv" | "json" | null {
  const format = context.req.query("format");
  return format === "csv" || format === "json" ? format : null;
}

/** Renders the exports of a view of usage. */
export function usageToolsOf(context: Context, view: UsageView, hasChart: boolean, command: string) {
  const file = (format: string) => {
    const href = usageHref(view);
    return `${href}${href.includes("?") ? "&" : "?"}format=${format}`;
  };
  return toolsOf(context, `/v1/usage?${printUsageQuery(view.query)}`, {
    csv: file("csv"),
    json: file("json"),
    hasChart,
    command,
  });
}

/** Returns the value of a result, or null if the query has none. */
const valueOrNull = <Answer>(result: UsageResult<Answer>): Answer | null => (result.ok ? result.value : null);

const readViewOf = (context: Context, spec: UsageViewSpec): UsageView =>
  readUsageView(spec, parametersOf(context));

export async function showOverview(ports: ApiPorts, context: Context) {
  const view = readViewOf(context, OVERVIEW_VIEW);
  const result = await readUsageAnswer(ports, view.query);
  const format = formatOf(context);
  return showResult(ports, context, view, "Overview", result, async (usage) => {
    if (format !== null) return sendUsage(context, usage, format);
    const answer = await readOverview(ports, view, usage);
    return showPage(ports, context, {
      heading: "Overview",
      title: formatShortUsd(BigInt(usage.totals.spent_pico_usd)),
      path: "/",
      controls: renderUsagePeriods(view),
      main: renderOverview(answer, view),
      tools: usageToolsOf(context, view, true, "meter report"),
    });
  });
}

async function readOverview(
  ports: ApiPorts,
  { query }: UsageView,
  usage: UsageAnswer,
): Promise<OverviewAnswer> {
  const isNew =
    usage.totals.requests === 0 && query.filters.length === 0 && ports.store.records.latestId() === null;
  const breakdowns = isNew
    ? null
    : valueOrNull(await readUsageBreakdowns(ports, { ...query, top: BREAKDOWN_ROWS }, BREAKDOWNS));
  const alone = { ...query, by: null, thenBy: null, compare: "none" } as const;
  return {
    usage,
    breakdowns: breakdowns ?? [],
    forecast: isNew || query.metric !== "spent" ? null : valueOrNull(await readUsageForecast(ports, alone)),
    year: isNew
      ? null
      : valueOrNull(await readUsageAnswer(ports, { ...alone, period: "12m", bucket: "day" })),
    hours: isNew
      ? null
      : valueOrNull(await readUsageAnswer(ports, { ...alone, period: "30d", bucket: "hour" })),
    priceFixes:
      usage.totals.unpriced_requests === 0
        ? []
        : distinctFixes(
            (
              await readUnpricedModels(
                ports,
                Date.parse(usage.period.from),
                Date.parse(usage.period.to),
                MAX_PRICE_FIXES,
              )
            ).map(({ fix }) => fix),
          ),
    firstSteps: isNew ? listFirstSteps(ports) : [],
    links: LINKS,
  };
}

export async function showExplore(ports: ApiPorts, context: Context) {
  const view = readViewOf(context, EXPLORE_VIEW);
  const isChart = view.own.view === "chart";
  const query: UsageQuery = isChart ? { ...view.query, thenBy: null } : { ...view.query, bucket: "none" };
  const format = formatOf(context);
  return showResult(ports, context, view, "Explore", await readUsageAnswer(ports, query), (usage) =>
    format !== null
      ? sendUsage(context, usage, format)
      : showPage(ports, context, {
          heading: "Explore",
          path: "/explore",
          controls: renderUsagePeriods(view),
          main: renderExplore({ usage, dimensions: LOCAL_DIMENSIONS, links: LINKS }, view),
          tools: usageToolsOf(
            context,
            { ...view, query },
            isChart,
            `meter report --by ${query.by ?? "project"}`,
          ),
        }),
  );
}

/** Shows the models that were used, with their rates. */
export async function showModels(ports: ApiPorts, context: Context) {
  const view = readViewOf(context, MODELS_VIEW);
  const query: UsageQuery = { ...view.query, by: "model", thenBy: "provider" };
  const format = formatOf(context);
  return showResult(
    ports,
    context,
    view,
    "Models and prices",
    await readUsageAnswer(ports, query),
    (usage) =>
      format !== null
        ? sendUsage(context, usage, format)
        : showPage(ports, context, {
            heading: "Models and prices",
            path: "/models",
            controls: renderUsagePeriods(view),
            main: renderModels({ usage, rateOf: createRateLookup(ports), links: LINKS }, view),
            tools: usageToolsOf(context, { ...view, query }, false, "meter pricing list"),
          }),
  );
}

/** Returns a lookup of the rates in force now. */
function createRateLookup(ports: ApiPorts): ModelsAnswer["rateOf"] {
  const book = ports.prices();
  const at = ports.clock.now();
  return (provider, model) => {
    const row = book.find({ provider, model, requestedModel: null, at });
    if (row === null) return null;
    const { input, cacheRead, cacheWrite, cacheWrite1h, output } = row.rates;
    return {
      name: row.model,
      ...{ input, cacheRead, cacheWrite, cacheWrite1h, output },
      source: row.origin?.name ?? row.source,
      statedOn: row.provenanceDate,
      since: row.effectiveFrom,
    };
  };
}

/** Shows what each project and its branches cost. */
export async function showProjects(ports: ApiPorts, context: Context) {
  const { origins } = ports.store;
  const view = readViewOf(context, PROJECTS_VIEW);
  const query: UsageQuery = { ...view.query, by: "project", thenBy: "branch" };
  const format = formatOf(context);
  const namesakes = originsOfNamesakes({ assignments: origins.list(), merges: origins.listMerges() });
  return showResult(
    ports,
    context,
    view,
    "Projects and branches",
    await readUsageAnswer(ports, query),
    (usage) =>
      format !== null
        ? sendUsage(context, usage, format)
        : showPage(ports, context, {
            heading: "Projects and branches",
            path: "/projects",
            controls: renderUsagePeriods(view),
            main: renderProjects(
              {
                usage,
                origins: new Map([...namesakes].map(([name, places]) => [name, formatOrigins(places, null)])),
                links: LINKS,
              },
              view,
            ),
            tools: usageToolsOf(context, { ...view, query }, false, "meter report --by project"),
          }),
  );
}
