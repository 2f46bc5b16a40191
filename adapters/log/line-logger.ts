import { Logger } from "tslog";
import type { LogFieldKind, LogLevel } from "../../core/ports/log.ts";
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

/** What a field may be in a line. */
export type LogValue = string | number | boolean | null;

/** For each kind of field, what makes a value fit to be written: a word that is none becomes `?`, secrets are redacted. */
export function createFieldReaders(): Readonly<Record<LogFieldKind, (value: unknown) => LogValue>> {
  const redact = createRedact();
  const withoutSecrets = (text: string): string => {
    // A space behind it, since a text's end passes for the end of a secret that was cut off.
    const redaction = redact(`${text} `);
    return redaction.ok ? redaction.text.slice(0, -1) : "?";
  };
  return {
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
}

/** Writes one JSON object a line: time, level, and the fields. */
export type WriteLine = Readonly<Record<LogLevel, (fields: Readonly<Record<string, LogValue>>) => void>>;

/** tslog, with everything off that costs time and nothing that is not in the fields. */
export function createLineLogger(sink: LogSink, level: LogLevel, now?: () => number): WriteLine {
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
  return {
    debug: (fields) => void logger.debug(fields),
    info: (fields) => void logger.info(fields),
    warn: (fields) => void logger.warn(fields),
    error: (fields) => void logger.error(fields),
  };
}
