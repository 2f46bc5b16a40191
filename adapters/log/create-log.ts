import { LOG_EVENTS, LOG_LEVELS, type Log, type LogFieldKind, type LogLevel } from "../../core/ports/log.ts";
import { createFieldReaders, createLineLogger, type LogSink, type LogValue } from "./line-logger.ts";

/**
 * Makes the log. Only the fields that `LOG_EVENTS` lists for the event are written, and only values of their kind: what a
 * caller adds behind the compiler's back is left out. A word that is none becomes `?`; what looks like a secret is
 * redacted. `now` gives the time in each line, the system's clock where it is absent.
 */
export function createLog(sink: LogSink, level: LogLevel, now?: () => number): Log {
  const readers = createFieldReaders();
  const toFields = (event: keyof typeof LOG_EVENTS, given: Readonly<Record<string, unknown>>) => {
    const fields: Record<string, LogValue> = {};
    for (const [name, kind] of Object.entries<LogFieldKind>(LOG_EVENTS[event])) {
      const value = given[name];
      if (value !== undefined) fields[name] = value === null ? null : readers[kind](value);
    }
    return fields;
  };
  const logger = createLineLogger(sink, level, now);
  // What is below the level is not looked at, since some events come with each call.
  const silent = LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(level)).map((name) => [name, () => {}]);
  const writers = LOG_LEVELS.slice(LOG_LEVELS.indexOf(level)).map((name) => [
    name,
    (event: keyof typeof LOG_EVENTS, fields: Readonly<Record<string, unknown>>) => {
      if (Object.hasOwn(LOG_EVENTS, event)) logger[name]({ event, ...toFields(event, fields) });
    },
  ]);
  return Object.fromEntries([...silent, ...writers]) as Log;
}
