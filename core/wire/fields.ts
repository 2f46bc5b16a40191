import * as v from "valibot";
import { countCharacters, isStorableText } from "./characters.ts";
import { parseCalendarDate, parseInstant } from "./instant.ts";

/** A field that may be `null` or absent, as in payloads of older senders; parsed as `null`. Source: docs/specification.md#versioning, 3. */
export function maybe<const Schema extends v.GenericSchema>(schema: Schema) {
  return v.nullish(schema, null);
}

/** A text of at most `maxCharacters` characters that every store can hold. */
export function text(maxCharacters: number) {
  return v.pipe(
    v.string(),
    v.check(
      (value) => value.length <= maxCharacters || countCharacters(value) <= maxCharacters,
      `must have at most ${maxCharacters} characters`,
    ),
    v.check(isStorableText, "must not contain U+0000 or an unpaired surrogate"),
  );
}

/** A text of 1 to `maxCharacters` characters. */
export function name(maxCharacters: number) {
  return v.pipe(text(maxCharacters), v.minLength(1, "must not be empty"));
}

/** A UUID of any version. */
export const uuid = v.pipe(v.string(), v.uuid("must be a UUID"));

/** The id of a workspace, person, machine or key. Clients must treat it as opaque. */
export const identifier = name(64);

/** A non-negative integer below 2^53, which a double represents exactly. */
export const count = v.pipe(
  v.number(),
  v.safeInteger("must be a whole number below 2^53"),
  v.minValue(0, "must not be negative"),
);

/** An integer from `min` to `max`, inclusive. */
export function integer(min: number, max: number) {
  const problem = `must be a whole number from ${min} to ${max}`;
  return v.pipe(v.number(), v.integer(problem), v.minValue(min, problem), v.maxValue(max, problem));
}

/** A date and time in ISO 8601. */
export const instant = v.pipe(
  v.string(),
  v.check((value) => parseInstant(value) !== null, "must be an ISO 8601 date and time"),
);

/** A date without time, `YYYY-MM-DD`. */
export const calendarDate = v.pipe(
  v.string(),
  v.check((value) => parseCalendarDate(value) !== null, "must be a valid date in the form YYYY-MM-DD"),
);

/** Maximum number of digits of a request's cost in pico-USD: 10^10 USD, whose millicents a double represents exactly. */
export const MAX_COST_DIGITS = 22;

/** The digits of a request's cost. */
export const COST_DIGITS = /^(?:0|[1-9]\d{0,21})$/;

/** A request's cost in pico-USD as a decimal integer. */
export const cost = v.pipe(
  v.string(),
  v.regex(COST_DIGITS, `must be an integer of at most ${MAX_COST_DIGITS} digits`),
);

/** A sum of costs in pico-USD as a decimal integer; a difference may be negative. */
export const costSum = v.pipe(
  v.string(),
  v.regex(/^(?:0|-?[1-9]\d{0,37})$/, "must be an integer of at most 38 digits"),
);

/** The digits of a SHA-256 in lower-case hex. */
export const HEX_SHA256 = /^[0-9a-f]{64}$/;

/** A SHA-256 in lower-case hex. */
export const sha256Hex = v.pipe(v.string(), v.regex(HEX_SHA256, "must be 64 lower-case hexadecimal digits"));

/** The digits of half a SHA-256 in lower-case hex. */
export const HEX_ID = /^[0-9a-f]{32}$/;

/** The keyed hash of an id that a client stated: the first half of an HMAC-SHA-256, in lower-case hex. */
export const idHash = v.pipe(v.string(), v.regex(HEX_ID, "must be 32 lower-case hexadecimal digits"));

/** One page of a list, with the cursor of the next page. */
export function page<const Schema extends v.GenericSchema>(item: Schema) {
  return v.object({ items: v.array(item), next_cursor: maybe(v.string()) });
}
