import type { Clock } from "../core/ports/clock.ts";
import type { Log } from "../core/ports/log.ts";
import { judgeSweep, SWEEP_INTERVAL_MS, sweepBefore } from "../core/retention/mod.ts";
import { parseInstant } from "../core/wire/mod.ts";
import { errorName } from "./error-name.ts";
import type { Store } from "./store/mod.ts";

/** Where the store notes the last sweep. */
const SWEPT_AT = "bodies_swept_at";

/** How long after the start the first sweep is, milliseconds: what a person waits for comes first. */
const FIRST_SWEEP_MS = 60_000;

/** What a sweep needs of the store. */
export type SweepStore = Pick<Store, "countBodies" | "deleteBodies" | "readMeta" | "writeMeta">;

/** What sweeps need. */
export interface BodySweepPorts {
  readonly store: SweepStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly retentionDays: number;
  /** Milliseconds of a clock that never steps back. */
  readonly monotonicMs: () => number;
  /** Runs the work after what the event loop has to do now. */
  readonly atTurnEnd: (work: () => void) => void;
}

/** Sweeps that go on daily. */
export interface BodySweep {
  /** How many bodies are due but held, since the clock may have jumped; else null. */
  readonly held: number | null;
  stop(): void;
}

/** Deletes what is due, a part in each turn of the event loop. Gives the number of legs. Source: contract, "Limits". */
export async function sweepBodies(
  { store, retentionDays, atTurnEnd }: Pick<BodySweepPorts, "store" | "retentionDays" | "atTurnEnd">,
  now: number,
): Promise<number> {
  const before = sweepBefore(now, retentionDays);
  let deleted = 0;
  for (let some = store.deleteBodies(before); some > 0; some = store.deleteBodies(before)) {
    deleted += some;
    await new Promise<void>((resolve) => atTurnEnd(resolve));
  }
  store.writeMeta(SWEPT_AT, new Date(now).toISOString());
  return deleted;
}

/** Sweeps a minute after the start and then daily. A sweep that fails is tried again the next day. */
export function startBodySweep(ports: BodySweepPorts): BodySweep {
  const { store, clock, log, retentionDays, monotonicMs } = ports;
  let held: number | null = null;
  let stopped = false;

  const sweep = async () => {
    const now = clock.now();
    const stored = store.countBodies(Number.MAX_SAFE_INTEGER);
    const due = store.countBodies(sweepBefore(now, retentionDays));
    const lastSweptAt = parseInstant(store.readMeta(SWEPT_AT) ?? "");
    if (judgeSweep({ now, lastSweptAt, stored, due }) === "hold") {
      held = due;
      log.warn("daemon.warning", {
        warning: `${due} of ${stored} captured bodies are past their retention at once; the clock may have jumped, so they are kept: meter bodies sweep deletes them`,
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
      if (!stopped) log.error("daemon.task_crashed", { task: "retention_sweep", error: errorName(cause) });
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
