import type { BodyRef } from "../../ports/sync-store.ts";
import type { ClearTimerEffect, LogEffect, SetTimerEffect } from "../../values/machine.ts";
import type { Millis } from "../../values/time.ts";
import type { CloudResult } from "../retry/cloud-result.ts";
import type { BodyPolicy } from "./body-policy.ts";
import type { BodyResult } from "./upload-outcome.ts";

/** An event of the uploader. `random` is in [0, 1) and spreads the backoff. */
export type UploaderEvent =
  /** The worker starts, for the first time or after a crash. `enabled` is the current configuration. */
  | { readonly kind: "started"; readonly enabled: boolean; readonly random: number }
  | { readonly kind: "tick_due" }
  /** `meter cloud sync`. */
  | { readonly kind: "sync_requested" }
  /** `[cloud.bodies] enabled` was read or changed. */
  | { readonly kind: "body_sync_switched"; readonly enabled: boolean }
  /** `stamp_upload_from` is done: bodies captured from `uploadFrom` on are uploaded, or all if it is `null`. */
  | {
      readonly kind: "upload_from_stamped";
      readonly uploadFrom: Millis | null;
      /** A command has already printed the notice. */
      readonly isAnnounced: boolean;
    }
  | { readonly kind: "bodies_found"; readonly bodies: readonly BodyRef[]; readonly policy: BodyPolicy }
  /** A 200 whose body is not a whoami is `invalid_answer`. `storesBodies` is `null` if the cloud did not say. */
  | {
      readonly kind: "workspace_answered";
      readonly sendNumber: number;
      readonly result: CloudResult;
      readonly storesBodies: boolean | null;
      readonly random: number;
    }
  /** The number of bodies that the configuration allows to be sent. */
  | { readonly kind: "waiting_counted"; readonly count: number }
  | {
      readonly kind: "body_answered";
      readonly sendNumber: number;
      readonly result: BodyResult;
      readonly random: number;
    }
  /** The metadata machine's `pause_uploader`. */
  | { readonly kind: "pause_requested" }
  /** The metadata machine's `resume_uploader`: ends a manual pause only. */
  | { readonly kind: "resume_requested" }
  /** The metadata machine's `clear_uploader_state`: whoami returned 200, or the machine was paired again. */
  | { readonly kind: "credentials_confirmed" };

/** An effect of the uploader. Each is safe to run twice. */
export type UploaderEffect =
  /** Answered by `bodies_found` with the pending bodies of synced requests after `after`, in the store's order, and the current policy. */
  | { readonly kind: "select_bodies"; readonly after: string | null; readonly limit: number }
  /** Checks with whoami whether the workspace stores bodies; answered by `workspace_answered` with the same number. */
  | { readonly kind: "request_workspace"; readonly sendNumber: number }
  /** Answered by `waiting_counted`. */
  | { readonly kind: "count_waiting" }
  /** Sends a body, cut to `maxBytes` by `fitBody`. Always answered by `body_answered` with the same number, within bounded time. */
  | {
      readonly kind: "send_body";
      readonly sendNumber: number;
      readonly requestId: string;
      readonly direction: "request" | "response";
      readonly maxBytes: number;
    }
  | {
      readonly kind: "mark_uploaded";
      readonly requestId: string;
      readonly direction: "request" | "response";
      readonly at: Millis;
    }
  | {
      readonly kind: "quarantine_body";
      readonly requestId: string;
      readonly direction: "request" | "response";
      readonly reason: string;
      readonly httpStatus: number | null;
      readonly at: Millis;
    }
  /** Stores the instant from which bodies are uploaded, unless the configuration sets it; answered by `upload_from_stamped`. */
  | { readonly kind: "stamp_upload_from"; readonly at: Millis }
  | { readonly kind: "print_notice"; readonly message: string }
  | SetTimerEffect<"tick">
  | ClearTimerEffect<"tick">
  | LogEffect;
