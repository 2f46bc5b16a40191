import { parseDecimalToPico } from "../../pricing/decimal.ts";
import { MAX_COST_PICO_USD } from "../../pricing/money.ts";
import type { Millis } from "../../values/time.ts";
import { type Members, membersOf, objectsOf } from "../agent-logs/readers/members.ts";
import { readCount } from "../usage/token-counts.ts";

/** The values of attributes by key. */
export type Attributes = ReadonlyMap<string, string | number | boolean>;

/** An id of a client or a provider: visible ASCII characters. */
const ID = /^[\x21-\x7e]{1,128}$/;

/** A name of a model or of a part of a client. */
const NAME = /^[\w.:/@+-][\w.:/@+ ()[\]-]{0,127}$/;

/** Earlier and later times are errors of a clock. */
const [EARLIEST, LATEST] = [Date.UTC(2020, 0, 1), Date.UTC(2100, 0, 1)];

/** Reads the attributes of a record, a point, a span or a resource. If a key is repeated, the last value counts. */
export function readAttributes(holder: Members): Attributes {
  const found = new Map<string, string | number | boolean>();
  for (const { key, value } of objectsOf(holder.attributes)) {
    const read = readAnyValue(value);
    if (typeof key === "string" && read !== null) found.set(key, read);
  }
  return found;
}

/** Reads a value that is a text, a number or a boolean. In OTLP's JSON, a 64-bit integer is a text. */
export function readAnyValue(value: unknown): string | number | boolean | null {
  const { stringValue, boolValue, intValue, doubleValue } = membersOf(value);
  if (typeof stringValue === "string") return stringValue;
  if (typeof boolValue === "boolean") return boolValue;
  if (intValue !== undefined) return readNumber(intValue);
  return typeof doubleValue === "number" ? doubleValue : null;
}

/** Reads a number that may be written as a text. */
export function readNumber(value: unknown): number | null {
  const number = typeof value === "string" && /^-?\d{1,20}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}

/** Reads a token count. Versions of Claude Code before 2.1.122 state it as a text. */
export const readTokens = (attributes: Attributes, key: string): number | null =>
  readCount(readNumber(attributes.get(key)));

/** Reads an id; null if the value is not one. */
export function readAttributeId(attributes: Attributes, key: string): string | null {
  const value = attributes.get(key);
  return typeof value === "string" && ID.test(value) ? value : null;
}

/** Reads a name; null if the value is not one. */
export function readAttributeName(attributes: Attributes, key: string): string | null {
  const value = attributes.get(key);
  return typeof value === "string" && NAME.test(value) ? value : null;
}

/** Reads an amount in USD. */
export function readUsdAttribute(attributes: Attributes, key: string): bigint | null {
  const value = attributes.get(key);
  if (typeof value !== "string" && typeof value !== "number") return null;
  const pico = parseDecimalToPico(String(value));
  return pico === null || pico < 0n || pico > MAX_COST_PICO_USD ? null : pico;
}

/** Reads a time in nanoseconds since the epoch, a text or a number. Null if the value is not a time. */
export function readNanos(value: unknown): Millis | null {
  const isText = typeof value === "string" && /^\d{1,20}$/.test(value);
  if (!isText && typeof value !== "number") return null;
  const millis = isText ? Number(BigInt(value) / 1_000_000n) : Math.trunc((value as number) / 1e6);
  return millis >= EARLIEST && millis < LATEST ? millis : null;
}
