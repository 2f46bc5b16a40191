import { remainingDelay, TIMER_CAP_MS } from "../../core/delivery/retry/backoff-delay.ts";
import { clampPullInterval, MIN_PULL_INTERVAL_MS } from "../../core/pricing/guard.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import type { CloudServicePorts } from "./ports.ts";
import { nextPullAt, readPullHistory } from "./pull-state.ts";
import { refreshRates } from "./refresh-rates.ts";
import type { RatesRequest, RefreshRatesResult } from "./results.ts";

/** Pulls rates repeatedly while `[pricing] auto_pull` is on. */
export interface RatesWorker {
  /** Schedules the next pull according to the current configuration. */
  schedule(): Promise<void>;
  stop(): void;
  /** Pulls rates now. */
  refresh(request?: RatesRequest): Promise<RefreshRatesResult>;
}

/** Returns a function that pulls rates. Simultaneous calls without a request share one pull. */
function shareRefresh(ports: CloudServicePorts): RatesWorker["refresh"] {
  let running: Promise<RefreshRatesResult> | null = null;
  return (request) => {
    if (request !== undefined) return refreshRates(ports, request);
    running ??= refreshRates(ports).finally(() => {
      running = null;
    });
    return running;
  };
}

/** Creates the worker. A failed pull is retried after one hour, the minimum interval. */
export function createRatesWorker(ports: CloudServicePorts): RatesWorker {
  const { clock, store } = ports;
  let cancel = () => {};
  let isEnabled = false;
  /** The number of stops so far. It reveals a stop while the configuration was being read. */
  let stops = 0;
  let retryAt: number | null = null;
  const refresh = shareRefresh(ports);

  async function pullWhenDue(): Promise<void> {
    try {
      const { kind } = await refresh();
      const isDone = kind === "updated" || kind === "not_modified" || kind === "listed";
      retryAt = isDone ? null : clock.now() + MIN_PULL_INTERVAL_MS;
    } catch (error) {
      logTaskCrash(ports.log, "rates", error);
      retryAt = clock.now() + MIN_PULL_INTERVAL_MS;
    }
    if (!isEnabled) return;
    await schedule().catch(() => {
      // The configuration may be readable by then.
      if (isEnabled) setTimer(MIN_PULL_INTERVAL_MS);
    });
  }

  function setTimer(delayMs: number): void {
    cancel();
    cancel = clock.setTimer(delayMs, () => void pullWhenDue());
  }

  async function schedule(): Promise<void> {
    const before = stops;
    const { pricing } = await ports.settings();
    if (stops !== before) return;
    cancel();
    isEnabled = pricing.autoPull;
    if (!isEnabled) return;
    const intervalMs = clampPullInterval(pricing.pullIntervalMs);
    const at = retryAt ?? nextPullAt(readPullHistory(store.notes), intervalMs);
    setTimer(Math.min(remainingDelay(at, clock.now(), intervalMs), TIMER_CAP_MS));
  }

  return {
    schedule,
    refresh,
    stop() {
      stops += 1;
      isEnabled = false;
      cancel();
    },
  };
}
