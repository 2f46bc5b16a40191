import { type LogEffect, runTable, type SetTimerEffect, type Step, type Table } from "../machine.ts";
import type { Millis } from "../time.ts";

/** Time between two probes of the proxy port, milliseconds. Source: contract, "Limits": watchdog, 1.5 s. */
export const PROBE_INTERVAL_MS = 1_500;

/** Consecutive failed probes that are logged as an error. Source: contract, "Limits": watchdog, 3. */
export const PROBE_FAILURES_TO_LOG = 3;

/** Consecutive failed probes that restart the proxy. Source: contract, "Limits": watchdog, 5. */
export const PROBE_FAILURES_TO_RESTART = 5;

/** Most restarts within an hour. Source: contract, "Limits": watchdog, 3 per hour. */
export const PROXY_RESTARTS_PER_HOUR = 3;

const HOUR_MS = 3_600_000;

/** How the proxy port answers. `exhausted`: it needs a restart, and this hour's are used up. */
export type WatchdogStatus = "healthy" | "failing" | "unhealthy" | "exhausted";

/** What the watchdog remembers. Plain JSON. */
export interface WatchdogState {
  readonly status: WatchdogStatus;
  readonly failures: number;
  /** When the restarts of the last hour were made. */
  readonly restartedAt: readonly Millis[];
}

/** What happened at the proxy port. */
export type WatchdogEvent =
  | { readonly kind: "started" }
  | { readonly kind: "probe_due" }
  | { readonly kind: "probe_answered"; readonly ok: boolean };

/** What the watchdog wants done. */
export type WatchdogEffect =
  /** Answered by `probe_answered`, in any case and within bounded time. */
  { readonly kind: "probe_port" } | { readonly kind: "restart_proxy" } | SetTimerEffect<"probe"> | LogEffect;

type WatchdogStep = Step<WatchdogState, WatchdogEffect>;

/** A watchdog that has seen nothing yet. */
export const initialWatchdogState: WatchdogState = { status: "healthy", failures: 0, restartedAt: [] };

const nextProbe: WatchdogEffect = { kind: "set_timer", timer: "probe", delayMs: PROBE_INTERVAL_MS };
const probe = (state: WatchdogState): WatchdogStep => ({ state, effects: [{ kind: "probe_port" }] });

/** The watchdog, row by row. Source: contract, "Limits": watchdog. */
export const watchdogTable: Table<WatchdogState, WatchdogEvent, WatchdogEffect> = {
  healthy: {
    started: { to: { healthy: "started" }, run: start },
    probe_due: { to: { healthy: "every 1.5 s" }, run: probe },
    probe_answered: { to: { healthy: "answered", failing: "1st failure" }, run: judge },
  },
  failing: {
    started: { to: { healthy: "started" }, run: start },
    probe_due: { to: { failing: "every 1.5 s" }, run: probe },
    probe_answered: {
      to: { healthy: "answered", failing: "2nd failure", unhealthy: "3rd failure: logged" },
      run: judge,
    },
  },
  unhealthy: {
    started: { to: { healthy: "started" }, run: start },
    probe_due: { to: { unhealthy: "every 1.5 s" }, run: probe },
    probe_answered: {
      to: {
        healthy: "answered",
        unhealthy: "4th failure",
        failing: "5th failure: restarted",
        exhausted: "5th failure, 3 restarts within the hour",
      },
      run: judge,
    },
  },
  exhausted: {
    started: { to: { healthy: "started" }, run: start },
    probe_due: { to: { exhausted: "every 1.5 s" }, run: probe },
    probe_answered: {
      to: {
        healthy: "answered",
        exhausted: "still failing",
        failing: "an hour after the first of them: restarted",
      },
      run: judge,
    },
  },
};

/** The watchdog over the proxy's port. The time may be a monotonic clock's. */
export function watchdogTransition(state: WatchdogState, event: WatchdogEvent, now: Millis): WatchdogStep {
  return runTable(watchdogTable, state, event, now);
}

/** The restarts of the last hour still count after a crash; failures are counted anew. */
function start(state: WatchdogState): WatchdogStep {
  return { state: { ...state, status: "healthy", failures: 0 }, effects: [nextProbe] };
}

function judge(state: WatchdogState, event: { readonly ok: boolean }, now: Millis): WatchdogStep {
  if (event.ok) return { state: { ...state, status: "healthy", failures: 0 }, effects: [nextProbe] };
  const failures = state.failures + 1;
  // A restart further than an hour away, in either direction, is past: the clock may have been set.
  const restartedAt = state.restartedAt.filter((at) => Math.abs(now - at) < HOUR_MS);
  if (failures >= PROBE_FAILURES_TO_RESTART) {
    if (restartedAt.length < PROXY_RESTARTS_PER_HOUR) {
      return {
        state: { status: "failing", failures: 0, restartedAt: [...restartedAt, now] },
        effects: [unhealthyLog(failures, "restart"), { kind: "restart_proxy" }, nextProbe],
      };
    }
    const effects = state.status === "exhausted" ? [] : [unhealthyLog(failures, "restarts_exhausted")];
    return { state: { status: "exhausted", failures, restartedAt }, effects: [...effects, nextProbe] };
  }
  const unhealthy = failures >= PROBE_FAILURES_TO_LOG;
  return {
    state: { status: unhealthy ? "unhealthy" : "failing", failures, restartedAt },
    effects: [...(failures === PROBE_FAILURES_TO_LOG ? [unhealthyLog(failures, "watch")] : []), nextProbe],
  };
}

/** Source: contract, "Events": `watchdog.mitm_unhealthy`. */
function unhealthyLog(failures: number, action: string): WatchdogEffect {
  return {
    kind: "log",
    level: "error",
    event: "watchdog.mitm_unhealthy",
    fields: { consecutive_failures: failures, action },
  };
}
