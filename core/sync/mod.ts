/**
 * The metadata worker's decisions as a machine: when to send which records, what each answer of the cloud means, when
 * to pause and how to resume. It does nothing by itself: a driver takes its effects, and feeds back what came of them.
 *
 * ```ts
 * import { initialSyncState, syncTransition } from "./mod.ts";
 *
 * const now = Date.UTC(2026, 0, 1);
 * const started = syncTransition(initialSyncState, { kind: "started", random: 0.5 }, now);
 * const ticked = syncTransition(started.state, { kind: "tick_due" }, now);
 * ticked.effects; // [{ kind: "clear_timer", timer: "tick" }, { kind: "select_records", limit: 500 }]
 * ```
 *
 * @module
 */
export { type BatchVerdict, judgeBatch } from "./batch-verdict.ts";
export type {
  BatchAnswer,
  BatchOutcomes,
  RejectedRecord,
  ResumeReport,
  SyncEffect,
  SyncEvent,
  SyncReport,
} from "./sync-events.ts";
export { syncTable, syncTransition } from "./sync-machine.ts";
export { BATCH_MAX_RECORDS } from "./sync-run.ts";
export {
  createSyncState,
  initialSyncState,
  type Suspect,
  type SyncRow,
  type SyncRun,
  type SyncState,
  type SyncStatus,
  statusOfReason,
} from "./sync-state.ts";
export { DRAIN_PAUSE_MS, SYNC_INTERVAL_MS, type SyncStep } from "./sync-steps.ts";
