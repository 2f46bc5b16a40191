/**
 * What becomes of a captured body: which legs may be sent, how much of each, what one answer of the cloud means for one
 * leg (`decideUpload`), and the small machine around it that ticks, backs off and pauses on its own.
 *
 * ```ts
 * import { decideUpload, fitLeg, parseUploadFrom } from "./mod.ts";
 *
 * decideUpload({ kind: "http", status: 204, retryAfterMs: null, stored: null }); // { kind: "stored" }
 * decideUpload({ kind: "http", status: 425, retryAfterMs: null, stored: null }); // { kind: "not_yet_synced" }
 * parseUploadFrom("2026-01-01T01:00:00+01:00"); // { kind: "instant", at: 1767225600000 }
 *
 * const utf8 = new TextEncoder().encode("naïve");
 * fitLeg({ utf8, truncated: false, originalSizeBytes: 6 }, 3).utf8.length; // 2: `ï` takes two bytes, and is not split
 * ```
 *
 * @module
 */
export { type BodyPolicy, type BodyRef, mayUpload } from "./body-policy.ts";
export {
  clampUploadCap,
  type FittedLeg,
  fitLeg,
  truncateUtf8,
  UPLOAD_CAP_DEFAULT_BYTES,
  UPLOAD_CAP_MAX_BYTES,
} from "./upload-cap.ts";
export { parseUploadFrom, type UploadFrom, watermarkOf } from "./upload-from.ts";
export { type BodyAnswer, decideUpload, type UploadOutcome } from "./upload-outcome.ts";
export { BODY_PAGE_SIZE, type UploaderStep } from "./upload-steps.ts";
export type { UploaderEffect, UploaderEvent } from "./uploader-events.ts";
export { uploaderTable, uploaderTransition } from "./uploader-machine.ts";
export {
  createUploaderState,
  initialUploaderState,
  type UploaderRow,
  type UploaderState,
  type UploaderStatus,
  type UploadRun,
} from "./uploader-state.ts";
