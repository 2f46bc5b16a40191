import { DAY_MS, type Millis } from "../../values/time.ts";
import { monthUntil, ppmOfPercent, readAmount, readDecimal, readName, readResetAt } from "./limit-values.ts";
import { type StatedLimit, unknownLimit, WHOLE_PPM } from "./stated-limit.ts";

const QUOTA = "x-quota-snapshot-";
const RATE = "x-usage-ratelimit-";

/** What remains is stated in percent with one decimal. */
const MAX_PERCENT = 100;

/**
 * Reads GitHub Copilot's quotas: `x-quota-snapshot-premium_interactions: ent=300&rem=29.7&rst=<ISO>`, where `rem` is the
 * percentage that is left, `ent` the size (-1: unlimited) and `rst` the reset; and `x-usage-ratelimit-session` and `-weekly`, of
 * the same form. `headers` has the names in lower case.
 */
export function readCopilotLimits(headers: ReadonlyMap<string, string>, now: Millis): StatedLimit[] {
  const limits: StatedLimit[] = [];
  for (const [name, value] of headers) {
    if (name.startsWith(QUOTA)) {
      const scope = readName(name.slice(QUOTA.length));
      if (scope !== null)
        limits.push(...readSnapshot(value, now, (resetAt) => ({ ...monthUntil(resetAt), scope })));
    } else if (name === `${RATE}weekly`)
      limits.push(...readSnapshot(value, now, () => ({ window: "7d", windowMs: 7 * DAY_MS, scope: null })));
    else if (name === `${RATE}session`)
      limits.push(...readSnapshot(value, now, () => ({ window: "session", windowMs: null, scope: null })));
  }
  return limits;
}

function readSnapshot(
  value: string,
  now: Millis,
  windowOf: (resetAt: Millis | null) => Pick<StatedLimit, "window" | "windowMs" | "scope">,
): StatedLimit[] {
  const members = readMembers(value);
  const left = readDecimal(members.get("rem"));
  if (members.get("ent") === "-1" || left === null || left > MAX_PERCENT) return [];
  const resetAt = readResetAt(members.get("rst"), now);
  const { window, windowMs, scope } = windowOf(resetAt);
  return [
    {
      ...unknownLimit(window, windowMs, { scope }),
      usedPpm: WHOLE_PPM - (ppmOfPercent(left) as number),
      limit: readAmount(members.get("ent")) || null,
      resetAt,
      status: left === 0 ? "exceeded" : null,
    },
  ];
}

/** Reads `name=value` pairs, whose values may be percent-encoded. */
function readMembers(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split("&").map((pair) => {
      const [name = "", value = ""] = pair.split("=", 2);
      return [name, decodePercent(value)];
    }),
  );
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
