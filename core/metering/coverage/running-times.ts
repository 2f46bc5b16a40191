import { MINUTE_MS, type Millis } from "../../values/time.ts";

/** A time in which a daemon ran without interruption, or one in which it did not. */
export interface RunningTime {
  readonly from: Millis;
  readonly to: Millis;
}

/** How often a running daemon records that it runs, in milliseconds. */
export const RUNNING_STEP_MS = MINUTE_MS;

/**
 * The shortest stop that is reported, in milliseconds. The end of a crashed run is known only to within one step, and a restart takes
 * seconds.
 */
export const MIN_STOP_MS = 2 * RUNNING_STEP_MS;

/** The longest silence within a run, in milliseconds. After a longer one, the daemon was stopped or the machine was asleep. */
const MAX_SILENCE_MS = 3 * RUNNING_STEP_MS;

/** Returns the current run of a daemon: the known one continued, or a new one if the machine slept or its clock was set back. */
export function continueRun(run: RunningTime, now: Millis): RunningTime {
  const isContinued = now >= run.to && now - run.to <= MAX_SILENCE_MS;
  return { from: isContinued ? run.from : now, to: now };
}

/**
 * Returns the times between two runs within a period, the earliest first. Runs may overlap and be in any order. Before the first
 * run and after the last one, it is unknown whether the daemon ran, so neither is reported.
 */
export function findStoppedTimes(
  runs: readonly RunningTime[],
  { from, to }: { readonly from: Millis | null; readonly to: Millis | null },
): RunningTime[] {
  const stopped: RunningTime[] = [];
  let end: Millis | null = null;
  for (const run of runs.toSorted((one, other) => one.from - other.from)) {
    if (end !== null && run.from - end >= MIN_STOP_MS) stopped.push({ from: end, to: run.from });
    end = Math.max(end ?? run.to, run.to);
  }
  return stopped
    .map((time) => ({ from: Math.max(time.from, from ?? time.from), to: Math.min(time.to, to ?? time.to) }))
    .filter((time) => time.from < time.to);
}

/**
 * Returns the times within a period in which no machine ran: at least one of them is known to have stopped, and none is known to
 * have run. Each machine has its runs.
 */
export function findSharedStoppedTimes(
  machines: readonly (readonly RunningTime[])[],
  period: { readonly from: Millis; readonly to: Millis },
): RunningTime[] {
  const own = machines.flatMap((runs) => findStoppedTimes(runs, period));
  // Between the last run of one machine and the first one of another, it is unknown whether either ran.
  return findStoppedTimes(machines.flat(), period).filter(({ from, to }) =>
    own.some((time) => time.from <= from && time.to >= to),
  );
}

/** Returns how much of each span is stopped time, in milliseconds. Both are in order, and neither overlap. */
export function measureStoppedMs(stopped: readonly RunningTime[], spans: readonly RunningTime[]): number[] {
  let first = 0;
  return spans.map(({ from, to }) => {
    while ((stopped[first]?.to ?? to) <= from) first += 1;
    let ms = 0;
    for (const time of stopped.slice(first)) {
      if (time.from >= to) break;
      ms += Math.min(time.to, to) - Math.max(time.from, from);
    }
    return ms;
  });
}
