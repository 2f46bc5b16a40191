import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import { decideSweep, SWEEP_INTERVAL_MS, sweepCutoff } from "../../core/privacy/retention/sweep.ts";
import { parseInstant } from "../../core/wire/instant.ts";
import type { Store } from "../store/port/store.ts";
import { logTaskCrash } from "./log-task-crash.ts";

/** The key of the time of the last sweep. */
const SWEPT_AT = "bodies_swept_at";

/** How long after the start the first sweep runs, in milliseconds. It does not run at once, so that it does not delay the start. */
const FIRST_SWEEP_MS = 60_000;

/** The parts of the store that a sweep uses. */
type SweepStore = Pick<Store, "bodies" | "notes">;

/** The ports of the sweep. */
interface BodySweepPorts {
  readonly store: SweepStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly retentionDays: number;
  /** Milliseconds of a clock that never steps back. */
  readonly monotonicMs: () => number;
  /** Runs the work once, after the current turn of the event loop. */
  readonly atTurnEnd: (work: () => void) => void;
}

/** The daily sweep. */
export interface BodySweep {
  /** How many due bodies are kept because the clock may have jumped, or null. */
  readonly held: number | null;
  stop(): void;
}

/** Deletes the due bodies, a batch in each turn of the event loop, and returns their number. Source: docs/specification.md#limits. */
export async function sweepBodies(
  { store, retentionDays, atTurnEnd }: Pick<BodySweepPorts, "store" | "retentionDays" | "atTurnEnd">,
  now: number,
): Promise<number> {
  const before = sweepCutoff(now, retentionDays);
  let deleted = 0;
  for (let some = store.bodies.deleteSome(before); some > 0; some = store.bodies.deleteSome(before)) {
    deleted += some;
    await new Promise<void>((resolve) => atTurnEnd(resolve));
  }
  store.notes.write(SWEPT_AT, new Date(now).toISOString());
  return deleted;
}

/** Starts the sweep, which runs one minute after the start and then daily. A sweep that fails is retried the next day. */
export function startBodySweep(ports: BodySweepPorts): BodySweep {
  const { store, clock, log, retentionDays, monotonicMs } = ports;
  let held: number | null = null;
  let stopped = false;

  const sweep = async () => {
    const now = clock.now();
    const stored = store.bodies.countBefore(Number.MAX_SAFE_INTEGER);
    const due = store.bodies.countBefore(sweepCutoff(now, retentionDays));
    const lastSweptAt = parseInstant(store.notes.read(SWEPT_AT) ?? "");
    if (decideSweep({ now, lastSweptAt, stored, due }) === "hold") {
      held = due;
      log.warn("daemon.warning", {
        warning: `${due} of ${stored} captured bodies passed their retention at once. The clock may have jumped, so they are kept. Delete them: meter bodies sweep`,
      });
      return;
    }
    held = null;
    const startedAt = monotonicMs();
    const deleted = await sweepBodies(ports, now);
    log.info("bodies.retention_sweep", {
      deleted,
      retention_days: retentionDays,
      elapsed_ms: Math.round(monotonicMs() - startedAt),
    });
  };

  const round = () => {
    cancel = clock.setTimer(SWEEP_INTERVAL_MS, round);
    sweep().catch((cause: unknown) => {
      if (!stopped) logTaskCrash(log, "retention_sweep", cause);
    });
  };
  let cancel = clock.setTimer(FIRST_SWEEP_MS, round);
  return {
    get held() {
      return held;
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}
