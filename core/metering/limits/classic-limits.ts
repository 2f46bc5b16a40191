import type { Millis } from "../../values/time.ts";
import { ppmOfRemaining, readAmount, readClaim, readClassicReset } from "./limit-values.ts";
import { type LimitUnit, type StatedLimit, unknownLimit } from "./stated-limit.ts";

type Member = "limit" | "remaining" | "reset";

/** A classic limit as its headers state it. */
interface RawLimit {
  readonly window: string;
  readonly windowMs: number | null;
  readonly unit: LimitUnit;
  readonly values: Partial<Record<Member, string>>;
}

const UNITS: ReadonlyMap<string, LimitUnit> = new Map([
  ["requests", "requests"],
  ["req", "requests"],
  ["tokens", "tokens"],
  ["input-tokens", "input_tokens"],
  ["output-tokens", "output_tokens"],
]);

/** `x-ratelimit-limit-requests` (OpenAI, Groq, xAI), `x-ratelimit-limit-tokens-minute` (Cerebras, Mistral), `x-ratelimit-limit`. */
const COMMON = /^x-ratelimit-(limit|remaining|reset)(?:-(.+?))?(?:-(minute|hour|day))?$/;

/** `anthropic-ratelimit-input-tokens-limit`. Documented as limits per minute. */
const ANTHROPIC = /^anthropic-ratelimit-((?:input-|output-)?tokens|requests)-(limit|remaining|reset)$/;

/**
 * Reads rate limits by requests and tokens. They are stated per model, so the requested one is their scope. A limit is
 * skipped if the headers state neither its size nor what remains. `headers` has the names in lower case.
 */
export function readClassicLimits(
  headers: ReadonlyMap<string, string>,
  { now, model }: { readonly now: Millis; readonly model: string | null },
): StatedLimit[] {
  const found = new Map<string, RawLimit>();
  for (const [name, value] of headers) {
    const header = readHeaderName(name);
    if (header === null) continue;
    const { member, window, windowMs, unit } = header;
    const key = `${window} ${unit}`;
    const limit = found.get(key) ?? { window, windowMs, unit, values: {} };
    limit.values[member] = value;
    found.set(key, limit);
  }
  return [...found.values()].flatMap((raw) => toLimit(raw, model, now));
}

function readHeaderName(name: string): (Omit<RawLimit, "values"> & { readonly member: Member }) | null {
  const [, anthropicUnit, anthropicMember] = ANTHROPIC.exec(name) ?? [];
  if (anthropicUnit !== undefined) {
    const unit = UNITS.get(anthropicUnit) as LimitUnit;
    return { member: anthropicMember as Member, window: "1m", windowMs: 60_000, unit };
  }
  const match = COMMON.exec(name);
  const unit = match === null ? undefined : UNITS.get(match[2] ?? "requests");
  if (match === null || unit === undefined) return null;
  const length = match[3] === undefined ? null : readClaim(`1${match[3]}`);
  return {
    member: match[1] as Member,
    window: length?.window ?? "rate",
    windowMs: length?.windowMs ?? null,
    unit,
  };
}

function toLimit(
  { window, windowMs, unit, values }: RawLimit,
  scope: string | null,
  now: Millis,
): StatedLimit[] {
  // Azure states 0 or -1 for what it does not know.
  const limit = readAmount(values.limit) || null;
  const remaining = readAmount(values.remaining);
  const usedPpm = ppmOfRemaining(limit, remaining);
  if (limit === null && (remaining === null || remaining === 0)) return [];
  return [
    {
      ...unknownLimit(window, windowMs, { scope, unit }),
      usedPpm,
      limit,
      remaining,
      resetAt: values.reset === undefined ? null : readClassicReset(values.reset, now),
      status: usedPpm !== null && remaining === 0 ? "exceeded" : null,
    },
  ];
}
