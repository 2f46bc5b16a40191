import { html } from "hono/html";
import type { NewestCalls } from "../core/metering/attribution/newest-calls.ts";
import { printSavingsQuery, UNSUPPORTED_KEYS } from "../core/pricing/savings/answer-savings.ts";
import { savingsCsv } from "../core/pricing/savings/savings-export.ts";
import { usageCsv, usageTimesCsv } from "../core/pricing/view/usage-export.ts";
import {
  DEFAULT_USAGE_QUERY,
  parseUsageQuery,
  printUsageQuery,
  type UsageQuery,
} from "../core/pricing/view/usage-query.ts";
import { addQueries } from "../core/values/text/query-string.ts";
import type { SavingsAnswer } from "../core/wire/savings.ts";
import type { UsageAnswer } from "../core/wire/usage.ts";
import { formatShortUsd } from "./formats.ts";
import type { FramedPage } from "./frame.ts";
import type { Html } from "./html.ts";
import { modelsFile, modelsPath } from "./models-file.ts";
import { createPageFile, type FileFormat, fileFormatOf, type PageFile } from "./page-file.ts";
import { UNREAD, UNREAD_COVERAGE } from "./page-parts.ts";
import { pageHref } from "./page-place.ts";
import { projectsFile } from "./projects-file.ts";
import { comparisonCommand, reportCommand } from "./report-command.ts";
import { renderState } from "./states.ts";
import type { PeriodCoverage, UsageHost, UsageResult } from "./usage-host.ts";
import {
  readUsageView,
  renderUsagePeriods,
  type UsageView,
  type UsageViewSpec,
  usageHref,
} from "./usage-view.ts";
import { renderExplore } from "./views/explore.ts";
import { EXPLORE_VIEW, exploreForm, exploreQuery } from "./views/explore-view.ts";
import { findOtherModel, MODELS_VIEW, showsAllUsed } from "./views/model-lines.ts";
import { renderModels } from "./views/models.ts";
import { OVERVIEW_VIEW, type OverviewAnswer, renderOverview, showsBranches } from "./views/overview.ts";
import { PROJECTS_VIEW, renderProjects } from "./views/projects.ts";
import { renderSavings, SAVINGS_VIEW } from "./views/savings.ts";

/** A page for the frame, or a file. */
export type UsagePage =
  | { readonly kind: "page"; readonly status: 200 | 400; readonly page: FramedPage }
  | UsageFile;

type UsageFile = PageFile & { readonly kind: "file" };

/** Reads and renders a page about usage from the parameters of its address. */
export type ShowUsagePage = (host: UsageHost, parameters: URLSearchParams) => Promise<UsagePage>;

/** The pages about usage by their paths. Both hosts have all of them. */
export const USAGE_PAGES = {
  "/": showOverview,
  "/explore": showExplore,
  "/models": showModels,
  "/projects": showProjects,
  "/savings": showSavings,
} satisfies Readonly<Record<string, ShowUsagePage>>;

/** The rows of each breakdown of the overview. */
const BREAKDOWN_ROWS = 8;

/** What a page adds to an answer. */
interface PageParts {
  readonly heading: string;
  readonly title?: string;
  readonly main: Html;
  readonly hasChart: boolean;
  /** The command of `meter` that shows the same; null if there is none. */
  readonly command: string | null;
  /** The query of the exports. Default: that of the view. */
  readonly query?: UsageQuery;
}

