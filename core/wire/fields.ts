import * as v from "valibot";
import { countCharacters, isStorableText } from "./characters.ts";
import { parseCalendarDate, parseInstant } from "./instant.ts";

/** A field that may be `null` or absent, as older senders leave it; read as `null`. Source: contract, "Versioning", 3. */
export function maybe<const Schema extends v.GenericSchema>(schema: Schema) {
  return v.nullish(schema, null);
}

/** A text of at most so many characters that any store can keep. */
export function text(maxCharacters: number) {
  return v.pipe(
    v.string(),
    v.check(
      (value) => value.length <= maxCharacters || countCharacters(value) <= maxCharacters,
      `must have at most ${maxCharacters} characters`,
    ),
    v.check(isStorableText, "must hold no U+0000 and no half of a surrogate pair"),
  );
}

/** A text of 1 to so many characters. */
export function name(maxCharacters: number) {
  return v.pipe(text(maxCharacters), v.minLength(1, "must not be empty"));
}

/** A UUID of any version. */
export const uuid = v.pipe(v.string(), v.uuid("must be a UUID"));

/** The name by which a workspace, person, machine or key is referred to; opaque to whoever reads it. */
export const identifier = name(64);

/** An integer from zero up that a double holds exactly. */
export const count = v.pipe(
  v.number(),
  v.safeInteger("must be a whole number below 2^53"),
  v.minValue(0, "must not be negative"),
);

/** An integer within bounds, both included. */
export function integer(min: number, max: number) {
  const problem = `must be a whole number from ${min} to ${max}`;
  return v.pipe(v.number(), v.integer(problem), v.minValue(min, problem), v.maxValue(max, problem));
}

/** A time, ISO 8601. */
export const instant = v.pipe(
  v.string(),
  v.check((value) => parseInstant(value) !== null, "must be a date and time of ISO 8601"),
);

/** A date without time, `YYYY-MM-DD`. */
export const calendarDate = v.pipe(
  v.string(),
  v.check((value) => parseCalendarDate(value) !== null, "must be a date YYYY-MM-DD that exists"),
);

/** Most digits of one request's cost in pico-USD: 10^10 USD, whose millicents a double still holds exactly. */
export const MAX_COST_DIGITS = 22;

/** A request's cost in pico-USD as a decimal integer. */
export const cost = v.pipe(
  v.string(),
  v.regex(/^(?:0|[1-9]\d{0,21})$/, `must be the digits of an integer, at most ${MAX_COST_DIGITS}`),
);

/** A sum of costs in pico-USD as a decimal integer; a difference may be negative. */
export const costSum = v.pipe(
  v.string(),
  v.regex(/^(?:0|-?[1-9]\d{0,37})$/, "must be the digits of an integer, at most 38"),
);

/** A SHA-256 in lower-case hex. */
export const sha256Hex = v.pipe(
  v.string(),
  v.regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hexadecimal digits"),
);

/** The part of a list that one answer holds, and where the next one goes on. */
export function page<const Schema extends v.GenericSchema>(item: Schema) {
  return v.object({ items: v.array(item), next_cursor: maybe(v.string()) });
}
