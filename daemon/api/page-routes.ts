import { type Context, Hono } from "hono";
import { originsOfNamesakes } from "../../core/metering/attribution/list-origins.ts";
import { coverageGapKinds } from "../../core/metering/coverage/coverage-advice.ts";
import { summariseCoverage } from "../../core/metering/coverage/coverage-summary.ts";
import { distinctFixes } from "../../core/pricing/price-fix.ts";
import { longWindowsOf, readLimitViews } from "../limits/limit-views.ts";
import { type LocalPageData, PAGE_RANGES, renderLocalPage } from "../page/local-page.ts";
import { createLocalPages } from "../page/local-pages.ts";
import { pageScript } from "../page/page-script.ts";
import { pageStyle } from "../page/page-style.ts";
import { dayOf } from "../store/days.ts";
import type { ApiPorts } from "./api-ports.ts";
import { DEFAULT_PERIOD_DAYS } from "./read-period.ts";
import { pageContentSecurityPolicy } from "./response-headers.ts";
import { readUnpricedModels } from "./unpriced-models.ts";

/** How many requests the page lists. */
const RECENT = 25;

/** How many fixes of missing prices the page shows at most. */
const MAX_PRICE_FIXES = 3;

/** Where the certificate is if the daemon was not told. */
const DEFAULT_AUTHORITY_FILE = "<meter_home>/ca/ca.pem";

const DAY_MS = 86_400_000;

/** Creates the routes of the local page, its stylesheet and its script. Access is checked before. */
export function createPageRoutes(ports: ApiPorts): Hono {
  const routes = new Hono();
  const page = (context: Context) => context.header("content-security-policy", pageContentSecurityPolicy);

  routes.get("/", async (context) => {
    page(context);
    const rangeDays = Number(context.req.query("days"));
    return context.html(renderLocalPage(await readLocalPage(ports, rangeDays)));
  });

  routes.route("/", createLocalPages(ports));

  routes.get("/page.css", (context) =>
    context.body(pageStyle, 200, { "content-type": "text/css; charset=utf-8" }),
  );
  routes.get("/page.js", (context) =>
    context.body(pageScript, 200, { "content-type": "text/javascript; charset=utf-8" }),
  );
  return routes;
}

/** Reads the origins of projects whose names do not tell them apart. */
const readNamesakes = ({ origins }: ApiPorts["store"]) =>
  originsOfNamesakes({ assignments: origins.list(), merges: origins.listMerges() });

/** Reads what the local page shows. A range that the page does not offer becomes the default. */
async function readLocalPage(ports: ApiPorts, requestedDays: number): Promise<LocalPageData> {
  const { store, turn } = ports;
  ports.limits?.flush();
  const rangeDays = PAGE_RANGES.find((days) => days === requestedDays) ?? DEFAULT_PERIOD_DAYS;
  // The period includes the current millisecond. Noon is on the intended day even if the clocks changed in between.
  const to = ports.clock.now() + 1;
  const from = dayOf(dayOf(to - 1, "local").from + DAY_MS / 2 - (rangeDays - 1) * DAY_MS, "local").from;
  const status = ports.status();
  const statistics = await store.reports.readStatistics({ from, to, days: "local" }, turn);
  const unpriced = await readUnpricedModels(ports, from, to, MAX_PRICE_FIXES);
  const recent = await store.records.list({ from: null, to: null, beforeSeq: null, limit: RECENT }, turn);
  return {
    status,
    rangeDays,
    from,
    to,
    statistics,
    fromLogs: await store.reports.readFromLogs({ from, to }),
    recent: recent.requests,
    priceFixes: distinctFixes(unpriced.map(({ fix }) => fix)),
    limits: readLimitViews(longWindowsOf(store.limits), ports.clock.now()),
    coverage: summariseCoverage(store.coverage.read({ from, to })),
    origins: readNamesakes(store),
    isKnownHost: ports.isKnownHost ?? (() => false),
    gaps: {
      gaps: store.coverage.readGaps(coverageGapKinds, { from, to }),
      programs: status.proxy.distrusting_programs ?? [],
      authorityFile: ports.authorityFile ?? DEFAULT_AUTHORITY_FILE,
    },
    cloud: (await ports.cloud?.banner()) ?? {
      banner: "NOT-CONFIGURED",
      sentence: "Nothing leaves this machine. To connect: meter cloud connect",
    },
  };
}
