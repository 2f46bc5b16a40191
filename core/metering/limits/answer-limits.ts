import { isObject } from "../../values/json-object.ts";
import { DAY_MS, type Millis } from "../../values/time.ts";
import { asObject } from "../usage/token-counts.ts";
import { readCodexUsage } from "./codex-limits.ts";
import {
  monthUntil,
  ppmOfFraction,
  ppmOfPercent,
  ppmOfRemaining,
  readAmount,
  readClaim,
  readDecimal,
  readName,
  readResetAt,
} from "./limit-values.ts";
import { distinctLimits, MAX_LIMITS, type StatedLimit, unknownLimit, WHOLE_PPM } from "./stated-limit.ts";

/** Reads the JSON body of an answer about limits. Malformed members are unknown. */
export type ReadLimitAnswer = (answer: unknown, now: Millis) => readonly StatedLimit[];

/** The requests whose answers state limits, by provider. Their paths are not billed. */
const ANSWERS: readonly {
  readonly provider: string;
  readonly method: "GET" | "POST";
  readonly path: RegExp;
  readonly read: ReadLimitAnswer;
}[] = [
  { provider: "anthropic", method: "GET", path: /^\/api\/oauth\/usage$/, read: readClaudeUsage },
  { provider: "codex", method: "GET", path: /^\/backend-api\/wham\/usage$/, read: readCodexUsage },
  {
    provider: "code-assist",
    method: "POST",
    path: /^\/v1internal:retrieveUserQuota$/,
    read: readCodeAssistQuota,
  },
  { provider: "openrouter", method: "GET", path: /^\/api\/v1\/key$/, read: readOpenrouterKey },
];

/** Returns the reader of the answer to a request; null if its answer states no limits. `path` has no query. */
export function findLimitAnswer(provider: string, method: string, path: string): ReadLimitAnswer | null {
  for (const answer of ANSWERS) {
    if (answer.provider !== provider || answer.method !== method || !answer.path.test(path)) continue;
    const { read } = answer;
    return (body, now) => distinctLimits(read(body, now));
  }
  return null;
}

const statusOfShare = (usedPpm: number | null): StatedLimit["status"] =>
  usedPpm !== null && usedPpm >= WHOLE_PPM ? "exceeded" : null;

/**
 * Reads what Claude Code's `/usage` shows: `{five_hour: {utilization, resets_at}, seven_day_opus: …, limits: [{kind:
 * "weekly_scoped", percent, resets_at, scope: {model: {display_name}}}]}`. The use is in percent, unlike in the headers.
 */
function readClaudeUsage(answer: unknown, now: Millis): readonly StatedLimit[] {
  const named = Object.entries(asObject(answer)).flatMap(([name, value]) => {
    const length = readClaim(name);
    return length === null
      ? []
      : percentLimit(length, asObject(value).utilization, asObject(value).resets_at, now);
  });
  const { limits } = asObject(answer);
  const scoped = (Array.isArray(limits) ? limits.slice(0, MAX_LIMITS) : []).flatMap((each) => {
    const { kind, percent, resets_at, scope } = asObject(each);
    const { id, display_name } = asObject(asObject(scope).model);
    const model = readName(display_name) ?? readName(id);
    if (kind !== "weekly_scoped" || model === null) return [];
    return percentLimit({ window: "7d", windowMs: 7 * DAY_MS, scope: model }, percent, resets_at, now);
  });
  return [...named, ...scoped];
}

function percentLimit(
  { window, windowMs, scope }: Pick<StatedLimit, "window" | "windowMs" | "scope">,
  percent: unknown,
  resetAt: unknown,
  now: Millis,
): StatedLimit[] {
  const usedPpm = ppmOfPercent(readDecimal(percent));
  if (usedPpm === null) return [];
  return [
    {
      ...unknownLimit(window, windowMs, { scope }),
      usedPpm,
      resetAt: readResetAt(resetAt, now),
      status: statusOfShare(usedPpm),
    },
  ];
}

/** Reads `{buckets: [{remainingFraction, remainingAmount, resetTime, tokenType, modelId}]}`. No length is stated. */
function readCodeAssistQuota(answer: unknown, now: Millis): readonly StatedLimit[] {
  const { buckets } = asObject(answer);
  return (Array.isArray(buckets) ? buckets.slice(0, MAX_LIMITS) : []).flatMap((bucket) => {
    const { remainingFraction, remainingAmount, resetTime, tokenType, modelId } = asObject(bucket);
    const left = readDecimal(remainingFraction);
    const leftPpm = left === null || left > 1 ? null : ppmOfFraction(left);
    if (leftPpm === null) return [];
    const unit = typeof tokenType === "string" && /token/i.test(tokenType) ? "tokens" : "requests";
    const usedPpm = WHOLE_PPM - leftPpm;
    return [
      {
        ...unknownLimit("quota", null, { scope: readName(modelId), unit }),
        usedPpm,
        remaining: readAmount(remainingAmount),
        resetAt: readResetAt(resetTime, now),
        status: statusOfShare(usedPpm),
      },
    ];
  });
}

/** Reads the limit of an OpenRouter key: `{data: {limit, limit_remaining, limit_reset}}`, in US dollars. */
function readOpenrouterKey(answer: unknown, now: Millis): readonly StatedLimit[] {
  const { data } = asObject(answer);
  if (!isObject(data)) return [];
  const limit = microUsd(data.limit);
  const remaining = microUsd(data.limit_remaining);
  const period = keyPeriod(data.limit_reset, now);
  if (limit === null || period === null) return [];
  const usedPpm = ppmOfRemaining(limit, remaining);
  return [
    {
      ...unknownLimit(period.window, period.windowMs, { unit: "micro_usd" }),
      usedPpm,
      limit,
      remaining,
      resetAt: period.resetAt,
      status: statusOfShare(usedPpm),
    },
  ];
}

function microUsd(dollars: unknown): number | null {
  const amount = typeof dollars === "number" ? readDecimal(dollars) : null;
  return amount === null ? null : readAmount(Math.round(amount * 1e6));
}

/** Returns the period of a key's limit, which ends at midnight UTC, weeks on Sunday; null if it is not one of the known ones. */
function keyPeriod(reset: unknown, now: Millis): Pick<StatedLimit, "window" | "windowMs" | "resetAt"> | null {
  const midnight = Math.floor(now / DAY_MS) * DAY_MS;
  const today = new Date(midnight);
  switch (reset) {
    case "daily":
      return { window: "1d", windowMs: DAY_MS, resetAt: midnight + DAY_MS };
    case "weekly":
      return {
        window: "7d",
        windowMs: 7 * DAY_MS,
        resetAt: midnight + (7 - ((today.getUTCDay() + 6) % 7)) * DAY_MS,
      };
    case "monthly": {
      const resetAt = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1);
      return { ...monthUntil(resetAt), resetAt };
    }
    case null:
    case undefined:
      return { window: "total", windowMs: null, resetAt: null };
    default:
      return null;
  }
}