/** Returns the page of a result: as a file if the address asks for one, and the problem if the query has no answer. */
async function toPage<Answer>(
  host: UsageHost,
  view: UsageView,
  parameters: URLSearchParams,
  result: UsageResult<Answer>,
  exported: Exported<Answer>,
  render: (answer: Answer) => PageParts | Promise<PageParts>,
): Promise<UsagePage> {
  const controls = renderUsagePeriods(view, host);
  if (!result.ok) {
    const main = renderState(
      "This query is not valid",
      result.detail,
      html`<p><a href="${pageHref(view.base, view.path)}">Start again</a></p>`,
    );
    return { kind: "page", status: 400, page: { heading: "No answer", path: view.path, controls, main } };
  }
  const format = fileFormatOf(parameters);
  if (format !== null) return toFile(result.value, format, exported);
  const { hasChart, command, query = view.query, ...parts } = await render(result.value);
  const tools = renderUsageTools(host, { ...view, query }, exported.address(query), hasChart, command);
  return {
    kind: "page",
    status: 200,
    page: {
      ...parts,
      path: view.path,
      address: usageHref(view),
      controls,
      tools,
      failedParts: host.parts.failed,
    },
  };
}

/** How an answer is exported: the name of its files, its CSV, and its address in the API. */
interface Exported<Answer> {
  readonly name: string;
  readonly csv: (answer: Answer) => string;
  /** Default: the answer itself. */
  readonly json?: (answer: Answer) => unknown;
  readonly address: (query: UsageQuery) => string;
}

const USAGE: Exported<UsageAnswer> = {
  name: "usage",
  csv: usageCsv,
  address: (query) => `/usage?${printUsageQuery(query)}`,
};

const SAVINGS: Exported<SavingsAnswer> = {
  name: "savings",
  csv: savingsCsv,
  address: (query) => `/savings?${printSavingsQuery(query)}`,
};

/** Returns the addresses of a view as a file. */
export function usageFiles(view: UsageView): { readonly csv: string; readonly json: string } {
  const href = usageHref(view);
  const file = (format: string) => `${href}${href.includes("?") ? "&" : "?"}format=${format}`;
  return { csv: file("csv"), json: file("json") };
}

/** Returns the answer to a usage query as a file. */
export const toUsageFile = (answer: UsageAnswer, format: FileFormat) => toFile(answer, format, USAGE);

const toFile = <Answer>(
  answer: Answer,
  format: FileFormat,
  { name, csv, json = (each) => each }: Exported<Answer>,
): UsageFile => ({
  kind: "file",
  ...createPageFile(name, format, { csv: () => csv(answer), json: () => json(answer) }),
});

function renderUsageTools(
  host: UsageHost,
  view: UsageView,
  address: string,
  hasChart: boolean,
  command: string | null,
): Html {
  return host.renderTools(address, { ...usageFiles(view), hasChart, ...(command !== null && { command }) });
}

/** Returns the address of a list of what matches a query: its filters and its period. */
const listHref = (
  { base }: Pick<UsageHost, "base">,
  path: string,
  { filters, period }: Pick<UsageQuery, "filters" | "period">,
): string => addQueries(pageHref(base, path), printUsageQuery({ ...DEFAULT_USAGE_QUERY, filters, period }));

/** Returns the address of the requests of a query. */
const requestsHref = (host: Pick<UsageHost, "base">, query: UsageQuery): string =>
  listHref(host, "/requests", query);

/** Returns the addresses of the rows behind a figure. */
export const linksOf = (host: Pick<UsageHost, "base">, { period }: Pick<UsageQuery, "period">) => ({
  requests: (query: string) => requestsHref(host, parseUsageQuery(new URLSearchParams(query)).query),
  coverage: listHref(host, "/coverage", { filters: [], period }),
  list: (query: UsageQuery) => requestsHref(host, query),
});

async function viewOf(host: UsageHost, spec: UsageViewSpec, parameters: URLSearchParams): Promise<UsageView> {
  const view = readUsageView(spec, parameters, host.base);
  const nameFilters = () => host.nameFilters(view.query.filters);
  return { ...view, nameOf: await host.parts.read("names of filters", nameFilters, () => null) };
}

/** Returns the value of a result, or null if the query has none. */
const valueOrNull = <Answer>(result: UsageResult<Answer>): Answer | null => (result.ok ? result.value : null);

