import type { Log, LogEvent, LogFields } from "../../core/ports/log.ts";
import type { LogEffect } from "../../core/values/machine.ts";

/**
 * Writes the log effect of a state machine, with the name of its task if one is given. The log drops events and fields that
 * `LOG_EVENTS` does not list.
 */
export function writeLogEffect(log: Log, { level, event, fields }: LogEffect, task?: string): undefined {
  const all = task === undefined ? fields : { task, ...fields };
  log[level](event as LogEvent, all as LogFields<LogEvent>);
}
