import { LOG_EVENTS, LOG_LEVELS, type Log, type LogFieldKind, type LogLevel } from "../../core/ports/log.ts";
import { createFieldReaders, createLineLogger, type LogSink, type LogValue } from "./line-logger.ts";

/**
 * Creates the log. It writes only the fields that `LOG_EVENTS` lists for the event, and only values of their kind, even if a
 * caller bypasses the types. An invalid word becomes `?`, and anything that looks like a secret is redacted. `now` supplies the
 * time of each line; default: the system's clock.
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
  // Events below the level cost nothing, since some occur on every call.
  const silent = LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(level)).map((name) => [name, () => {}]);
  const writers = LOG_LEVELS.slice(LOG_LEVELS.indexOf(level)).map((name) => [
    name,
    (event: keyof typeof LOG_EVENTS, fields: Readonly<Record<string, unknown>>) => {
      if (Object.hasOwn(LOG_EVENTS, event)) logger[name]({ event, ...toFields(event, fields) });
    },
  ]);
  return Object.fromEntries([...silent, ...writers]) as Log;
}
