import { isObject } from "../../values/json-object.ts";
import type { Millis } from "../../values/time.ts";
import { asObject } from "../usage/token-counts.ts";
import {
  ppmOfPercent,
  readDecimal,
  readName,
  readResetAfter,
  readResetAt,
  windowOfMs,
} from "./limit-values.ts";
import { type StatedLimit, unknownLimit, WHOLE_PPM } from "./stated-limit.ts";

/** The name of the limits that apply to all models of Codex. */
const ALL_MODELS = "codex";

/** A window of Codex before its values are checked. The names `primary` and `secondary` say nothing about its length. */
interface RawWindow {
  readonly family: string | null;
  readonly usedPercent: unknown;
  readonly windowMs: number | null;
  readonly resetAt: unknown;
  readonly resetAfterSeconds: unknown;
}

const MEMBER = /^x-(.{1,64})-(primary|secondary)-(used-percent|window-minutes|reset-at|reset-after-seconds)$/;

/**
 * Reads the limits of a ChatGPT account from headers: `x-codex-primary-*`, other families (`x-<limit-id>-primary-*`) and
 * credits. `headers` has the names in lower case. Source: openai/codex, `codex-rs/codex-api/src/rate_limits.rs`.
 */
export function readCodexLimits(headers: ReadonlyMap<string, string>, now: Millis): StatedLimit[] {
  const windows = new Map<string, string>();
  for (const name of headers.keys()) {
    const [, family, place] = MEMBER.exec(name) ?? [];
    if (family !== undefined) windows.set(`x-${family}-${place}`, family);
  }
  const limits = [...windows].flatMap(([prefix, family]) =>
    readWindow(
      {
        family: headers.get(`x-${family}-limit-name`) ?? family,
        usedPercent: headers.get(`${prefix}-used-percent`),
        windowMs: lengthOf(headers.get(`${prefix}-window-minutes`), 60_000),
        resetAt: headers.get(`${prefix}-reset-at`),
        resetAfterSeconds: headers.get(`${prefix}-reset-after-seconds`),
      },
      now,
    ),
  );
  const credits = readCredits(
    readFlag(headers.get("x-codex-credits-has-credits")),
    readFlag(headers.get("x-codex-credits-unlimited")),
    headers.get("x-codex-credits-balance"),
  );
  return [...limits, ...credits];
}

/**
 * Reads the event that Codex gets before the usage of each response: `{type: "codex.rate_limits", limit_name, rate_limits:
 * {primary: {used_percent, window_minutes, reset_at}, secondary}, credits: {has_credits, unlimited, balance}}`.
 */
export function readCodexEvent(event: unknown, now: Millis): StatedLimit[] {
  const { rate_limits, credits, limit_name, metered_limit_name } = asObject(event);
  const { primary, secondary } = asObject(rate_limits);
  const family = metered_limit_name ?? limit_name;
  const limits = [primary, secondary].filter(isObject).flatMap((window) =>
    readWindow(
      {
        family: typeof family === "string" ? family : null,
        usedPercent: window.used_percent,
        windowMs: lengthOf(window.window_minutes, 60_000),
        resetAt: window.reset_at,
        resetAfterSeconds: window.reset_after_seconds,
      },
      now,
    ),
  );
  return [...limits, ...readCreditsObject(credits)];
}

/** Reads the answer of `GET /backend-api/wham/usage`, which states windows in seconds. */
export function readCodexUsage(answer: unknown, now: Millis): StatedLimit[] {
  const { rate_limit, additional_rate_limits, credits } = asObject(answer);
  const others = Array.isArray(additional_rate_limits) ? additional_rate_limits : [];
  const families = [
    { family: null, limits: asObject(rate_limit) },
    ...others.map((each) => {
      const { limit_name, rate_limit: limits } = asObject(each);
      return { family: typeof limit_name === "string" ? limit_name : "", limits: asObject(limits) };
    }),
  ];
  const limits = families.flatMap(({ family, limits: { primary_window, secondary_window } }) =>
    [primary_window, secondary_window].filter(isObject).flatMap((window) =>
      readWindow(
        {
          family,
          usedPercent: window.used_percent,
          windowMs: lengthOf(window.limit_window_seconds, 1_000),
          resetAt: window.reset_at,
          resetAfterSeconds: window.reset_after_seconds,
        },
        now,
      ),
    ),
  );
  return [...limits, ...readCreditsObject(credits)];
}

const lengthOf = (value: unknown, unitMs: number): number | null => {
  const length = readDecimal(value);
  return length === null ? null : length * unitMs;
};

function readWindow(
  { family, usedPercent, windowMs, resetAt, resetAfterSeconds }: RawWindow,
  now: Millis,
): StatedLimit[] {
  const length = windowOfMs(windowMs);
  const usedPpm = ppmOfPercent(readDecimal(usedPercent));
  // If the family is stated and can't be read, the limit is not taken for that of all models.
  const scope = family === null ? null : readName(family);
  if (length === null || usedPpm === null || (family !== null && scope === null)) return [];
  return [
    {
      ...unknownLimit(length.window, length.windowMs, { scope: scope === ALL_MODELS ? null : scope }),
      usedPpm,
      resetAt: readResetAt(resetAt, now) ?? readResetAfter(resetAfterSeconds, now),
      status: usedPpm >= WHOLE_PPM ? "exceeded" : null,
    },
  ];
}

const readFlag = (value: string | undefined): boolean | null =>
  value?.toLowerCase() === "true" ? true : value?.toLowerCase() === "false" ? false : null;

function readCreditsObject(credits: unknown): StatedLimit[] {
  const { has_credits, unlimited, balance } = asObject(credits);
  return readCredits(has_credits, unlimited, balance);
}

/** Returns the credits of an account that has some; the balance is unknown if they are unlimited. */
function readCredits(hasCredits: unknown, unlimited: unknown, balance: unknown): StatedLimit[] {
  if (hasCredits !== true) return [];
  const remaining = unlimited === true ? null : readDecimal(balance);
  return [{ ...unknownLimit("credits", null, { unit: "credits" }), remaining, status: "allowed" }];
}
