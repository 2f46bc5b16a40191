import { Logger } from "tslog";
import type { LogFieldKind, LogLevel } from "../../core/ports/log.ts";
import { createRedact } from "../../core/privacy/redaction/redact.ts";
import { createCleanTexts, redactWholeText } from "../../core/privacy/redaction/whole-text.ts";

/** Maximum length of a logged word, in characters. The meter's own words are shorter. */
export const MAX_WORD_LENGTH = 128;

/** Maximum length of a logged text, in characters. Longer texts are truncated. */
export const MAX_TEXT_LENGTH = 500;

/** The most words that are known to contain no secret. A daemon logs the same projects, tiers and programs for every connection. */
const MAX_CLEAN_WORDS = 256;

/** Printable ASCII without spaces and quotes, so without control characters, escape sequences and line breaks. */
const WORD = /^[!#-~]*$/;

/** Characters that could break a line in two or control a terminal. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]/g;

/** Where lines go: standard error, a rotating file, or an array in a test. */
export interface LogSink {
  /** Writes one line that ends with a line feed. Must not throw. A line of information may be written a little later. */
  write(line: string, level: LogLevel): void;
}

/** The value of a field in a line. */
export type LogValue = string | number | boolean | null;

/**
 * Returns, for each kind of field, a function that converts a value for the log. An invalid word becomes `?`, and secrets
 * are redacted.
 */
export function createFieldReaders(): Readonly<Record<LogFieldKind, (value: unknown) => LogValue>> {
  const redact = createRedact();
  const redactText = (text: string): string => {
    const redaction = redactWholeText(redact, text);
    return redaction.ok ? redaction.text : "?";
  };
  // Searching a word takes more time than the rest of its line.
  const clean = createCleanTexts(MAX_CLEAN_WORDS, MAX_WORD_LENGTH);
  const redactWord = (word: string): string => {
    if (clean.has(word)) return word;
    const redacted = redactText(word);
    if (redacted === word) clean.add(word);
    return redacted;
  };
  return {
    count: (value) => (typeof value === "number" && Number.isFinite(value) ? value : null),
    flag: (value) => (typeof value === "boolean" ? value : null),
    word: (value) =>
      typeof value === "string" && WORD.test(value) && value.length <= MAX_WORD_LENGTH
        ? redactWord(value)
        : "?",
    text: (value) =>
      typeof value === "string" ? redactText(value.replaceAll(CONTROL, " ")).slice(0, MAX_TEXT_LENGTH) : "?",
  };
}

/** Writes one JSON object a line: time, level, and the fields. */
type LineLogger = Readonly<Record<LogLevel, (fields: Readonly<Record<string, LogValue>>) => void>>;

/** Creates a logger on tslog, with all costly features off and only the given fields in each line. */
export function createLineLogger(sink: LogSink, level: LogLevel, now?: () => number): LineLogger {
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
      const level = meta?.logLevelName.toLowerCase() as LogLevel;
      sink.write(`${JSON.stringify({ time: meta?.date, level, ...line })}\n`, level);
    },
  });
  return {
    debug: (fields) => void logger.debug(fields),
    info: (fields) => void logger.info(fields),
    warn: (fields) => void logger.warn(fields),
    error: (fields) => void logger.error(fields),
  };
}
