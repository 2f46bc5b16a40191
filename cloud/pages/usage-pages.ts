import { findPublication } from "../../core/pricing/price-fix.ts";
import type { UsageQuery } from "../../core/pricing/view/usage-query.ts";
import { isUuid } from "../../core/values/uuid.ts";
import { USAGE_DIMENSIONS, type UsageDimension } from "../../core/wire/usage.ts";
import type { NameOfValue } from "../../pages/filters.ts";
import type { UsageHost } from "../../pages/usage-host.ts";
import type { ShowUsagePage } from "../../pages/usage-pages.ts";
import { readNames } from "../routes/reads/read-names.ts";
import {
  readNewestCallsOf,
  readOverviewParts,
  readPeriodCoverage,
  readSavingsAnswer,
  readUsageAnswer,
  readUsageBreakdowns,
} from "../routes/reads/read-usage.ts";
import { hasRequests } from "../store/reads/traces.ts";
import { readUnpricedModels } from "../store/reads/unpriced-models.ts";
import { readMachineNames } from "../store/reads/usage-reports.ts";
import { isCloudDimension } from "../store/reads/usage-sources.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { sendFile, toolsOf } from "./page-tools.ts";

/** The dimensions of a cloud's usage. */
export const CLOUD_DIMENSIONS: readonly UsageDimension[] = USAGE_DIMENSIONS.filter(isCloudDimension);

/** The dimensions of the overview's breakdowns. The rollups have them. */
const BREAKDOWNS: readonly UsageDimension[] = ["project", "model", "person", "machine"];

/** Answers with a page about usage. */
export async function showUsagePage(call: PageCall, show: ShowUsagePage): Promise<PageAnswer> {
  const shown = await show(createUsageHost(call), call.parameters);
  return shown.kind === "page" ? { ...shown.page, status: shown.status } : sendFile(call, shown);
}

/** Creates what pages about usage need, for one request of a page. */
export function createUsageHost(call: PageCall): UsageHost {
  const { env, workspace, place } = call;
  const { parts } = env;
  // The API answers in UTC unless it is asked for a zone.
  const inZone = (query: UsageQuery): UsageQuery => ({ ...query, tz: query.tz ?? place.zone });
  return {
    ...place,
    parts: call.reader,
    dimensions: CLOUD_DIMENSIONS,
    // Pages show how much was missed; an export also says what.
    readUsage: (query) =>
      readUsageAnswer(parts, workspace, inZone(query), call.parameters.has("format") ? "whole" : "sums"),
    readBreakdowns: (query, dimensions) => readUsageBreakdowns(parts, workspace, inZone(query), dimensions),
    readOverview: (queries) =>
      readOverviewParts(
        parts,
        workspace,
        {
          breakdowns: inZone(queries.breakdowns),
          forecast: inZone(queries.forecast),
          year: inZone(queries.year),
          hours: inZone(queries.hours),
        },
        BREAKDOWNS,
      ),
    readSavings: (query) => readSavingsAnswer(parts, workspace, inZone(query)),
    readCoverage: (span, buckets) => readPeriodCoverage(parts, workspace.workspaceId, span, buckets),
    readNewestCalls: (query) => readNewestCallsOf(parts, workspace, inZone(query)),
    nameFilters: (filters) => readNamesOfFilters(call, filters),
    firstSteps: async () =>
      (await hasRequests(parts.db, workspace.workspaceId)) ? [] : listFirstSteps(parts.config.baseUrl),
    async priceFixes({ period }) {
      const span = { from: Date.parse(period.from), to: Date.parse(period.to) };
      const { book } = await parts.rates.current();
      const models = await readUnpricedModels(parts.db, workspace.workspaceId, span, book);
      if (models.length === 0) return [];
      const { text, json, command } = findPublication(models, place.now);
      return [{ text, lines: [...json, "", command] }];
    },
    prices: async () => (await parts.rates.current()).book,
    // A cloud does not receive the folders of projects.
    projectOrigins: () => new Map(),
    renderTools: (path, tools) => toolsOf(call, withZone(path, place.zone), tools),
  };
}

/** Reads the names of the people and machines that filters name. */
async function readNamesOfFilters(
  { env: { parts }, workspace }: PageCall,
  filters: UsageQuery["filters"],
): Promise<NameOfValue> {
  const idsOf = (name: UsageDimension) =>
    filters.filter(({ dimension }) => dimension === name).flatMap(({ values }) => values);
  const names: Partial<Record<string, ReadonlyMap<string, string>>> = {
    machine: await readMachineNames(parts.db, workspace.workspaceId, idsOf("machine").filter(isUuid)),
    person: await readNames(parts.accounts, idsOf("person")),
  };
  return (dimension, value) => names[dimension]?.get(value) ?? null;
}

/** Returns the path of the API that gives a page's figures: with the page's zone unless it has one. */
function withZone(path: string, zone: string): string {
  const [name = "", query = ""] = path.split("?");
  const hasZone = new URLSearchParams(query).has("tz");
  if (hasZone || zone === "UTC") return path;
  return `${name}?${[query, `tz=${encodeURIComponent(zone)}`].filter((each) => each !== "").join("&")}`;
}

/** The steps to a workspace's first request. */
const listFirstSteps = (baseUrl: string) => [
  { text: "The workspace exists.", isDone: true },
  {
    text: "Connect a machine on which the meter runs, and approve it here with the code that it shows.",
    isDone: false,
    command: `meter cloud connect --base-url ${baseUrl}`,
  },
  { text: "Its first requests appear here within a minute.", isDone: false },
];
