import type { Log, LogFields } from "../../core/ports/log.ts";
import { errorMessage, errorName } from "../../core/values/text/describe-error.ts";

/** Logs `daemon.task_crashed` for a background task that failed. */
export function logTaskCrash(
  log: Log,
  task: string,
  cause: unknown,
  more: Pick<LogFields<"daemon.task_crashed">, "restart_delay_ms"> = {},
): void {
  log.error("daemon.task_crashed", { task, error: errorName(cause), message: errorMessage(cause), ...more });
}
