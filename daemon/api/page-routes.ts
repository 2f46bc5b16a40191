import { type Context, Hono } from "hono";
import { explainRequest } from "../explain-request.ts";
import { localPage, PAGE_RANGES } from "../page/local-page.ts";
import { pageScript } from "../page/page-script.ts";
import { pageStyle } from "../page/page-style.ts";
import { missingPage, requestPage } from "../page/request-page.ts";
import { dayOf } from "../store/mod.ts";
import { pagePolicy } from "./answer-headers.ts";
import type { ApiPorts } from "./api-ports.ts";
import { summariseCoverage } from "./coverage-summary.ts";
import { DEFAULT_PERIOD_DAYS } from "./read-period.ts";

/** Requests that the page lists. */
const RECENT = 25;

const DAY_MS = 86_400_000;

/** The local page with its style and script. Who may ask is decided before. */
export function createPageRoutes(ports: ApiPorts): Hono {
  const { store, turn } = ports;
  const routes = new Hono();
  const page = (context: Context) => context.header("content-security-policy", pagePolicy);

  routes.get("/", async (context) => {
    page(context);
    const asked = Number(context.req.query("days"));
    const rangeDays = PAGE_RANGES.find((days) => days === asked) ?? DEFAULT_PERIOD_DAYS;
    // The instant of now belongs to it. Noon is in the day that is meant, whatever the clocks did in between.
    const to = ports.clock.now() + 1;
    const from = dayOf(dayOf(to - 1, "local").from + DAY_MS / 2 - (rangeDays - 1) * DAY_MS, "local").from;
    const statistics = await store.readStatistics({ from, to, days: "local" }, turn);
    const recent = await store.listRequests({ from: null, to: null, beforeSeq: null, limit: RECENT }, turn);
    return context.html(
      localPage({
        status: ports.status(),
        rangeDays,
        from,
        to,
        statistics,
        recent: recent.requests,
        coverage: summariseCoverage(store.readCoverage({ from, to })),
        cloud: (await ports.cloud?.banner()) ?? {
          banner: "NOT-CONFIGURED",
          sentence: "Nothing leaves this machine. To connect: meter cloud connect",
        },
      }),
    );
  });

  routes.get("/requests/:id", async (context) => {
    page(context);
    const request = await store.readRequest(context.req.param("id"));
    if (request === null) return context.html(missingPage(), 404);
    return context.html(requestPage(explainRequest(request, ports.prices())));
  });

  routes.get("/page.css", (context) =>
    context.body(pageStyle, 200, { "content-type": "text/css; charset=utf-8" }),
  );
  routes.get("/page.js", (context) =>
    context.body(pageScript, 200, { "content-type": "text/javascript; charset=utf-8" }),
  );
  return routes;
}
