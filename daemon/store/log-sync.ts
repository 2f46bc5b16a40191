import type { Clock } from "../../core/ports/clock.ts";

/**
 * The maximum time between the commit of a record and the start of its sync, in milliseconds. With `synchronous=NORMAL` alone,
 * the record would wait for the next checkpoint or for a commit of the cloud workers: 30 s at one call per second.
 */
export const LOG_SYNC_DELAY_MS = 1_000;

/** Syncs the WAL to disk in the background. */
export interface LogSync {
  /** Reports a commit. */
  written(): void;
  stop(): void;
}

/**
 * Creates the background sync. No timer runs while nothing is written, and only one sync runs at a time. A failed sync is
 * retried after the same delay. `failed` is called for the first of several failures.
 */
export function createLogSync(
  clock: Pick<Clock, "setTimer">,
  sync: () => Promise<void>,
  failed: (error: unknown) => void,
): LogSync {
  let isDirty = false;
  let isSyncing = false;
  let isFailing = false;
  let stopped = false;
  let cancel: (() => void) | null = null;

  const schedule = () => {
    if (!isDirty || isSyncing || stopped) return;
    cancel ??= clock.setTimer(LOG_SYNC_DELAY_MS, () => void run());
  };
  async function run(): Promise<void> {
    [cancel, isDirty, isSyncing] = [null, false, true];
    try {
      await sync();
      isFailing = false;
    } catch (error) {
      isDirty = true;
      if (!isFailing) failed(error);
      isFailing = true;
    }
    isSyncing = false;
    schedule();
  }
  return {
    written() {
      isDirty = true;
      schedule();
    },
    stop() {
      stopped = true;
      cancel?.();
    },
  };
}
