import type { ClearTimerEffect, LogEffect, SetTimerEffect } from "../machine.ts";
import type { CloudAnswer, HttpAnswer, TransportAnswer } from "../retry/mod.ts";
import type { Millis } from "../time.ts";

/** A record that the cloud refused by name in a 200. */
export interface RejectedRecord {
  readonly requestId: string;
  readonly code: string;
  readonly message: string;
}

/** What a 200 said of the batch, one outcome for each record that was sent. Source: decisions, "Metadata batch". */
export interface BatchOutcomes {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly RejectedRecord[];
  /** Records of the batch that were not sent: the policy, read when sending, holds them back. The sender stamped them. */
  readonly skipped: readonly string[];
}

/** The answer to a batch; `outcomes` is `null` unless the answer was a 200 whose body could be read. */
export type BatchAnswer = (HttpAnswer & { readonly outcomes: BatchOutcomes | null }) | TransportAnswer;

/** What happened, as far as the metadata machine is concerned. `random` is in [0, 1) and spreads the backoff. */
export type SyncEvent =
  /** The worker begins, for the first time or after a crash. */
  | { readonly kind: "started"; readonly random: number }
  | { readonly kind: "tick_due" }
  /** `meter cloud sync`. */
  | { readonly kind: "sync_requested" }
  /** The oldest records that are not synced, skipped or in quarantine. */
  | { readonly kind: "records_found"; readonly requestIds: readonly string[] }
  | {
      readonly kind: "batch_answered";
      readonly batchNumber: number;
      readonly answer: BatchAnswer;
      readonly random: number;
    }
  /** `meter cloud pause`. */
  | { readonly kind: "pause_requested" }
  /** `meter cloud resume`. */
  | { readonly kind: "resume_requested" }
  /** A 200 only where the body was a whoami; anything else that came with 200 is `invalid_answer`. */
  | { readonly kind: "whoami_answered"; readonly answer: CloudAnswer }
  /** Pairing stored a new token. */
  | { readonly kind: "credentials_replaced" }
  /** `clear_uploader_state` is done. */
  | { readonly kind: "uploader_cleared" };

/** What `meter cloud resume` is told; where `ok` is false it exits non-zero. */
export interface ResumeReport {
  readonly ok: boolean;
  readonly reason: "resumed" | "key_invalid" | "machine_forbidden" | "unconfirmed";
  /** The real status of whoami, where there was one. */
  readonly httpStatus: number | null;
  readonly message: string;
}

/** What `meter cloud sync` is told. */
export interface SyncReport {
  readonly ok: boolean;
  readonly reason: "done" | "failed" | "paused" | "retry_after";
  readonly message: string;
  readonly accepted: number;
  readonly duplicates: number;
  readonly quarantined: number;
}

/** What the metadata machine wants done. Each effect is safe to run twice. */
export type SyncEffect =
  /** Answered by `records_found`. Never more than `limit`, oldest first. */
  | { readonly kind: "select_records"; readonly limit: number }
  /** Answered by `batch_answered` under the same number, in any case and within bounded time. */
  | { readonly kind: "send_batch"; readonly batchNumber: number; readonly requestIds: readonly string[] }
  | { readonly kind: "mark_synced"; readonly requestIds: readonly string[]; readonly at: Millis }
  | {
      readonly kind: "quarantine_records";
      readonly records: readonly RejectedRecord[];
      readonly at: Millis;
    }
  /** Answered by `whoami_answered`. */
  | { readonly kind: "ask_whoami" }
  /** Event `pause_requested` of the uploader. */
  | { readonly kind: "pause_uploader" }
  /** Event `resume_requested` of the uploader. */
  | { readonly kind: "resume_uploader" }
  /** Event `credentials_confirmed` of the uploader; answered by `uploader_cleared`. */
  | { readonly kind: "clear_uploader_state" }
  | { readonly kind: "report_resume"; readonly report: ResumeReport }
  | { readonly kind: "report_sync"; readonly report: SyncReport }
  | SetTimerEffect<"tick">
  | ClearTimerEffect<"tick">
  | LogEffect;
