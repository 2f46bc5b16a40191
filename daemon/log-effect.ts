import type { LogEffect } from "../core/machine.ts";
import type { Log, LogEvent, LogFields } from "../core/ports/log.ts";

/**
 * Writes what a machine wants logged, with the name of the task that it is where one is given. Its names and fields are of
 * `LOG_EVENTS`; the log drops what is not.
 */
export function writeLogEffect(log: Log, { level, event, fields }: LogEffect, task?: string): undefined {
  const all = task === undefined ? fields : { task, ...fields };
  log[level](event as LogEvent, all as LogFields<LogEvent>);
}
