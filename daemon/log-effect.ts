import type { LogEffect } from "../core/machine.ts";
import type { Log, LogEvent, LogFields } from "../core/ports/log.ts";

/** Writes what a machine wants logged. Its names and fields are of `LOG_EVENTS`; the log drops what is not. */
export function writeLogEffect(log: Log, { level, event, fields }: LogEffect): void {
  log[level](event as LogEvent, fields as LogFields<LogEvent>);
}
