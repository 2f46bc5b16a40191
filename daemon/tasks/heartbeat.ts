import { HEARTBEAT_INTERVAL_MS } from "../../core/operations/config/numbers.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import { logTaskCrash } from "./log-task-crash.ts";

/** The fields of a heartbeat. */
interface HeartbeatFields {
  readonly records: number;
  readonly pending: number;
  readonly connections: number;
}

/** Logs `daemon.heartbeat` every 30 s. Returns a function that stops it. If the fields can't be read, `daemon.task_crashed` is logged. */
export function startHeartbeat(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  readFields: () => HeartbeatFields,
): () => void {
  const startedAt = performance.now();
  let cancel = () => {};
  const beat = () => {
    cancel = clock.setTimer(HEARTBEAT_INTERVAL_MS, beat);
    try {
      const { records, pending, connections } = readFields();
      const uptimeMs = Math.round(performance.now() - startedAt);
      log.info("daemon.heartbeat", { uptime_ms: uptimeMs, records, pending, connections });
    } catch (error) {
      logTaskCrash(log, "heartbeat", error, { restart_delay_ms: HEARTBEAT_INTERVAL_MS });
    }
  };
  cancel = clock.setTimer(HEARTBEAT_INTERVAL_MS, beat);
  return () => cancel();
}
