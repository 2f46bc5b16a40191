import type { BatchResult, SyncEvent } from "../../../../core/delivery/sync/sync-events.ts";
import { syncTable, syncTransition } from "../../../../core/delivery/sync/sync-machine.ts";
import { createSyncState, type SyncState } from "../../../../core/delivery/sync/sync-state.ts";

export const machine = { transition: syncTransition, table: syncTable };

export const tick: SyncEvent = { kind: "tick_due" };
export const pause: SyncEvent = { kind: "pause_requested" };
export const resume: SyncEvent = { kind: "resume_requested" };
export const start: SyncEvent = { kind: "started", random: 0.5 };
export const request: SyncEvent = { kind: "sync_requested" };
export const paired: SyncEvent = { kind: "credentials_replaced" };

/** An HTTP answer without outcomes. */
export function http(status: number, retryAfterMs: number | null = null): BatchResult {
  return { kind: "http", status, retryAfterMs, outcomes: null };
}

/** A 200 with outcomes. */
export function ok(
  accepted: number,
  duplicates = 0,
  rejected: readonly string[] = [],
  skipped: readonly string[] = [],
): BatchResult {
  return {
    kind: "http",
    status: 200,
    retryAfterMs: null,
    outcomes: {
      accepted,
      duplicates,
      rejected: rejected.map((requestId) => ({ requestId, code: "invalid", message: "no" })),
      skipped,
    },
  };
}

export const noAnswer: BatchResult = { kind: "transport", reason: "connection_reset" };

export function answered(batchNumber: number, result: BatchResult, random = 0.5): SyncEvent {
  return { kind: "batch_answered", batchNumber, result, random };
}

export function found(...requestIds: string[]): SyncEvent {
  return { kind: "records_found", requestIds };
}

export function whoami(status: number, code?: string): SyncEvent {
  const result = { kind: "http", status, retryAfterMs: null, ...(code !== undefined && { code }) } as const;
  return { kind: "whoami_answered", result };
}

/** The state of a row that is paused for the reason, after two failures. */
export function pausedState(pausedReason: string | null): SyncState {
  return createSyncState({
    pausedReason,
    consecutiveFailures: 2,
    lastError: "HTTP 503",
    lastErrorAt: 1,
    lastTickAt: 1,
  });
}

/** A state with these records in flight as batch 1. */
export function sendingState(...requestIds: string[]): SyncState {
  const started = syncTransition(
    createSyncState({ ...pausedState(null), consecutiveFailures: 0 }),
    { kind: "tick_due" },
    0,
  );
  return syncTransition(started.state, found(...requestIds), 0).state;
}
