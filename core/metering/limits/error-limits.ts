import { DAY_MS, type Millis } from "../../values/time.ts";
import { asObject } from "../usage/token-counts.ts";
import { readAmount, readDuration, readName, readResetAfter, readResetAt } from "./limit-values.ts";
import {
  distinctLimits,
  type LimitUnit,
  MAX_LIMITS,
  type StatedLimit,
  unknownLimit,
} from "./stated-limit.ts";

/**
 * Reads the limits that an error states: the `error` member of a response with status 429.
 *
 * - Codex `{type: "usage_limit_reached", resets_at}`, or `resets_in_seconds`. It does not name the window, so it is `plan`.
 * - Google `{code: 429, details: [{violations: [{quotaId, quotaDimensions: {model}, quotaValue}]}, {retryDelay}, {reason}]}`.
 *   The delay of a limit per day is not its reset: the provider also states short delays for it.
 */
export function readErrorLimits(error: unknown, now: Millis): StatedLimit[] {
  const { type, details, resets_at, resets_in_seconds } = asObject(error);
  if (type === "usage_limit_reached") {
    const resetAt = readResetAt(resets_at, now) ?? readResetAfter(resets_in_seconds, now);
    return [{ ...unknownLimit("plan", null), resetAt, status: "exceeded" }];
  }
  return Array.isArray(details) ? readGoogleDetails(details.slice(0, MAX_LIMITS).map(asObject), now) : [];
}

type GoogleDetail = Readonly<Record<string, unknown>>;

function readGoogleDetails(details: readonly GoogleDetail[], now: Millis): StatedLimit[] {
  const delayMs = firstOf(details, ({ retryDelay }) => readDuration(retryDelay));
  const retryAt = delayMs === null ? null : readResetAt(now + delayMs, now);
  const violations = details.flatMap((detail) => (Array.isArray(detail.violations) ? detail.violations : []));
  const limits = violations.flatMap((violation) => readViolation(asObject(violation), retryAt));
  if (limits.length > 0) return distinctLimits(limits);
  const reason = firstOf(details, ({ reason }) => (typeof reason === "string" ? reason : null));
  switch (reason) {
    case "RATE_LIMIT_EXCEEDED":
      return [{ ...unknownLimit("rate", null), resetAt: retryAt, status: "exceeded" }];
    case "QUOTA_EXHAUSTED":
      return [{ ...unknownLimit("plan", null), resetAt: retryAt, status: "exceeded" }];
    case "INSUFFICIENT_G1_CREDITS_BALANCE":
      return [{ ...unknownLimit("credits", null, { unit: "credits" }), remaining: 0, status: "exceeded" }];
    default:
      return [];
  }
}

function firstOf<Value>(
  details: readonly GoogleDetail[],
  read: (detail: GoogleDetail) => Value | null,
): Value | null {
  for (const detail of details) {
    const value = read(detail);
    if (value !== null) return value;
  }
  return null;
}

/** Reads a violated quota, such as `GenerateRequestsPerDayPerProjectPerModel-FreeTier`. */
function readViolation(
  { quotaId, quotaDimensions, quotaValue }: GoogleDetail,
  retryAt: Millis | null,
): StatedLimit[] {
  const [, unit, period] =
    /(Requests|InputTokens?|Tokens?)(?:[A-Z][a-z]+)*?Per(Day|Minute)/.exec(String(quotaId)) ?? [];
  if (unit === undefined) return [];
  const units: LimitUnit =
    unit === "Requests" ? "requests" : unit.startsWith("Input") ? "input_tokens" : "tokens";
  const scope = readName(asObject(quotaDimensions).model);
  const isDaily = period === "Day";
  return [
    {
      ...unknownLimit(isDaily ? "1d" : "1m", isDaily ? DAY_MS : 60_000, { scope, unit: units }),
      limit: readAmount(quotaValue),
      resetAt: isDaily ? null : retryAt,
      status: "exceeded",
    },
  ];
}
