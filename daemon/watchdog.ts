import type { Clock } from "../core/ports/clock.ts";
import type { CreateDriver } from "../core/ports/driver.ts";
import type { Log } from "../core/ports/log.ts";
import {
  initialWatchdogState,
  type WatchdogEvent,
  type WatchdogState,
  type WatchdogStatus,
  watchdogTransition,
} from "../core/watchdog/mod.ts";
import { errorName } from "./error-name.ts";
import { writeLogEffect } from "./log-effect.ts";
import type { RunningProxy } from "./proxy/start-proxy.ts";

/** How long the proxy may take to answer a probe, milliseconds. Decision: less than the time to the next one. */
const PROBE_TIMEOUT_MS = 1_000;

/** What the watchdog needs. */
export interface WatchdogPorts {
  readonly createDriver: CreateDriver;
  readonly clock: Clock;
  readonly log: Log;
  readonly proxy: Pick<RunningProxy, "probe" | "restart">;
}

/** A watchdog that runs. */
export interface RunningWatchdog {
  readonly status: WatchdogStatus;
  stop(): void;
}

/** Watches the proxy until it is stopped. What it knows goes with the process: the proxy's thread does so too. */
export function startWatchdog({ createDriver, clock, log, proxy }: WatchdogPorts): RunningWatchdog {
  const driver = createDriver<
    WatchdogState,
    WatchdogEvent,
    ReturnType<typeof watchdogTransition>["effects"][number]
  >({
    transition: watchdogTransition,
    initial: initialWatchdogState,
    store: { load: async () => null, save: async () => {} },
    clock,
    timers: { probe: { kind: "probe_due" } },
    handlers: {
      probe_port: () => ({
        background: proxy.probe(PROBE_TIMEOUT_MS).then((ok) => ({ kind: "probe_answered", ok })),
      }),
      restart_proxy: () => {
        proxy.restart();
        return undefined;
      },
      log: (effect) => writeLogEffect(log, effect),
    },
  });
  driver.run({ kind: "started" }).catch((cause: unknown) => {
    log.error("daemon.task_crashed", { task: "watchdog", error: errorName(cause) });
  });
  return {
    get status() {
      return driver.state.status;
    },
    stop: () => driver.stop(),
  };
}
