import fc from "fast-check";
import type { LimitReading, StatedLimit } from "../../../../core/metering/limits/stated-limit.ts";
import { LIMIT_STATUSES, LIMIT_UNITS, MAX_LIMITS } from "../../../../core/metering/limits/stated-limit.ts";
import { anyCharacter } from "../../any-character.rig.ts";

/** The time of the tests, 2026-08-31 09:20 UTC. */
export const now = Date.UTC(2026, 7, 31, 9, 20);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The number of seconds since the epoch. */
export const seconds = (at: number) => `${Math.floor(at / 1_000)}`;

const nothing: StatedLimit = {
  window: "5h",
  windowMs: 5 * HOUR,
  scope: null,
  unit: "share",
  usedPpm: null,
  limit: null,
  remaining: null,
  resetAt: null,
  status: null,
};

/** A limit of 5 hours with these members. */
export const limit = (members: Partial<StatedLimit> = {}): StatedLimit => ({ ...nothing, ...members });

export const reading = (members: Partial<LimitReading> = {}): LimitReading => ({
  ...nothing,
  provider: "anthropic",
  account: "a1",
  seenAt: now,
  ...members,
});

/** Values that a hostile or changed provider may send. */
export const hostileValue = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.constantFrom(
    ...["", "-1", "0", "1e-5", "1e999", "NaN", "Infinity", "0x10", " 5", "5 ", "٣", "1,5", "true", "null"],
    ...[
      "9".repeat(40),
      "a".repeat(300),
      "0.91",
      "1.12",
      "62",
      "1788260000",
      "1788260000000",
      "2026-09-01T00:00:00Z",
      "12ms",
    ],
    ...["6m0s", "2m59.56s", "constructor", "__proto__", "rejected", "allowed_warning", "five_hour", "7d_oi"],
  ),
);

export const hostileJson = fc.oneof(
  hostileValue,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constantFrom(null, undefined, [], {}, Number.NaN, -1, 2 ** 60),
);

/** JSON in the shape of a sample, with missing or hostile members. */
export function damaged(sample: unknown): fc.Arbitrary<unknown> {
  if (Array.isArray(sample))
    return fc.oneof({ weight: 8, arbitrary: fc.tuple(...sample.map(damaged)) }, hostileJson);
  if (typeof sample !== "object" || sample === null)
    return fc.oneof({ weight: 2, arbitrary: fc.constant(sample) }, hostileJson);
  const members = Object.entries(sample).map(([name, value]) => [name, damaged(value)] as const);
  const shape = fc.record(Object.fromEntries(members), { requiredKeys: [] });
  return fc.oneof({ weight: 8, arbitrary: shape }, hostileJson);
}

/** Throws unless the limits can be stored: bounded names, integers in range, and valid resets. */
export function assertSound(limits: readonly StatedLimit[]): void {
  if (limits.length > MAX_LIMITS) throw new Error(`${limits.length} limits`);
  for (const each of limits) {
    const { window, scope, unit, usedPpm, limit: size, remaining, resetAt, status, windowMs } = each;
    const isName = (name: string) => /^[a-z0-9_.:/@-]{1,64}$/.test(name);
    const isWhole = (value: number | null, most = Number.MAX_SAFE_INTEGER) =>
      value === null || (Number.isSafeInteger(value) && value >= 0 && value <= most);
    const ok =
      isName(window) &&
      (scope === null || isName(scope)) &&
      LIMIT_UNITS.includes(unit) &&
      isWhole(usedPpm, 10_000_000) &&
      isWhole(size) &&
      (unit === "credits" ? remaining === null || remaining >= 0 : isWhole(remaining)) &&
      isWhole(windowMs) &&
      (resetAt === null || (Number.isSafeInteger(resetAt) && Math.abs(resetAt - now) <= 400 * DAY)) &&
      (status === null || LIMIT_STATUSES.includes(status));
    if (!ok) throw new Error(`unsound: ${JSON.stringify(each)}`);
  }
}
