import type { ClearTimerEffect, LogEffect, SetTimerEffect } from "../machine.ts";
import type { Millis } from "../time.ts";
import type { BodyPolicy, BodyRef } from "./body-policy.ts";
import type { BodyAnswer } from "./upload-outcome.ts";

/** What happened, as far as the uploader is concerned. `random` is in [0, 1) and spreads the backoff. */
export type UploaderEvent =
  /** The worker begins, for the first time or after a crash. `enabled` is what the configuration says now. */
  | { readonly kind: "started"; readonly enabled: boolean; readonly random: number }
  | { readonly kind: "tick_due" }
  /** `meter cloud sync`. */
  | { readonly kind: "sync_requested" }
  /** `[cloud.bodies] enabled` was read or changed. */
  | { readonly kind: "body_sync_switched"; readonly enabled: boolean }
  /** `stamp_upload_from` is done. */
  | { readonly kind: "upload_from_stamped" }
  | { readonly kind: "bodies_found"; readonly bodies: readonly BodyRef[]; readonly policy: BodyPolicy }
  | {
      readonly kind: "body_answered";
      readonly sendNumber: number;
      readonly answer: BodyAnswer;
      readonly random: number;
    }
  /** The metadata machine's `pause_uploader`. */
  | { readonly kind: "pause_requested" }
  /** The metadata machine's `resume_uploader`: ends the operator's pause alone. */
  | { readonly kind: "resume_requested" }
  /** The metadata machine's `clear_uploader_state`: whoami answered 200, or the machine was paired anew. */
  | { readonly kind: "credentials_confirmed" };

/** What the uploader wants done. Each effect is safe to run twice. */
export type UploaderEffect =
  /** Answered by `bodies_found`: pending legs of synced requests behind `after`, in the store's order, and the policy as it is now. */
  | { readonly kind: "select_bodies"; readonly after: string | null; readonly limit: number }
  /** Answered by `body_answered` under the same number, in any case and within bounded time. Cut with `fitLeg` to `maxBytes`. */
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
  /** Writes the instant into `upload_from`; answered by `upload_from_stamped`. */
  | { readonly kind: "stamp_upload_from"; readonly at: Millis }
  | { readonly kind: "print_notice"; readonly message: string }
  | SetTimerEffect<"tick">
  | ClearTimerEffect<"tick">
  | LogEffect;
