import { HEARTBEAT_INTERVAL_MS } from "../core/config/mod.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Log } from "../core/ports/log.ts";
import { errorName } from "./error-name.ts";

/** What a heartbeat says. */
export interface Pulse {
  readonly records: number;
  readonly pending: number;
  readonly connections: number;
}

/** Logs `daemon.heartbeat` every 30 s until it is stopped. A pulse that can't be taken is `daemon.task_crashed`. */
export function startHeartbeat(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  pulse: () => Pulse,
): () => void {
  const startedAt = performance.now();
  let cancel = () => {};
  const beat = () => {
    cancel = clock.setTimer(HEARTBEAT_INTERVAL_MS, beat);
    try {
      const { records, pending, connections } = pulse();
      const uptimeMs = Math.round(performance.now() - startedAt);
      log.info("daemon.heartbeat", { uptime_ms: uptimeMs, records, pending, connections });
    } catch (error) {
      log.error("daemon.task_crashed", {
        task: "heartbeat",
        error: errorName(error),
        restart_delay_ms: HEARTBEAT_INTERVAL_MS,
      });
    }
  };
  cancel = clock.setTimer(HEARTBEAT_INTERVAL_MS, beat);
  return () => cancel();
}
