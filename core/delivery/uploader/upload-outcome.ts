import type { HttpResponse } from "../../ports/cloud-client.ts";
import { type CloudResult, describeResult } from "../retry/cloud-result.ts";

/**
 * The result of sending one body. `stored` is the flag in a 200's JSON body, `null` if there is none. `unfit`: no envelope
 * could be made of the record, and nothing was sent. `held_back`: the configuration, read again when sending, no longer
 * allows it, and nothing was sent.
 */
export type BodyResult =
  | (HttpResponse & { readonly stored: boolean | null })
  | Exclude<CloudResult, HttpResponse>
  | { readonly kind: "unfit"; readonly reason: string }
  | { readonly kind: "held_back" };

/** What a result means for the body. */
export type UploadOutcome =
  /** `uploaded_at` is stamped. */
  | { readonly kind: "stored" }
  /** The workspace's gate is off. The body stays pending, without failure, backoff, pause or quarantine. */
  | { readonly kind: "policy_rejected" }
  /** The cloud does not have the request yet: skipped until the next tick. */
  | { readonly kind: "not_yet_synced" }
  /** The cloud can't use the key of the project's bodies: all of them are skipped until the next tick. */
  | { readonly kind: "key_unavailable" }
  /** Skipped: it stays pending, and the cursor moves past it. */
  | { readonly kind: "held_back" }
  /** No attempt can succeed: the body goes to `cloud_quarantine`. */
  | { readonly kind: "quarantined"; readonly reason: string; readonly httpStatus: number | null }
  /** Retried after a backoff. */
  | { readonly kind: "transient"; readonly error: string }
  /** The uploader stops. */
  | {
      readonly kind: "paused";
      readonly status: "paused_unauthorised" | "paused_forbidden";
      readonly httpStatus: number;
      readonly error: string;
      readonly code: string | null;
    };

/** The problem code of a body whose record came from another machine or person. No attempt can succeed. */
const NOT_THE_SENDER = "not_the_sender";

/** The problem code of a body whose key the cloud can't use. Each person has one key for each project. */
const KEY_UNAVAILABLE = "body_key_unavailable";

/**
 * Decides what a result means for a body. Source: docs/specification.md#body-uploader; docs/specification.md#bodies (403 pauses,
 * unless it concerns this record alone; 408, 429 and redirects are transient). Only a 204 means stored; any other success is
 * unknown and retried.
 */
export function decideUpload(result: BodyResult): UploadOutcome {
  if (result.kind === "unfit") return { kind: "quarantined", reason: result.reason, httpStatus: null };
  if (result.kind === "held_back") return { kind: "held_back" };
  const error = describeResult(result);
  if (result.kind === "transport") return { kind: "transient", error };
  const { status } = result;
  switch (status) {
    case 204:
      return { kind: "stored" };
    case 200:
      return result.stored === false ? { kind: "policy_rejected" } : { kind: "transient", error };
    case 401:
      return {
        kind: "paused",
        status: "paused_unauthorised",
        httpStatus: status,
        error,
        code: result.code ?? null,
      };
    case 403:
      if (result.code === NOT_THE_SENDER) return { kind: "quarantined", reason: error, httpStatus: status };
      return {
        kind: "paused",
        status: "paused_forbidden",
        httpStatus: status,
        error,
        code: result.code ?? null,
      };
    case 408:
    case 429:
      return { kind: "transient", error };
    case 425:
      return { kind: result.code === KEY_UNAVAILABLE ? "key_unavailable" : "not_yet_synced" };
  }
  return status >= 400 && status < 500
    ? { kind: "quarantined", reason: error, httpStatus: status }
    : { kind: "transient", error };
}
