import { CLOUD_LOG_LEVELS, type CloudLog } from "../../core/ports/cloud-log.ts";
import { LOG_LEVELS, type LogLevel } from "../../core/ports/log.ts";
import { createFieldReaders, createLineLogger, type LogSink, type LogValue } from "./line-logger.ts";

/**
 * Makes the cloud's log. Every text of its events is a word of ours or a code, so what is no word becomes `?`, and what
 * looks like a secret is redacted. `now` gives the time in each line, the system's clock where it is absent.
 */
export function createCloudLog(sink: LogSink, level: LogLevel, now?: () => number): CloudLog {
  const { word, count, flag } = createFieldReaders();
  const logger = createLineLogger(sink, level, now);
  const lowest = LOG_LEVELS.indexOf(level);
  const read = (value: unknown): LogValue => {
    if (value === null) return null;
    return typeof value === "number" ? count(value) : typeof value === "boolean" ? flag(value) : word(value);
  };
  return (event) => {
    const its = CLOUD_LOG_LEVELS[event.event] ?? "info";
    if (LOG_LEVELS.indexOf(its) < lowest) return;
    logger[its](Object.fromEntries(Object.entries(event).map(([name, value]) => [name, read(value)])));
  };
}
