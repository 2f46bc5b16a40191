import { clampPullInterval, MIN_PULL_INTERVAL_MS } from "../../core/pricing/mod.ts";
import { remainingDelay, TIMER_CAP_MS } from "../../core/retry/mod.ts";
import { errorName } from "../error-name.ts";
import type { CloudServicePorts } from "./ports.ts";
import { nextPullAt, readPullHistory } from "./pull-state.ts";
import { refreshRates } from "./refresh-rates.ts";
import type { RefreshRatesResult } from "./results.ts";

/** Pulls rates again and again while `[pricing] auto_pull` is on. */
export interface RatesWorker {
  /** Acts on what the configuration says now. */
  schedule(): Promise<void>;
  stop(): void;
  /** One pull, at once. */
  refresh(): Promise<RefreshRatesResult>;
}

/** Makes the worker. A pull that failed is tried again after an hour, the floor of the interval. */
export function createRatesWorker(ports: CloudServicePorts): RatesWorker {
  const { clock, store } = ports;
  let cancel = () => {};
  let on = false;
  /** A stop may come while the configuration is read. */
  let stops = 0;
  let retryAt: number | null = null;
  let running: Promise<RefreshRatesResult> | null = null;

  function refresh(): Promise<RefreshRatesResult> {
    // One at a time: whoever asks meanwhile gets the same answer.
    running ??= refreshRates(ports).finally(() => {
      running = null;
    });
    return running;
  }

  async function due(): Promise<void> {
    try {
      const { kind } = await refresh();
      const isDone = kind === "updated" || kind === "not_modified";
      retryAt = isDone ? null : clock.now() + MIN_PULL_INTERVAL_MS;
    } catch (error) {
      ports.log.error("daemon.task_crashed", { task: "rates", error: errorName(error) });
      retryAt = clock.now() + MIN_PULL_INTERVAL_MS;
    }
    if (!on) return;
    await schedule().catch(() => {
      // What can't be read now may be readable then.
      if (on) plan(MIN_PULL_INTERVAL_MS);
    });
  }

  function plan(delayMs: number): void {
    cancel();
    cancel = clock.setTimer(delayMs, () => void due());
  }

  async function schedule(): Promise<void> {
    const before = stops;
    const { pricing } = await ports.settings();
    if (stops !== before) return;
    cancel();
    on = pricing.autoPull;
    if (!on) return;
    const intervalMs = clampPullInterval(pricing.pullIntervalMs);
    const at = retryAt ?? nextPullAt(readPullHistory(store), intervalMs);
    plan(Math.min(remainingDelay(at, clock.now(), intervalMs), TIMER_CAP_MS));
  }

  return {
    schedule,
    refresh,
    stop() {
      stops += 1;
      on = false;
      cancel();
    },
  };
}
