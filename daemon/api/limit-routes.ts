import { type Context, Hono } from "hono";
import { toPercent } from "../../core/metering/limits/limit-view.ts";
import { DAY_MS } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import { readLimitViews } from "../limits/limit-views.ts";
import { type DividedWindow, readShares, SHARE_GROUPS, type ShareGroup } from "../limits/read-shares.ts";
import type { ApiPorts } from "./api-ports.ts";
import { problem } from "./problem.ts";

/** How many days of history a response has at most. */
const MAX_HISTORY_DAYS = 90;

/** Creates the routes below `/v1/limits`. Access is checked before. */
export function createLimitRoutes(ports: ApiPorts): Hono {
  const routes = new Hono();
  routes.get("/", (context) => {
    ports.limits?.flush();
    return context.json({ limits: readLimitViews(ports.store.limits, ports.clock.now()) });
  });
  routes.get("/:id", (context) => getLimit(ports, context, context.req.param("id")));
  return routes;
}

/** Returns the history of a window and, with `by`, its shares by project, session or agent. */
async function getLimit(ports: ApiPorts, context: Context, id: string): Promise<Response> {
  const { store, clock, turn } = ports;
  const { by, days = "7" } = context.req.query();
  const group = SHARE_GROUPS.find((each) => each === by);
  if (by !== undefined && group === undefined)
    return problem(context, 400, "invalid_query", "invalid query parameter: by");
  if (!/^[1-9]\d?$/.test(days) || Number(days) > MAX_HISTORY_DAYS)
    return problem(context, 400, "invalid_query", "invalid query parameter: days");
  ports.limits?.flush();
  const limit = store.limits.list().find((each) => `${each.id}` === id);
  if (limit === undefined) return problem(context, 404, "not_found", "There is no limit with this ID.");
  const now = clock.now();
  const history = store.limits.history(limit.id, now - Number(days) * DAY_MS);
  return context.json({
    limit: readLimitViews({ ...store.limits, list: () => [limit] }, now)[0] ?? null,
    history: history.map(({ seenAt, usedPpm, resetAt }) => ({
      seen_at: formatInstant(seenAt),
      used_percent: toPercent(usedPpm),
      resets_at: resetAt === null ? null : formatInstant(resetAt),
    })),
    shares: group === undefined ? null : sharesJson(group, await readShares(store, limit, group, turn)),
  });
}

/** Converts the shares of a window to JSON. A call without a session or an agent has `null`. */
export const sharesJson = (by: ShareGroup, divided: DividedWindow) => ({
  by,
  items: divided.shares.map(({ key, usedPpm }) => ({
    key: key === "" ? null : key,
    used_percent: toPercent(usedPpm),
  })),
  elsewhere_percent: toPercent(divided.elsewherePpm),
  earlier_percent: toPercent(divided.earlierPpm),
  is_partial: divided.isPartial,
});
