import { DAY_MS, HOUR_MS, MINUTE_MS, type Millis } from "../../values/time.ts";
import { parseInstant } from "../../wire/instant.ts";
import { WHOLE_PPM } from "./stated-limit.ts";

const SECOND_MS = 1_000;
/** The largest used share that is accepted. Anthropic was seen to state 1.12; 62 would be a percentage. */
const MAX_SHARE = 10;

/** How far from now a reset may be. Anything else is a wrong unit or a wrong clock. */
const MAX_PAST_MS = DAY_MS;
const MAX_AHEAD_MS = 400 * DAY_MS;

/** The longest name that is kept of a model, a feature or a family of limits. */
const MAX_NAME = 64;

const DECIMAL = /^\d{1,15}(?:\.\d{1,30})?(?:e-\d{1,2})?$/i;

/** Returns a number of at least 0 from JSON or from a header; null for anything else. */
export function readDecimal(value: unknown): number | null {
  if (typeof value === "number") return Number.isFinite(value) && value >= 0 ? value : null;
  return typeof value === "string" && DECIMAL.test(value) ? Number(value) : null;
}

/** Returns an integer from 0 to 2^53 - 1; null for anything else, such as Azure's -1. */
export function readAmount(value: unknown): number | null {
  const number = readDecimal(value);
  return number !== null && Number.isSafeInteger(number) ? number : null;
}

/** Returns a used share in millionths from a fraction. */
export const ppmOfFraction = (fraction: number | null): number | null =>
  fraction === null || fraction > MAX_SHARE ? null : Math.round(fraction * WHOLE_PPM);

/** Returns a used share in millionths from a percentage. */
export const ppmOfPercent = (percent: number | null): number | null =>
  ppmOfFraction(percent === null ? null : percent / 100);

/** Returns the used share of a limit from what remains. */
export function ppmOfRemaining(limit: number | null, remaining: number | null): number | null {
  if (limit === null || limit === 0 || remaining === null || remaining > limit) return null;
  return Math.round(((limit - remaining) / limit) * WHOLE_PPM);
}

/** Returns the time if a reset may be then. */
const plausible = (at: Millis, now: Millis): Millis | null =>
  at >= now - MAX_PAST_MS && at <= now + MAX_AHEAD_MS ? Math.round(at) : null;

/** Returns a time stated as ISO 8601, or in seconds or milliseconds since the epoch. */
export function readResetAt(value: unknown, now: Millis): Millis | null {
  const number = readDecimal(value);
  if (number !== null) return plausible(number >= 1e11 ? number : number * SECOND_MS, now);
  const at = typeof value === "string" ? parseInstant(value) : null;
  return at === null ? null : plausible(at, now);
}

/** Returns a time stated as a number of seconds from now. */
export function readResetAfter(value: unknown, now: Millis): Millis | null {
  const seconds = readDecimal(value);
  return seconds === null ? null : plausible(now + seconds * SECOND_MS, now);
}

const DURATION =
  /^(?=.)(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,7})m(?!s))?(?:(\d{1,8}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?$/;

/** Parses a duration such as `12ms`, `6m0s`, `2m59.56s` or `34.07s` into milliseconds. */
export function readDuration(value: unknown): number | null {
  const match = typeof value === "string" ? DURATION.exec(value) : null;
  if (match === null) return null;
  const [days, hours, minutes, seconds, millis] = match.slice(1).map((part) => Number(part ?? 0));
  return (
    days! * DAY_MS + hours! * HOUR_MS + minutes! * MINUTE_MS + Math.round(seconds! * SECOND_MS + millis!)
  );
}

/**
 * Returns the reset of a classic rate limit: a duration (OpenAI, Groq), seconds (Azure, Cerebras), a time since the epoch
 * (OpenRouter) or ISO 8601 (Anthropic).
 */
export function readClassicReset(value: string, now: Millis): Millis | null {
  const durationMs = readDuration(value);
  if (durationMs !== null) return plausible(now + durationMs, now);
  const number = readDecimal(value);
  return number !== null && number < 1e9 ? readResetAfter(number, now) : readResetAt(value, now);
}

/** Returns a name in lower case without spaces; null if it is then empty. Characters of other scripts become `_`. */
export function readName(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const name = value
    .slice(0, MAX_NAME)
    .toLowerCase()
    .replaceAll(/[^a-z0-9.:/@-]+/g, "_")
    .replace(/^_/, "")
    .replace(/_$/, "");
  return name === "" ? null : name;
}

/** A window's name and length. */
export interface WindowLength {
  readonly window: string;
  readonly windowMs: number | null;
}

const LENGTHS: readonly (readonly [letter: string, ms: number])[] = [
  ["d", DAY_MS],
  ["h", HOUR_MS],
  ["m", MINUTE_MS],
  ["s", SECOND_MS],
];

/** Names a window by its length, in the largest unit that it is a multiple of. Null if it has no length of whole seconds. */
export function windowOfMs(windowMs: number | null): WindowLength | null {
  if (windowMs === null || windowMs > MAX_AHEAD_MS) return null;
  for (const [letter, ms] of LENGTHS)
    if (windowMs >= ms && windowMs % ms === 0) return { window: `${windowMs / ms}${letter}`, windowMs };
  return null;
}

/** Returns the calendar month (UTC) that ends at the reset. Its length is unknown if the reset is. */
export function monthUntil(resetAt: Millis | null): WindowLength {
  if (resetAt === null) return { window: "1mo", windowMs: null };
  const end = new Date(resetAt);
  const days = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth(), 0)).getUTCDate();
  return { window: "1mo", windowMs: days * DAY_MS };
}

const NUMBERS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    one: 1,
    two: 2,
    three: 3,
    four: 4,
    five: 5,
    six: 6,
    seven: 7,
    eight: 8,
    ten: 10,
    twelve: 12,
    fourteen: 14,
    twenty_four: 24,
    thirty: 30,
  }),
);

const CLAIM = /^(\d{1,4}|[a-z]+?|twenty_four)_?(minute|hour|day|week|m|h|d|w)s?(?:_([a-z0-9_.-]{1,40}))?$/;

const CLAIM_UNITS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    m: MINUTE_MS,
    minute: MINUTE_MS,
    h: HOUR_MS,
    hour: HOUR_MS,
    d: DAY_MS,
    day: DAY_MS,
    w: 7 * DAY_MS,
    week: 7 * DAY_MS,
  }),
);

/** Anthropic's abbreviation for models whose use beyond the plan is included. */
const OVERAGE_INCLUDED = "oi";

/** Reads a window's name as Anthropic writes it: `5h`, `7d_oi`, `five_hour`, `seven_day_opus`. Null if it is unknown. */
export function readClaim(claim: string): (WindowLength & { readonly scope: string | null }) | null {
  const match = CLAIM.exec(claim);
  if (match === null) return null;
  const [, count = "", unit = "", scope = null] = match;
  const amount = NUMBERS.get(count) ?? readAmount(count);
  const length = amount === null ? null : windowOfMs(amount * CLAIM_UNITS.get(unit)!);
  return length && { ...length, scope: scope === OVERAGE_INCLUDED ? "overage_included" : scope };
}
