import { html } from "hono/html";
import { addToSplit, NO_COST } from "../../core/pricing/cost-split.ts";
import { DEFAULT_USAGE_QUERY, type UsageQuery } from "../../core/pricing/view/usage-query.ts";
import { parseSums } from "../../core/pricing/view/usage-sums.ts";
import { effectiveBilling } from "../../core/values/billing.ts";
import { MINUTE_MS, type Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { UsageAnswer } from "../../core/wire/usage.ts";
import type { CoverageFigure } from "../../pages/coverage-figure.ts";
import { type PartReader, UNREAD, UNREAD_COVERAGE } from "../../pages/page-parts.ts";
import type { FirstStep } from "../../pages/states.ts";
import type { UsageResult } from "../../pages/usage-host.ts";
import type { UsageView } from "../../pages/usage-view.ts";
import type { NowAnswer, NowTotal } from "../../pages/views/now.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import { readCoverage, readUsageAnswer, readUsageBreakdowns } from "../api/read-usage.ts";
import { longWindowsOf, readLimitViews } from "../limits/limit-views.ts";
import { dayOf } from "../store/days.ts";

const MINUTES = 60;

/**
 * The most requests of the last hour that are summed by minute, the most that are listed, and the most calls in flight.
 */
const MAX_RECENT = 5_000;
const LATEST = 12;
const MAX_CALLS = 20;

/** The dimensions that have a menu of their values of today, and the most values of a menu. */
const MENUS = ["project", "model", "client"] as const;
const MENU_VALUES = 100;

type Filters = UsageQuery["filters"];

/** Reads what is happening now. */
export async function readNow(ports: ApiPorts, view: UsageView, parts: PartReader): Promise<NowAnswer> {
  const { store, clock, turn } = ports;
  const now = clock.now();
  const today = dayOf(now, "local").from;
  const { filters } = view.query;
  ports.limits?.flush();
  const running = ports.callsInFlight?.() ?? [];
  const latest = await store.records.list(
    { from: null, to: null, beforeSeq: null, limit: LATEST, filters },
    turn,
  );
  const menus = await parts.read<UsageResult<readonly UsageAnswer[]>>(
    "menus of filters",
    () => readUsageBreakdowns(ports, { ...view.query, filters: [], top: MENU_VALUES }, MENUS),
    UNREAD,
  );
  return {
    view,
    menus: menus.ok ? menus.value : [],
    today: await readTotal(ports, today, filters),
    lastHour: await readTotal(ports, now - MINUTES * MINUTE_MS, filters),
    coverage: await parts.read<CoverageFigure>(
      "coverage",
      () => readCoverage(ports, { from: today, to: now + 1 }),
      UNREAD_COVERAGE,
    ),
    calls: await Promise.all(
      running.slice(0, MAX_CALLS).map(async ({ provider, model, runningMs, program }) => ({
        provider,
        model,
        runningMs,
        client: (await program())?.name ?? null,
      })),
    ),
    limits: await parts.read<NowAnswer["limits"]>(
      "limits",
      () => readLimitViews(longWindowsOf(store.limits), now),
      null,
    ),
    minutes: await readMinutes(ports, now, filters),
    latest: latest.requests,
    firstSteps: store.records.latestId() === null ? listFirstSteps(ports) : [],
    failed: parts.failed,
  };
}

/** Sums the requests since an instant. */
async function readTotal(ports: ApiPorts, from: Millis, filters: Filters): Promise<NowTotal> {
  const period = { from: formatInstant(from), to: null };
  const query = { ...DEFAULT_USAGE_QUERY, period, compare: "none", bucket: "none", filters } as const;
  const usage = await readUsageAnswer(ports, query);
  if (!usage.ok) throw new TypeError(`now has no usage: ${usage.detail}`);
  const { requests, spentPicoUsd, planUsagePicoUsd, unknownBillingPicoUsd } = parseSums(usage.value.totals);
  return { requests, split: { spentPicoUsd, planUsagePicoUsd, unknownBillingPicoUsd } };
}

/** Sums the requests of the last hour by the minute in which they began. */
async function readMinutes(
  { store, turn }: ApiPorts,
  now: Millis,
  filters: Filters,
): Promise<NowAnswer["minutes"]> {
  const first = Math.floor(now / MINUTE_MS) - (MINUTES - 1);
  const splits = Array.from({ length: MINUTES }, () => NO_COST);
  const page = await store.records.list(
    { from: first * MINUTE_MS, to: null, beforeSeq: null, limit: MAX_RECENT, filters },
    turn,
  );
  for (const request of page.requests) {
    const minute = Math.floor(request.requestedAt / MINUTE_MS) - first;
    const split = splits[minute];
    if (split !== undefined)
      splits[minute] = addToSplit(split, effectiveBilling(request), request.costPicoUsd ?? 0n);
  }
  return splits.map((split, index) => ({ at: (first + index) * MINUTE_MS, split }));
}

/** The steps to the first metered call. */
export function listFirstSteps({ state }: Pick<ApiPorts, "state">): readonly FirstStep[] {
  const { proxy } = state();
  return [
    { text: "The daemon runs.", isDone: true },
    {
      text: html`Run a program through the meter, or set <code>HTTPS_PROXY=http://127.0.0.1:${proxy.port}</code> for it. To meter every new shell: <code>meter init</code>`,
      isDone: proxy.counters.accepted > 0,
      command: "meter run -- claude",
    },
    { text: "Its first call to a language model appears here when it ends.", isDone: false },
  ];
}
