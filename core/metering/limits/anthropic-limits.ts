import type { Millis } from "../../values/time.ts";
import { ppmOfFraction, readClaim, readDecimal, readResetAt } from "./limit-values.ts";
import { type LimitStatus, MAX_LIMITS, type StatedLimit, unknownLimit } from "./stated-limit.ts";

const PREFIX = "anthropic-ratelimit-unified-";
const MEMBER = /^(.{1,64})-(status|utilization|reset)$/;

const STATUSES: ReadonlyMap<string, LimitStatus> = new Map([
  ["allowed", "allowed"],
  ["allowed_warning", "warning"],
  ["rejected", "exceeded"],
]);

type Members = Partial<Record<"status" | "utilization" | "reset", string>>;

/**
 * Reads the limits of a Claude subscription (`anthropic-ratelimit-unified-*`). The headers are not documented: windows are
 * recognised by their names (`5h`, `7d_opus`), and any other name is skipped. The use is a fraction, the reset in seconds since
 * the epoch. `headers` has only such headers, with names in lower case.
 */
export function readAnthropicLimits(headers: ReadonlyMap<string, string>, now: Millis): StatedLimit[] {
  const claims = new Map<string, Members>();
  const claimOf = (name: string): Members => {
    const members = claims.get(name) ?? {};
    if (claims.size < MAX_LIMITS) claims.set(name, members);
    return members;
  };
  for (const [name, value] of headers) {
    const [, claim, member] = MEMBER.exec(name.slice(PREFIX.length)) ?? [];
    if (claim !== undefined) claimOf(claim)[member as keyof Members] = value;
  }
  // The window that decides on this call may be stated by its name alone.
  const deciding = headers.get(`${PREFIX}representative-claim`);
  const limits = [...claims].flatMap(([claim, members]) => readClaimLimit(claim, members, headers, now));
  if (deciding === undefined) return limits;
  const status = headers.get(`${PREFIX}status`);
  const reset = headers.get(`${PREFIX}reset`);
  const members = { ...(status !== undefined && { status }), ...(reset !== undefined && { reset }) };
  return [...limits, ...readClaimLimit(deciding, members, headers, now)];
}

function readClaimLimit(
  claim: string,
  { status, utilization, reset }: Members,
  headers: ReadonlyMap<string, string>,
  now: Millis,
): StatedLimit[] {
  const isOverage = claim === "overage";
  const length = isOverage ? { window: "overage", windowMs: null, scope: null } : readClaim(claim);
  if (length === null) return [];
  const limit: StatedLimit = {
    ...unknownLimit(length.window, length.windowMs, { scope: length.scope }),
    usedPpm: ppmOfFraction(readDecimal(utilization)),
    resetAt: readResetAt(reset, now),
    status: STATUSES.get(status ?? "") ?? null,
  };
  if (limit.usedPpm === null && limit.resetAt === null && limit.status === null) return [];
  // On a plan without paid overage, it is always rejected. That is no limit that was reached.
  if (isOverage && limit.usedPpm === null && !isOverageUsed(headers)) return [];
  return [limit];
}

const isOverageUsed = (headers: ReadonlyMap<string, string>): boolean =>
  headers.get(`${PREFIX}overage-in-use`) === "true" ||
  headers.get(`${PREFIX}overage-disabled-reason`) === "out_of_credits";
