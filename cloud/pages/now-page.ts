import { isLongWindow } from "../../core/metering/limits/limit-events.ts";
import type { CostSplit } from "../../core/pricing/cost-split.ts";
import { DEFAULT_USAGE_QUERY, printUsageQuery } from "../../core/pricing/view/usage-query.ts";
import { retentionFloor } from "../../core/privacy/retention/windows.ts";
import { parseInstant } from "../../core/wire/instant.ts";
import type { WorkspaceNow } from "../../core/wire/now.ts";
import type { UsageAnswer } from "../../core/wire/usage.ts";
import { formatShortUsd } from "../../pages/formats.ts";
import type { Html } from "../../pages/html.ts";
import { nowCsv, nowJson } from "../../pages/now-file.ts";
import { createPageFile, fileFormatOf } from "../../pages/page-file.ts";
import { renderUnread, UNREAD } from "../../pages/page-parts.ts";
import type { UsageResult } from "../../pages/usage-host.ts";
import { usageFiles } from "../../pages/usage-pages.ts";
import { usageHref } from "../../pages/usage-view.ts";
import type { LimitWindow } from "../../pages/views/limits.ts";
import { readNowView, renderNow } from "../../pages/views/now.ts";
import { readWorkspaceNow } from "../routes/reads/now.ts";
import { reachOf } from "../routes/reads/read-period.ts";
import { listTraces } from "../store/reads/traces.ts";
import { renderBudgetsNow } from "./budgets-page.ts";
import { readWindows } from "./limits-page.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { sendFile, toolsOf } from "./page-tools.ts";
import { readSenders } from "./requests-page.ts";
import { toShownRequest } from "./shown-request.ts";
import { CLOUD_DIMENSIONS, createUsageHost } from "./usage-pages.ts";

const PATH = "/now";

/** The most requests that are listed, and the most limits. */
const LATEST = 12;
const MAX_LIMITS = 8;

/** The dimensions that have a menu of their values of today, and the most values of a menu. */
const MENUS = ["project", "model", "person", "machine"] as const;
const MENU_VALUES = 100;

/** How often the browser asks for changes, in milliseconds. */
const REFRESH_MS = 15_000;

/**
 * `GET /w/{ws}/now`: today's spend, the last hour, the limits and the latest requests. Calls in flight are known only to their
 * machines.
 */
export async function showNow(call: PageCall): Promise<PageAnswer> {
  const { env, workspace, place } = call;
  const { parts } = env;
  const read = readNowView(CLOUD_DIMENSIONS, call.parameters, place.base);
  const { filters } = read.query;
  const query = printUsageQuery({ ...DEFAULT_USAGE_QUERY, filters });
  const from = retentionFloor("traces", reachOf(workspace, place.now));
  const bounds = {
    from,
    to: place.now + 1,
    after: null,
    limit: LATEST,
    query: { filters, text: null, sort: "time" },
  } as const;
  const host = createUsageHost(call);
  const [now, windows, latest, menus, nameOf, budgets] = await Promise.all([
    readWorkspaceNow(parts, workspace, filters),
    call.reader.read<readonly LimitWindow[] | null>("limits", () => readWindows(call, isLongWindow), null),
    listTraces(parts.db, workspace.workspaceId, bounds),
    call.reader.read<UsageResult<readonly UsageAnswer[]>>(
      "menus of filters",
      () => host.readBreakdowns({ ...read.query, filters: [], top: MENU_VALUES }, MENUS),
      UNREAD,
    ),
    call.reader.read(
      "names of filters",
      () => host.nameFilters(filters),
      () => null,
    ),
    call.reader.read<Html | "">("budgets", () => renderBudgetsNow(call), renderUnread("budgets")),
  ]);
  const view = { ...read, nameOf };
  const limits =
    windows
      ?.toSorted((one, other) => (other.used_percent ?? 0) - (one.used_percent ?? 0))
      .slice(0, MAX_LIMITS) ?? null;
  const answer = {
    view,
    menus: menus.ok ? menus.value : [],
    today: toTotal(now.today),
    lastHour: toTotal(now.last_hour),
    coverage: now.coverage,
    calls: null,
    limits,
    minutes: now.minutes.map(({ at, ...sums }) => ({ at: parseInstant(at) ?? 0, split: toSplit(sums) })),
    latest: latest.rows.map(toShownRequest),
    senders: await readSenders(call, latest.rows),
    firstSteps:
      latest.rows.length > 0 ? [] : await call.reader.read("first steps", () => host.firstSteps(), []),
    failed: call.reader.failed,
  };
  const format = fileFormatOf(call.parameters);
  if (format !== null) {
    const file = { csv: () => nowCsv(answer), json: () => nowJson(answer, now.tz) };
    return sendFile(call, createPageFile("now", format, file));
  }
  return {
    heading: "Now",
    title: `${formatShortUsd(answer.today.split.spentPicoUsd)} today`,
    path: PATH,
    address: usageHref(view),
    main: renderNow(answer, place, budgets),
    tools: toolsOf(call, query === "" ? PATH : `${PATH}?${query}`, { ...usageFiles(view), hasChart: true }),
    refreshMs: REFRESH_MS,
  };
}

const toSplit = (sums: Omit<WorkspaceNow["today"], "requests">): CostSplit => ({
  spentPicoUsd: BigInt(sums.spent_pico_usd),
  planUsagePicoUsd: BigInt(sums.plan_usage_pico_usd),
  unknownBillingPicoUsd: BigInt(sums.unknown_billing_pico_usd),
});

const toTotal = ({ requests, ...sums }: WorkspaceNow["today"]) => ({ requests, split: toSplit(sums) });