async function showOverview(host: UsageHost, parameters: URLSearchParams): Promise<UsagePage> {
  const view = await viewOf(host, OVERVIEW_VIEW, parameters);
  return await toPage(host, view, parameters, await host.readUsage(view.query), USAGE, async (usage) => {
    const answer = await readOverview(host, view, usage);
    return {
      heading: "Overview",
      ...(answer.forecast !== null && { title: `${formatShortUsd(BigInt(answer.forecast.today))} today` }),
      main: renderOverview(answer, view),
      hasChart: true,
      command: reportCommand(view.query, usage),
    };
  });
}

async function readOverview(host: UsageHost, view: UsageView, usage: UsageAnswer): Promise<OverviewAnswer> {
  const { query } = view;
  const links = linksOf(host, query);
  const isEmpty = usage.totals.requests === 0 && query.filters.length === 0;
  const { parts: page } = host;
  const firstSteps = isEmpty ? await page.read("first steps", () => host.firstSteps(), []) : [];
  if (firstSteps.length > 0)
    return {
      usage,
      dimensions: host.dimensions,
      breakdowns: [],
      branches: null,
      forecast: null,
      year: null,
      hours: null,
      priceFixes: [],
      firstSteps,
      links,
      failed: page.failed,
    };
  const alone = { ...query, by: null, thenBy: null, compare: "none" } as const;
  const top = { ...query, top: BREAKDOWN_ROWS };
  const [parts, branches, priceFixes] = await Promise.all([
    page.read(
      "breakdowns, estimate, days of the year and hours of the week",
      () =>
        host.readOverview({
          breakdowns: top,
          forecast: { ...alone, metric: "spent" },
          year: { ...alone, period: "12m", bucket: "day" },
          hours: { ...alone, period: "30d", bucket: "hour" },
        }),
      { breakdowns: [], forecast: null, year: null, hours: null },
    ),
    showsBranches(view)
      ? page.read("branches", async () => firstOf(await host.readBreakdowns(top, ["branch"])), UNREAD)
      : null,
    usage.totals.unpriced_requests === 0
      ? []
      : page.read("prices of models", () => host.priceFixes(usage), []),
  ]);
  const { failed } = page;
  return { usage, dimensions: host.dimensions, ...parts, branches, priceFixes, firstSteps, links, failed };
}

/** Returns the only answer of a query by one dimension. */
function firstOf(result: UsageResult<readonly UsageAnswer[]>): UsageResult<UsageAnswer> {
  if (!result.ok) return result;
  const [value] = result.value;
  if (value === undefined) throw new TypeError("a query by one dimension has one answer");
  return { ok: true, value };
}

async function showExplore(host: UsageHost, parameters: URLSearchParams): Promise<UsagePage> {
  const view = await viewOf(host, EXPLORE_VIEW, parameters);
  const { isChart, isCumulative, hasTimes } = exploreForm(view);
  const query = exploreQuery(view);
  const { dimensions } = host;
  const exported = hasTimes
    ? { ...USAGE, csv: (usage: UsageAnswer) => usageTimesCsv(usage, isCumulative) }
    : USAGE;
  return await toPage(host, view, parameters, await host.readUsage(query), exported, (usage) => ({
    heading: "Explore",
    main: renderExplore({ usage, dimensions, links: linksOf(host, query) }, view),
    hasChart: isChart,
    command: reportCommand(query, usage),
    query,
  }));
}

