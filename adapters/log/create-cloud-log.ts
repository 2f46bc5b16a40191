import { CLOUD_LOG_LEVELS, type CloudLog } from "../../core/ports/cloud-log.ts";
import { LOG_LEVELS, type LogLevel } from "../../core/ports/log.ts";
import { createFieldReaders, createLineLogger, type LogSink, type LogValue } from "./line-logger.ts";

/**
 * Creates the cloud's log. Every text in its events is a known word or code, so any other text becomes `?`, and anything that
 * looks like a secret is redacted. `now` supplies the time of each line; default: the system's clock.
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
    const eventLevel = CLOUD_LOG_LEVELS[event.event] ?? "info";
    if (LOG_LEVELS.indexOf(eventLevel) < lowest) return;
    logger[eventLevel](Object.fromEntries(Object.entries(event).map(([name, value]) => [name, read(value)])));
  };
}
