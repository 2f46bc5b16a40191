import type { Millis } from "../../values/time.ts";

/** Time between two sweeps of captured bodies, milliseconds. Source: docs/specification.md#limits: local body retention sweep, daily. */
export const SWEEP_INTERVAL_MS = 86_400_000;

/** Returns the instant before which captured bodies are due for deletion. */
export function sweepCutoff(now: Millis, retentionDays: number): Millis {
  return now - retentionDays * SWEEP_INTERVAL_MS;
}

/** What a sweep would delete, and when the last one ran. */
interface SweepFacts {
  readonly now: Millis;
  /** `null` if none has run yet. */
  readonly lastSweptAt: Millis | null;
  /** Number of stored bodies. */
  readonly stored: number;
  /** Number of bodies due for deletion. */
  readonly due: number;
}

/**
 * Decides whether a sweep runs. A sweep that would delete more than half of the stored bodies is held if the clock may have
 * jumped, that is, if the last sweep is not about a day ago. A person then decides. Source: docs/specification.md#capture.
 */
export function decideSweep({ now, lastSweptAt, stored, due }: SweepFacts): "sweep" | "hold" {
  const mayHaveJumped = lastSweptAt === null || Math.abs(now - lastSweptAt) > 2 * SWEEP_INTERVAL_MS;
  return mayHaveJumped && due * 2 > stored ? "hold" : "sweep";
}
