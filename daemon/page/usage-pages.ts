import type { Context } from "hono";
import { formatOrigins, originsOfNamesakes } from "../../core/metering/attribution/list-origins.ts";
import { distinctFixes } from "../../core/pricing/price-fix.ts";
import type { UsageDimension } from "../../core/wire/usage.ts";
import type { UsageHost, UsageResult } from "../../pages/usage-host.ts";
import type { ShowUsagePage } from "../../pages/usage-pages.ts";
import { adviceOf } from "../../pages/views/request.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import {
  LOCAL_DIMENSIONS,
  readCoverage,
  readNewestCalls,
  readSavingsAnswer,
  readStoppedMs,
  readUsageAnswer,
  readUsageBreakdowns,
  readUsageForecast,
  readUsageSeries,
} from "../api/read-usage.ts";
import { readUnpricedModels } from "../api/unpriced-models.ts";
import { listFirstSteps } from "./read-now.ts";
import { parametersOf, partsOf, placeOf, sendFile, showPage, toolsOf } from "./show-page.ts";

/** How many fixes of missing prices the overview shows at most. */
const MAX_PRICE_FIXES = 3;

/** The dimensions of the overview's breakdowns. */
const BREAKDOWNS: readonly UsageDimension[] = ["project", "model", "client", "provider"];

const valueOr = <Value>(none: Value, result: UsageResult<Value>): Value => (result.ok ? result.value : none);

/** Answers with a page about usage. */
export async function showUsagePage(ports: ApiPorts, context: Context, show: ShowUsagePage) {
  const shown = await show(createUsageHost(ports, context), parametersOf(context));
  if (shown.kind === "page") return showPage(ports, context, shown.page, shown.status);
  return sendFile(context, shown);
}

/** Creates what pages about usage need, for one request of a page. */
export function createUsageHost(ports: ApiPorts, context: Context): UsageHost {
  const { store } = ports;
  const parts = partsOf(ports, context);
  const place = placeOf(ports);
  const usagePorts = { ...ports, zone: place.zone };
  return {
    ...place,
    parts,
    dimensions: LOCAL_DIMENSIONS,
    readUsage: (query) => readUsageAnswer(usagePorts, query),
    readBreakdowns: (query, dimensions) => readUsageBreakdowns(usagePorts, query, dimensions),
    readOverview: async ({ breakdowns, forecast, year, hours }) => ({
      breakdowns: await parts.read(
        "breakdowns",
        async () => valueOr([], await readUsageBreakdowns(usagePorts, breakdowns, BREAKDOWNS)),
        [],
      ),
      forecast: await parts.read(
        "estimate of this month",
        async () => valueOr(null, await readUsageForecast(usagePorts, forecast)),
        null,
      ),
      year: await parts.read(
        "days of the year",
        async () => valueOr(null, await readUsageSeries(usagePorts, year)),
        null,
      ),
      hours: await parts.read(
        "hours of the week",
        async () => valueOr(null, await readUsageSeries(usagePorts, hours)),
        null,
      ),
    }),
    readSavings: (query) => readSavingsAnswer(usagePorts, query),
    readCoverage: async (span, buckets) => ({
      ...readCoverage(ports, span),
      stoppedMs: readStoppedMs(ports, span, buckets),
    }),
    readNewestCalls: (query) => readNewestCalls(usagePorts, query),
    nameFilters: async () => () => null,
    firstSteps: async () => (store.records.latestId() === null ? listFirstSteps(ports) : []),
    priceFixes: async ({ period }) => {
      const [from, to] = [Date.parse(period.from), Date.parse(period.to)];
      const models = await readUnpricedModels(ports, from, to, MAX_PRICE_FIXES);
      return distinctFixes(models.map(({ fix }) => fix)).map(adviceOf);
    },
    prices: async () => ports.prices(),
    projectOrigins: () => {
      const assignments = store.origins.list();
      const namesakes = originsOfNamesakes({ assignments, merges: store.origins.listMerges() });
      return new Map([...namesakes].map(([name, places]) => [name, formatOrigins(places, null)]));
    },
    renderTools: (path, tools) => toolsOf(context, `/v1${path}`, tools),
  };
}
