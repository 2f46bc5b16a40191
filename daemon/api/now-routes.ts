import { type Context, Hono } from "hono";
import { initialBudgetsState } from "../../core/budgets/budget-state.ts";
import { type CostPart, splitJson } from "../../core/pricing/cost-split.ts";
import { HOUR_MS, MINUTE_MS, type Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import { budgetViews, type NearBudget, nearBudgets } from "../budgets/budget-views.ts";
import { type LimitView, longWindowsOf, readLimitViews } from "../limits/limit-views.ts";
import { dayOf } from "../store/days.ts";
import type { ReportRow } from "../store/port/reports.ts";
import type { SessionSummary } from "../store/port/sessions.ts";
import type { ApiPorts } from "./api-ports.ts";

/** Sums of calls. Costs are exact decimal strings in pico-USD, by who pays. */
export interface NowSums extends Record<CostPart["member"], string> {
  readonly requests: number;
  /** How much of the input came from caches. Null without input. */
  readonly cache_percent: number | null;
}

/** A session of the last 24 hours. */
export interface NowSession extends NowSums {
  readonly session_id: string;
  readonly project: string;
  readonly client: string | null;
  readonly ended_at: string;
}

/** A call whose response has not ended. */
export interface NowCall {
  readonly provider: string;
  readonly model: string | null;
  readonly client: string | null;
  readonly running_ms: number;
}

/** The response at `/v1/now`: what a status line shows, and with `detail=1` what `meter top` shows. */
export interface NowResponse {
  readonly today: NowSums;
  readonly last_hour: NowSums;
  /** The session that `session` names. Null if it has no calls. */
  readonly session: NowSums | null;
  /** The windows of an hour or more. */
  readonly limits: readonly LimitView[];
  /** The budgets that reached a threshold, or stop calls. Absent from older daemons. */
  readonly budgets?: readonly NearBudget[];
  readonly calls_in_flight: number;
  readonly detail: {
    /** The longest running first. */
    readonly calls: readonly NowCall[];
    /** Requests and costs of each of the last 60 minutes, the current one last. */
    readonly minutes: readonly { readonly requests: number; readonly cost_pico_usd: string }[];
    readonly sessions: readonly NowSession[];
  } | null;
}

const MINUTES = 60;

/**
 * The most requests of the last hour that are summed by minute, the most sessions and the most calls that are listed.
 */
const MAX_RECENT = 5_000;
const MAX_SESSIONS = 20;
const MAX_CALLS = 50;

/** The longest session id that is looked up. */
const MAX_SESSION_ID = 256;

/** Creates the route that states what is happening. Access is checked before. */
export function createNowRoutes(ports: ApiPorts): Hono {
  const routes = new Hono();
  routes.get("/", async (context: Context) => {
    const { session, detail } = context.req.query();
    return context.json(await readNow(ports, session ?? null, detail === "1"));
  });
  return routes;
}

async function readNow(ports: ApiPorts, sessionId: string | null, withDetail: boolean): Promise<NowResponse> {
  const { store, clock } = ports;
  const now = clock.now();
  const sumSince = async (from: Millis) =>
    toSums((await store.reports.read({ by: "total", from, to: now + 1 }))[0]);
  const isId = sessionId !== null && sessionId !== "" && sessionId.length <= MAX_SESSION_ID;
  const session = isId ? store.sessions.summarise(sessionId) : null;
  ports.limits?.flush();
  const calls = ports.callsInFlight?.() ?? [];
  return {
    today: await sumSince(dayOf(now, "local").from),
    last_hour: await sumSince(now - HOUR_MS),
    session: session === null ? null : toSums(session.usage),
    limits: readLimitViews(longWindowsOf(store.limits), now),
    budgets: nearBudgets(
      budgetViews(ports.budgets?.tracker.state() ?? initialBudgetsState, now, {
        session: isId ? sessionId : null,
      }),
    ),
    calls_in_flight: calls.length,
    detail: withDetail
      ? {
          calls: await Promise.all(calls.slice(0, MAX_CALLS).map(toNowCall)),
          minutes: await readMinutes(ports, now),
          sessions: await readSessions(ports, now),
        }
      : null,
  };
}

async function readSessions({ store, turn }: ApiPorts, now: Millis): Promise<readonly NowSession[]> {
  const query = { from: now - 24 * HOUR_MS, to: null, limit: MAX_SESSIONS };
  return (await store.sessions.list(query, turn)).sessions.map(toNowSession);
}

const NO_SPLIT = { spentPicoUsd: 0n, planUsagePicoUsd: 0n, unknownBillingPicoUsd: 0n };

function toSums(row: Pick<ReportRow, "requests" | "split" | "tokens"> | undefined): NowSums {
  if (row === undefined) return { ...splitJson(NO_SPLIT), requests: 0, cache_percent: null };
  const { prompt, cacheRead, cacheWrite } = row.tokens;
  const input = Number((prompt ?? 0n) + (cacheRead ?? 0n) + (cacheWrite ?? 0n));
  const cache_percent = input === 0 ? null : Math.floor((Number(cacheRead ?? 0n) * 100) / input);
  return { ...splitJson(row.split), requests: row.requests, cache_percent };
}

const toNowSession = (session: SessionSummary): NowSession => ({
  session_id: session.sessionId,
  project: session.project,
  client: session.client,
  ended_at: formatInstant(session.endedAt),
  ...toSums(session.usage),
});

async function toNowCall(
  call: NonNullable<ReturnType<NonNullable<ApiPorts["callsInFlight"]>>>[number],
): Promise<NowCall> {
  const { provider, model, runningMs, program } = call;
  return { provider, model, client: (await program())?.name ?? null, running_ms: runningMs };
}

/** Sums the requests of the last hour by the minute in which they began. */
async function readMinutes({ store, turn }: ApiPorts, now: Millis) {
  const first = Math.floor(now / MINUTE_MS) - (MINUTES - 1);
  const minutes = Array.from({ length: MINUTES }, () => ({ requests: 0, cost: 0n }));
  const page = await store.records.list(
    { from: first * MINUTE_MS, to: null, beforeSeq: null, limit: MAX_RECENT },
    turn,
  );
  for (const { requestedAt, costPicoUsd } of page.requests) {
    const minute = minutes[Math.floor(requestedAt / MINUTE_MS) - first];
    if (minute === undefined) continue;
    minute.requests += 1;
    minute.cost += costPicoUsd ?? 0n;
  }
  return minutes.map(({ requests, cost }) => ({ requests, cost_pico_usd: cost.toString() }));
}
