import type { HttpResponse, TransportFailure } from "../../ports/cloud-client.ts";
import type { RejectedRecord } from "../../ports/sync-store.ts";
import type { ClearTimerEffect, LogEffect, SetTimerEffect } from "../../values/machine.ts";
import type { Millis } from "../../values/time.ts";
import type { CloudResult } from "../retry/cloud-result.ts";

/** The content of a batch's 200: one outcome for each record that was sent. Source: docs/specification.md#metadata-batch. */
export interface BatchOutcomes {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly RejectedRecord[];
  /** Records of the batch that the policy, read when sending, withheld. The sender has stamped them as skipped. */
  readonly skipped: readonly string[];
}

/** The result of sending a batch. `outcomes` is `null` unless the response was a valid 200. */
export type BatchResult = (HttpResponse & { readonly outcomes: BatchOutcomes | null }) | TransportFailure;

/** An event of the metadata machine. `random` is in [0, 1) and spreads the backoff. */
export type SyncEvent =
  /** The worker starts, for the first time or after a crash. */
  | { readonly kind: "started"; readonly random: number }
  | { readonly kind: "tick_due" }
  /** `meter cloud sync`. */
  | { readonly kind: "sync_requested" }
  /** Records that are neither synced, skipped nor in quarantine, in order of arrival. */
  | { readonly kind: "records_found"; readonly requestIds: readonly string[] }
  | {
      readonly kind: "batch_answered";
      readonly batchNumber: number;
      readonly result: BatchResult;
      readonly random: number;
    }
  /** `meter cloud pause`. */
  | { readonly kind: "pause_requested" }
  /** `meter cloud resume`. */
  | { readonly kind: "resume_requested" }
  /** A 200 whose body is not a whoami is `invalid_answer`. */
  | { readonly kind: "whoami_answered"; readonly result: CloudResult }
  /** Pairing stored a new token. */
  | { readonly kind: "credentials_replaced" }
  /** `clear_uploader_state` is done. */
  | { readonly kind: "uploader_cleared" };

/** The result of `meter cloud resume`, which exits non-zero if `ok` is false. */
export interface ResumeReport {
  readonly ok: boolean;
  readonly reason:
    | "resumed"
    | "not_connected"
    | "key_invalid"
    | "machine_forbidden"
    | "workspace_deleted"
    | "unconfirmed";
  /** The HTTP status of whoami; null without a response. */
  readonly httpStatus: number | null;
  readonly message: string;
}

/** The result of `meter cloud sync`. `refused`: the cloud refused every batch, down to single records. */
export interface SyncReport {
  readonly ok: boolean;
  readonly reason: "done" | "failed" | "refused" | "paused" | "retry_after";
  readonly message: string;
  readonly accepted: number;
  readonly duplicates: number;
  readonly quarantined: number;
}

/** An effect of the metadata machine. Each is safe to run twice. */
export type SyncEffect =
  /** Answered by `records_found` with at most `limit` records, the oldest or the newest. */
  | { readonly kind: "select_records"; readonly limit: number; readonly from: "oldest" | "newest" }
  /** Always answered by `batch_answered` with the same number, within bounded time. */
  | { readonly kind: "send_batch"; readonly batchNumber: number; readonly requestIds: readonly string[] }
  | { readonly kind: "mark_synced"; readonly requestIds: readonly string[]; readonly at: Millis }
  | {
      readonly kind: "quarantine_records";
      readonly records: readonly RejectedRecord[];
      readonly at: Millis;
    }
  /** Answered by `whoami_answered`. */
  | { readonly kind: "request_whoami" }
  /** Sends `pause_requested` to the uploader. */
  | { readonly kind: "pause_uploader" }
  /** Sends `resume_requested` to the uploader. */
  | { readonly kind: "resume_uploader" }
  /** Sends `credentials_confirmed` to the uploader; answered by `uploader_cleared`. */
  | { readonly kind: "clear_uploader_state" }
  | { readonly kind: "report_resume"; readonly report: ResumeReport }
  | { readonly kind: "report_sync"; readonly report: SyncReport }
  | SetTimerEffect<"tick">
  | ClearTimerEffect<"tick">
  | LogEffect;
