import { type CloudAnswer, describeAnswer, type HttpAnswer } from "../retry/mod.ts";

/**
 * The answer to one body. `stored` is the flag of a 200's JSON body, `null` where there was none to read.
 * `unfit`: the record could not be made into an envelope at all, and nothing was sent. `held_back`: nothing was sent,
 * because the configuration, read again when sending, no longer allows it.
 */
export type BodyAnswer =
  | (HttpAnswer & { readonly stored: boolean | null })
  | Exclude<CloudAnswer, HttpAnswer>
  | { readonly kind: "unfit"; readonly reason: string }
  | { readonly kind: "held_back" };

/** What becomes of the record. */
export type UploadOutcome =
  /** `uploaded_at` is stamped. */
  | { readonly kind: "stored" }
  /** The workspace's gate is off: the record stays pending; neither failure nor backoff, pause or quarantine. */
  | { readonly kind: "policy_rejected" }
  /** The cloud does not have the request yet: passed over until the next tick. */
  | { readonly kind: "not_yet_synced" }
  /** Passed over: it stays as it is, and the cursor moves on. */
  | { readonly kind: "held_back" }
  /** No try will ever succeed: to `cloud_quarantine`, and on to the next. */
  | { readonly kind: "quarantined"; readonly reason: string; readonly httpStatus: number | null }
  /** Tried again after a backoff. */
  | { readonly kind: "transient"; readonly error: string }
  /** The uploader stops. */
  | {
      readonly kind: "paused";
      readonly status: "paused_unauthorised" | "paused_forbidden";
      readonly httpStatus: number;
      readonly error: string;
    };

/**
 * One answer, one outcome. Source: contract, "Daemon body uploader"; decisions, "Bodies" (403 pauses; 408, 429 and
 * redirects are transient). Only a 204 means stored: any other success is not the contract's, and tried again.
 */
export function decideUpload(answer: BodyAnswer): UploadOutcome {
  if (answer.kind === "unfit") return { kind: "quarantined", reason: answer.reason, httpStatus: null };
  if (answer.kind === "held_back") return { kind: "held_back" };
  const error = describeAnswer(answer);
  if (answer.kind === "transport") return { kind: "transient", error };
  const { status } = answer;
  switch (status) {
    case 204:
      return { kind: "stored" };
    case 200:
      return answer.stored === false ? { kind: "policy_rejected" } : { kind: "transient", error };
    case 401:
      return { kind: "paused", status: "paused_unauthorised", httpStatus: status, error };
    case 403:
      return { kind: "paused", status: "paused_forbidden", httpStatus: status, error };
    case 408:
    case 429:
      return { kind: "transient", error };
    case 425:
      return { kind: "not_yet_synced" };
  }
  return status >= 400 && status < 500
    ? { kind: "quarantined", reason: error, httpStatus: status }
    : { kind: "transient", error };
}
