import { summariseCoverage } from "../../core/metering/coverage/coverage-summary.ts";
import { addToSplit, NO_COST } from "../../core/pricing/cost-split.ts";
import { effectiveBilling } from "../../core/values/billing.ts";
import { MINUTE_MS, type Millis } from "../../core/values/time.ts";
import type { FirstStep } from "../../pages/states.ts";
import type { NowAnswer, NowTotal } from "../../pages/views/now.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import { longWindowsOf, readLimitViews } from "../limits/limit-views.ts";
import { dayOf } from "../store/days.ts";

const MINUTES = 60;

/**
 * The most requests of the last hour that are summed by minute, the most that are listed, and the most calls in flight.
 */
const MAX_RECENT = 5_000;
const LATEST = 12;
const MAX_CALLS = 20;

/** Reads what is happening now. */
export async function readNow(ports: ApiPorts): Promise<NowAnswer> {
  const { store, clock, turn } = ports;
  const now = clock.now();
  const today = dayOf(now, "local").from;
  ports.limits?.flush();
  const running = ports.callsInFlight?.() ?? [];
  const latest = await store.records.list({ from: null, to: null, beforeSeq: null, limit: LATEST }, turn);
  return {
    today: await readTotal(ports, today, now),
    lastHour: await readTotal(ports, now - MINUTES * MINUTE_MS, now),
    coverage: {
      ...summariseCoverage(store.coverage.read({ from: today, to: now + 1 })),
      unknown_machines: 0,
    },
    calls: await Promise.all(
      running.slice(0, MAX_CALLS).map(async ({ provider, model, runningMs, program }) => ({
        provider,
        model,
        runningMs,
        client: (await program())?.name ?? null,
      })),
    ),
    limits: readLimitViews(longWindowsOf(store.limits), now),
    minutes: await readMinutes(ports, now),
    latest: latest.requests,
    firstSteps: latest.requests.length > 0 ? [] : listFirstSteps(ports),
  };
}

async function readTotal({ store }: ApiPorts, from: Millis, now: Millis): Promise<NowTotal> {
  const [row] = await store.reports.read({ by: "total", from, to: now + 1 });
  return { requests: row?.requests ?? 0, split: row?.split ?? NO_COST };
}

/** Sums the requests of the last hour by the minute in which they began. */
async function readMinutes({ store, turn }: ApiPorts, now: Millis): Promise<NowAnswer["minutes"]> {
  const first = Math.floor(now / MINUTE_MS) - (MINUTES - 1);
  const splits = Array.from({ length: MINUTES }, () => NO_COST);
  const page = await store.records.list(
    { from: first * MINUTE_MS, to: null, beforeSeq: null, limit: MAX_RECENT },
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
export function listFirstSteps({ status }: Pick<ApiPorts, "status">): readonly FirstStep[] {
  const { proxy } = status();
  return [
    { text: "The daemon runs.", isDone: true },
    {
      text: `Run a program through the meter, or set HTTPS_PROXY=http://127.0.0.1:${proxy.port} for it. To meter every new shell: meter init`,
      isDone: proxy.counters.accepted > 0,
      command: "meter run -- claude",
    },
    { text: "Its first call to a language model appears here when it ends.", isDone: false },
  ];
}
