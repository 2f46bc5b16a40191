import type { Millis } from "../time.ts";

/** Time between two sweeps of captured bodies, milliseconds. Source: contract, "Limits": local body retention sweep, daily. */
export const SWEEP_INTERVAL_MS = 86_400_000;

/** Bodies captured before this instant are due. */
export function sweepBefore(now: Millis, retentionDays: number): Millis {
  return now - retentionDays * SWEEP_INTERVAL_MS;
}

/** What a sweep would do, and when the last one was. */
export interface SweepFacts {
  readonly now: Millis;
  /** `null` where there was none yet. */
  readonly lastSweptAt: Millis | null;
  /** Bodies that are stored. */
  readonly stored: number;
  /** Those of them that are due. */
  readonly due: number;
}

/**
 * Whether a sweep goes ahead. One that would delete more than half of what is stored is held where the clock may have
 * jumped: where the last sweep is not a day or so ago. Then a person decides. Source: decisions, "Daemon".
 */
export function judgeSweep({ now, lastSweptAt, stored, due }: SweepFacts): "sweep" | "hold" {
  const mayHaveJumped = lastSweptAt === null || Math.abs(now - lastSweptAt) > 2 * SWEEP_INTERVAL_MS;
  return mayHaveJumped && due * 2 > stored ? "hold" : "sweep";
}
