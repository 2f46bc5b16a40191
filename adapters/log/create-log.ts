import { Logger } from "tslog";
import { LOG_EVENTS, LOG_LEVELS, type Log, type LogFieldKind, type LogLevel } from "../../core/ports/log.ts";
import { createRedact } from "../../core/redaction/mod.ts";

/** Longest word that is logged; a longer one is none of ours. */
export const MAX_WORD_LENGTH = 128;

/** Longest text that is logged; a longer one is cut, so that a line stays one that a person can read. */
export const MAX_TEXT_LENGTH = 500;

/** Printable ASCII without spaces and quotes: no control character, no escape sequence, no second line. */
const WORD = /^[!#-~]*$/;

/** What would break one event into two lines for some reader, or steer a terminal. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]/g;

/** Where lines go: standard error, a rotating file, or an array in a test. */
export interface LogSink {
  /** Takes one line with its line feed. Must not throw. */
  write(line: string): void;
}

/**
 * Makes the log. Only the fields that `LOG_EVENTS` lists for the event are written, and only values of their kind: what a
 * caller adds behind the compiler's back is left out. A word that is none becomes `?`; what looks like a secret is
 * redacted. `now` gives the time in each line, the system's clock where it is absent.
 */
export function createLog(sink: LogSink, level: LogLevel, now?: () => number): Log {
  const redact = createRedact();
  const withoutSecrets = (text: string): string => {
    // A space behind it, since a text's end passes for the end of a secret that was cut off.
    const redaction = redact(`${text} `);
    return redaction.ok ? redaction.text.slice(0, -1) : "?";
  };
  const toValue: Readonly<Record<LogFieldKind, (value: unknown) => string | number | boolean | null>> = {
    count: (value) => (typeof value === "number" && Number.isFinite(value) ? value : null),
    flag: (value) => (typeof value === "boolean" ? value : null),
    word: (value) =>
      typeof value === "string" && WORD.test(value) && value.length <= MAX_WORD_LENGTH
        ? withoutSecrets(value)
        : "?",
    text: (value) =>
      typeof value === "string"
        ? withoutSecrets(value.replaceAll(CONTROL, " ")).slice(0, MAX_TEXT_LENGTH)
        : "?",
  };
  const toFields = (event: keyof typeof LOG_EVENTS, given: Readonly<Record<string, unknown>>) => {
    const fields: Record<string, string | number | boolean | null> = {};
    for (const [name, kind] of Object.entries<LogFieldKind>(LOG_EVENTS[event])) {
      const value = given[name];
      if (value !== undefined) fields[name] = value === null ? null : toValue[kind](value);
    }
    return fields;
  };
  const logger = new Logger<Record<string, unknown>>({
    type: "hidden",
    minLevel: level.toUpperCase() as Uppercase<LogLevel>,
    stack: { capture: "off" },
    meta: { attachContext: false },
    ...(now === undefined ? {} : { clock: () => new Date(now()) }),
  });
  logger.attachTransport({
    write(record) {
      const { _logMeta: meta, ...line } = record as Record<string, unknown> & typeof record;
      sink.write(
        `${JSON.stringify({ time: meta?.date, level: meta?.logLevelName.toLowerCase(), ...line })}\n`,
      );
    },
  });
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
