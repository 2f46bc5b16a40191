import type { FaultRig } from "./fault-rig.ts";

/** One fault of the table in `docs/faults.md`: how it is brought about, and what has to be so. */
export interface FaultScenario {
  /** For `--only`. */
  readonly name: string;
  /** What is done to the daemon. */
  readonly fault: string;
  /** What rows and counters have to say. */
  readonly data: string;
  /** What `meter status` and `/health` have to show. */
  readonly shown: string;
  /** Takes seconds and needs nothing special, so that it is one of the tests. */
  readonly isQuick: boolean;
  /** Why the fault can't be brought about here; null where it can. */
  readonly obstacle?: () => string | null;
  /** Rejects where something is not as it has to be. */
  run(rig: FaultRig): Promise<void>;
}
