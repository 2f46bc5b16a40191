import type { FaultRig } from "./fault-rig.ts";

/** One fault of the table in `docs/faults.md`: how it is caused, and what must hold. */
export interface FaultScenario {
  /** For `--only`. */
  readonly name: string;
  /** How the fault is caused. */
  readonly fault: string;
  /** What rows and counters must show. */
  readonly data: string;
  /** What `meter status` and `/health` must show. */
  readonly shown: string;
  /** Whether it takes seconds and needs no special rights, so that `npm run test:faults` includes it. */
  readonly isQuick: boolean;
  /** Why the fault can't be caused here; null if it can. */
  readonly obstacle?: () => string | null;
  /** Rejects if anything differs from what must hold. */
  run(rig: FaultRig): Promise<void>;
}
