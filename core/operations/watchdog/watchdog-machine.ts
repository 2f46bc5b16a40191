import {
  type LogEffect,
  runTable,
  type SetTimerEffect,
  type Step,
  type Table,
} from "../../values/machine.ts";
import { HOUR_MS, type Millis } from "../../values/time.ts";

/** Interval between probes of the proxy's port, in milliseconds. Source: docs/specification.md#limits: watchdog, 1.5 s. */
export const PROBE_INTERVAL_MS = 1_500;

/**
 * Number of consecutive failed probes after which an error is logged. Source: docs/specification.md#limits: watchdog, 3.
 */
export const PROBE_FAILURES_TO_LOG = 3;

/**
 * Number of consecutive failed probes after which the proxy is restarted. Source: docs/specification.md#limits: watchdog,
 * 5.
 */
export const PROBE_FAILURES_TO_RESTART = 5;

/** Maximum number of restarts within an hour. Source: docs/specification.md#limits: watchdog, 3 per hour. */
export const PROXY_RESTARTS_PER_HOUR = 3;

/**
 * The health of the proxy's port. `exhausted`: the restarts of this hour are used up, and the proxy relays without intercepting
 * connections, so that programs keep their network.
 */
export type WatchdogStatus = "healthy" | "failing" | "unhealthy" | "exhausted";

/** The state of the watchdog. Plain JSON. */
export interface WatchdogState {
  readonly status: WatchdogStatus;
  readonly failures: number;
  /** Times of the restarts within the last hour. */
  readonly restartedAt: readonly Millis[];
}

/** An event of the proxy's port. */
export type WatchdogEvent =
  | { readonly kind: "started" }
  | { readonly kind: "probe_due" }
  | { readonly kind: "probe_answered"; readonly ok: boolean };

/** An effect that the watchdog requests. */
export type WatchdogEffect =
  /** Answered by `probe_answered`, always and before the next probe. */
  | { readonly kind: "probe_port" }
  | { readonly kind: "restart_proxy" }
  /** Replaces the proxy by one that intercepts nothing, until the next `restart_proxy`. */
  | { readonly kind: "replace_proxy" }
  | SetTimerEffect<"probe">
  | LogEffect;

type WatchdogStep = Step<WatchdogState, WatchdogEffect>;

/** The state before the first probe. */
export const initialWatchdogState: WatchdogState = { status: "healthy", failures: 0, restartedAt: [] };

const nextProbe: WatchdogEffect = { kind: "set_timer", timer: "probe", delayMs: PROBE_INTERVAL_MS };
/** The next probe does not wait for the result of this one, so a proxy that hangs is probed as often as any other. */
const probe = (state: WatchdogState): WatchdogStep => ({
  state,
  effects: [nextProbe, { kind: "probe_port" }],
});

/** The watchdog, row by row. Source: docs/specification.md#limits: watchdog. */
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
        exhausted: "5th failure, 3 restarts within the hour: replaced",
      },
      run: judge,
    },
  },
  exhausted: {
    started: { to: { healthy: "started" }, run: start },
    probe_due: { to: { exhausted: "every 1.5 s" }, run: probe },
    probe_answered: {
      to: {
        exhausted: "within the hour; replaced again at every 5th failure",
        failing: "an hour after the first of them: restarted",
      },
      run: judge,
    },
  },
};

/** The transition of the watchdog. `now` may come from a monotonic clock. */
export function watchdogTransition(state: WatchdogState, event: WatchdogEvent, now: Millis): WatchdogStep {
  return runTable(watchdogTable, state, event, now);
}

/** Starts after a crash or restart. The restarts of the last hour still count; failures do not. */
function start(state: WatchdogState): WatchdogStep {
  return { state: { ...state, status: "healthy", failures: 0 }, effects: [nextProbe] };
}

function judge(state: WatchdogState, event: { readonly ok: boolean }, now: Millis): WatchdogStep {
  const failures = event.ok ? 0 : state.failures + 1;
  // A restart more than an hour away in either direction no longer counts, because the clock may have been set.
  const restartedAt = state.restartedAt.filter((at) => Math.abs(now - at) < HOUR_MS);
  const mayRestart = restartedAt.length < PROXY_RESTARTS_PER_HOUR;
  const isExhausted = state.status === "exhausted";
  if (mayRestart && (isExhausted || failures >= PROBE_FAILURES_TO_RESTART)) {
    const logs = event.ok ? [] : [unhealthyLog(failures, "restart")];
    return {
      state: { status: "failing", failures: 0, restartedAt: [...restartedAt, now] },
      effects: [...logs, { kind: "restart_proxy" }],
    };
  }
  if (failures >= PROBE_FAILURES_TO_RESTART) {
    return {
      state: { status: "exhausted", failures: 0, restartedAt },
      effects: [unhealthyLog(failures, "restarts_exhausted"), { kind: "replace_proxy" }],
    };
  }
  if (isExhausted) return { state: { ...state, failures }, effects: [] };
  if (event.ok) return { state: { status: "healthy", failures, restartedAt }, effects: [] };
  return {
    state: {
      status: failures >= PROBE_FAILURES_TO_LOG ? "unhealthy" : "failing",
      failures,
      restartedAt,
    },
    effects: failures === PROBE_FAILURES_TO_LOG ? [unhealthyLog(failures, "watch")] : [],
  };
}

/** Source: docs/specification.md#log-events: `watchdog.mitm_unhealthy`. */
function unhealthyLog(failures: number, action: string): WatchdogEffect {
  return {
    kind: "log",
    level: "error",
    event: "watchdog.mitm_unhealthy",
    fields: { consecutive_failures: failures, action },
  };
}
