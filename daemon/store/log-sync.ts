import type { Clock } from "../../core/ports/clock.ts";

/**
 * The maximum age of a record at the start of its sync, in milliseconds. With `synchronous=NORMAL` alone, the record would wait
 * for the next checkpoint or for a commit of the cloud workers: 30 s at one call per second.
 */
export const LOG_SYNC_DELAY_MS = 1_000;

/** Syncs the WAL to disk in the background. */
export interface LogSync {
  /** Reports a commit. `ageMs` is the time since the end of its oldest call, in milliseconds. */
  written(ageMs: number): void;
  stop(): void;
}

/** The state of a log sync. Times are those of the monotonic clock. */
interface State {
  readonly ports: LogSyncPorts;
  /** When the oldest record that is not synced reaches its maximum age; null if everything is synced. */
  dueAtMs: number | null;
  isSyncing: boolean;
  isFailing: boolean;
  stopped: boolean;
  cancel: (() => void) | null;
}

interface LogSyncPorts {
  readonly clock: Pick<Clock, "setTimer">;
  /** Milliseconds of a clock that never steps back. */
  readonly monotonicMs: () => number;
  sync(): Promise<void>;
  /** Called for the first of several failures. */
  failed(error: unknown): void;
}

/**
 * Creates the background sync. No timer runs while nothing is written, and only one sync runs at a time. A record that is late, since
 * the event loop or the last sync was slow, is synced at its commit: waiting for a timer would add the next delay of the event
 * loop. A failed sync is retried after `LOG_SYNC_DELAY_MS`.
 */
export function createLogSync(ports: LogSyncPorts): LogSync {
  const state: State = {
    ports,
    dueAtMs: null,
    isSyncing: false,
    isFailing: false,
    stopped: false,
    cancel: null,
  };
  return {
    written(ageMs) {
      const restMs = Math.min(Math.max(LOG_SYNC_DELAY_MS - ageMs, 0), LOG_SYNC_DELAY_MS);
      const dueAtMs = ports.monotonicMs() + restMs;
      if (state.dueAtMs === null || dueAtMs < state.dueAtMs) {
        state.dueAtMs = dueAtMs;
        cancelTimer(state);
      }
      schedule(state);
    },
    stop() {
      state.stopped = true;
      cancelTimer(state);
    },
  };
}

function cancelTimer(state: State): void {
  state.cancel?.();
  state.cancel = null;
}

/** Starts a sync if it is due, otherwise a timer for it. */
function schedule(state: State): void {
  const { dueAtMs, ports } = state;
  if (dueAtMs === null || state.isSyncing || state.stopped) return;
  const restMs = dueAtMs - ports.monotonicMs();
  if (restMs <= 0) void run(state);
  else state.cancel ??= ports.clock.setTimer(restMs, () => void run(state));
}

async function run(state: State): Promise<void> {
  const { ports } = state;
  cancelTimer(state);
  [state.dueAtMs, state.isSyncing] = [null, true];
  try {
    await ports.sync();
    state.isFailing = false;
  } catch (error) {
    state.dueAtMs = ports.monotonicMs() + LOG_SYNC_DELAY_MS;
    if (!state.isFailing) ports.failed(error);
    state.isFailing = true;
  }
  state.isSyncing = false;
  schedule(state);
}