/** Shows the models that were used, or those that were not, with their rates. */
async function showModels(host: UsageHost, parameters: URLSearchParams): Promise<UsagePage> {
  const view = await viewOf(host, MODELS_VIEW, parameters);
  const query: UsageQuery = { ...view.query, by: "model", thenBy: "provider" };
  const { as, ...list } = view.own;
  const { now } = host;
  const result = await host.readUsage(query);
  // The file of the usage itself has no prices.
  const isPriced = fileFormatOf(parameters) === null || !showsAllUsed(view.own) || as !== undefined;
  const book = isPriced ? await host.prices() : null;
  const isCompared = as !== undefined && book !== null && findOtherModel(as, book, now) !== null;
  const shown = isCompared && list.models !== "unused" ? { as } : list;
  const exported = {
    ...USAGE,
    ...(book !== null && modelsFile({ book, now }, view)),
    ...(Object.keys(shown).length > 0 && { address: () => modelsPath(query, shown) }),
  };
  return await toPage(host, view, parameters, result, exported, async (usage) => ({
    heading: "Models and prices",
    main: renderModels(
      { usage, book: book ?? (await host.prices()), now, links: linksOf(host, query) },
      view,
    ),
    hasChart: false,
    command: isCompared ? comparisonCommand(query, usage, as) : "meter pricing list",
    query,
  }));
}

/** Shows what each project and its branches cost. */
async function showProjects(host: UsageHost, parameters: URLSearchParams): Promise<UsagePage> {
  const view = await viewOf(host, PROJECTS_VIEW, parameters);
  const query: UsageQuery = { ...view.query, by: "project", thenBy: "branch" };
  const result = await host.readUsage(query);
  const newest = valueOrNull(
    await host.parts.read<UsageResult<NewestCalls>>(
      "how projects were found",
      () => host.readNewestCalls(query),
      UNREAD,
    ),
  );
  const exported = { ...USAGE, ...projectsFile(newest) };
  return await toPage(host, view, parameters, result, exported, async (usage) => ({
    heading: "Projects and branches",
    main: renderProjects(
      {
        usage,
        origins: await host.parts.read<ReadonlyMap<string, string>>(
          "origins of projects",
          () => host.projectOrigins(),
          new Map(),
        ),
        newest,
        sessions: (rows) => listHref(host, "/sessions", rows),
        links: linksOf(host, query),
        failed: host.parts.failed,
      },
      view,
    ),
    hasChart: false,
    command: reportCommand(query, usage),
    query,
  }));
}

/** The most values of a filter's menu. */
const MENU_VALUES = 100;

/** Shows what could cost less, and what prompt caches saved. */
async function showSavings(host: UsageHost, parameters: URLSearchParams): Promise<UsagePage> {
  const read = await viewOf(host, SAVINGS_VIEW, parameters);
  const unused = UNSUPPORTED_KEYS.filter((key) => parameters.has(key));
  const view = {
    ...read,
    notices: [...read.notices, ...unused.map((key) => `This page has no “${key}”. It is left out.`)],
  };
  const { query } = view;
  return await toPage(host, view, parameters, await host.readSavings(query), SAVINGS, async (savings) => {
    const { from, to } = savings.period;
    const [menus, coverage] = await Promise.all([
      host.parts.read<UsageResult<readonly UsageAnswer[]>>(
        "menus of filters",
        () => host.readBreakdowns({ ...query, compare: "none", top: MENU_VALUES }, ["project", "model"]),
        UNREAD,
      ),
      host.parts.read<PeriodCoverage>(
        "coverage",
        () =>
          host.readCoverage(
            { from: Date.parse(from), to: Date.parse(to) },
            // Only a bucket without requests can be hatched.
            savings.buckets.some(({ requests }) => requests === 0)
              ? savings.buckets.map((each) => ({ from: Date.parse(each.from), to: Date.parse(each.to) }))
              : [],
          ),
        { ...UNREAD_COVERAGE, stoppedMs: null },
      ),
    ]);
    return {
      heading: "Savings",
      main: renderSavings(
        {
          savings,
          menus: valueOrNull(menus) ?? [],
          coverage,
          links: linksOf(host, query),
          failed: host.parts.failed,
        },
        view,
      ),
      hasChart: savings.requests > 0,
      command: "meter savings",
    };
  });
}
