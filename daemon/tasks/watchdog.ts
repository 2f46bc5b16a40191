import {
  initialWatchdogState,
  type WatchdogEvent,
  type WatchdogState,
  type WatchdogStatus,
  watchdogTransition,
} from "../../core/operations/watchdog/watchdog-machine.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { CreateDriver } from "../../core/ports/driver.ts";
import type { Log } from "../../core/ports/log.ts";
import type { RunningProxy } from "../proxy/start-proxy.ts";
import { writeLogEffect } from "./log-effect.ts";
import { logTaskCrash } from "./log-task-crash.ts";

/** How long the proxy may take to answer a probe, in milliseconds. Decision: less than the interval between probes. */
const PROBE_TIMEOUT_MS = 1_000;

/** The ports of the watchdog. */
interface WatchdogPorts {
  readonly createDriver: CreateDriver;
  readonly clock: Clock;
  readonly log: Log;
  readonly proxy: Pick<RunningProxy, "probe" | "restart" | "replace">;
}

/** A running watchdog. */
export interface RunningWatchdog {
  readonly status: WatchdogStatus;
  stop(): void;
}

/** Starts the watchdog of the proxy. Its state is not stored, because the proxy's thread ends with the process too. */
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
      replace_proxy: () => {
        proxy.replace();
        return undefined;
      },
      log: (effect) => writeLogEffect(log, effect),
    },
  });
  driver.run({ kind: "started" }).catch((cause: unknown) => {
    logTaskCrash(log, "watchdog", cause);
  });
  return {
    get status() {
      return driver.state.status;
    },
    stop: () => driver.stop(),
  };
}
