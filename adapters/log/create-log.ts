import { Logger } from "tslog";
import type { Log, LogEvents } from "../../core/ports/log.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Where lines go: standard error, a rotating file, or an array in a test. */
export interface LogSink {
  /** Takes one line with its line feed. */
  write(line: string): void;
}

/** No single text in a line is longer, so that a line stays one that a person can read. */
const MAX_TEXT_LENGTH = 500;

/** Control characters would break one event into two lines for some readers, or steer a terminal. */
const plain = (value: unknown): unknown =>
  typeof value === "string"
    ? value.slice(0, MAX_TEXT_LENGTH).replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, " ")
    : value;

/**
 * Creates the log: one JSON object a line with `time`, `level`, `event` and the event's own fields. Which fields there
 * are is fixed by `LogEvents`, and each is a number, a boolean or a short text of ours.
 */
export function createLog(sink: LogSink, level: LogLevel): Log {
  const logger = new Logger<Record<string, unknown>>({
    type: "hidden",
    stack: { capture: "off" },
    minLevel: level.toUpperCase() as Uppercase<LogLevel>,
  });
  logger.attachTransport({
    write(record) {
      const { 0: fields, 1: event, _logMeta: meta } = record as Record<string, unknown> & typeof record;
      const line = {
        time: meta.date.toISOString(),
        level: meta.logLevelName.toLowerCase(),
        event,
        ...(fields as object),
      };
      sink.write(`${JSON.stringify(line, (_key, value) => plain(value))}\n`);
    },
  });
  const at =
    (name: LogLevel) =>
    <Name extends keyof LogEvents>(event: Name, fields: LogEvents[Name]) => {
      logger[name]({ ...fields }, event);
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
