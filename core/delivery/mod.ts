/**
 * Delivers records and bodies to the cloud, as state machines: `transition(state, event, now)` returns the next state and
 * the effects to run. A machine does no I/O; a driver, such as the one in `adapters/driver`, runs its effects and
 * dispatches the results as events.
 *
 * - `sync/`: sends records in batches, and pauses, resumes and backs off.
 * - `uploader/`: sends captured bodies.
 * - `pairing/`: connects this machine to a workspace.
 * - `retry/`: delays between attempts, and `Retry-After`.
 * - `banner/`: the word that `status` starts with.
 * - `fingerprint/`: recognises a machine that pairs again.
 *
 * ```ts
 * import { initialSyncState, parseRetryAfter, retryDelay, syncTransition } from "./mod.ts";
 *
 * const now = Date.UTC(2026, 0, 1);
 * const { state } = syncTransition(initialSyncState, { kind: "started", random: 0.5 }, now);
 * const ticked = syncTransition(state, { kind: "tick_due" }, now);
 * console.log(ticked.effects.map(({ kind }) => kind)); // [ "clear_timer", "select_records" ]
 *
 * console.log(retryDelay(3, 0.5, parseRetryAfter("120", now))); // 120000
 * ```
 *
 * The meaning of a response of the cloud for a body, and truncation of a body:
 *
 * ```ts
 * import { decideUpload, fitBody } from "./mod.ts";
 *
 * console.log(decideUpload({ kind: "http", status: 425, retryAfterMs: null, stored: null }).kind); // not_yet_synced
 * const utf8 = new TextEncoder().encode("naïve");
 * console.log(fitBody({ utf8, truncated: false, originalSizeBytes: 6 }, 3).utf8.length); // 2: `ï` is not split
 * ```
 *
 * @module
 */
export { type Banner, type BannerFacts, type BannerReason, statusBanner } from "./banner/status-banner.ts";
export type {
  PairingEffect,
  PairingEvent,
  PairingReport,
  PollResult,
  StartResult,
} from "./pairing/pairing-events.ts";
export { pairingTransition } from "./pairing/pairing-machine.ts";
export { initialPairingState, type PairingState } from "./pairing/pairing-state.ts";
export { retryDelay } from "./retry/backoff-delay.ts";
export type { CloudResult } from "./retry/cloud-result.ts";
export { parseRetryAfter } from "./retry/retry-after.ts";
export type { BatchOutcomes, BatchResult, SyncEffect, SyncEvent, SyncReport } from "./sync/sync-events.ts";
export { syncTransition } from "./sync/sync-machine.ts";
export { initialSyncState, type SyncState, type SyncStatus } from "./sync/sync-state.ts";
export { type FittedBody, fitBody } from "./uploader/upload-cap.ts";
export { type BodyResult, decideUpload, type UploadOutcome } from "./uploader/upload-outcome.ts";
export type { UploaderEffect, UploaderEvent } from "./uploader/uploader-events.ts";
export { uploaderTransition } from "./uploader/uploader-machine.ts";
export { initialUploaderState, type UploaderState } from "./uploader/uploader-state.ts";
