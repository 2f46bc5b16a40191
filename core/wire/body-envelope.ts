import * as v from "valibot";
import { decodeBase64 } from "./base64.ts";
import { count, maybe, name, uuid } from "./fields.ts";
import { isUtf8 } from "./utf8.ts";

/** Largest request of the route in bytes, counted as they come; a larger one is 413. Source: decisions, "Bodies": 2 MiB. */
export const BODY_REQUEST_MAX_BYTES = 2_097_152;

/** Most rule names in a summary. */
const MAX_RULES = 256;

/** `POST /v1/requests/{id}/body`, wire name BodyEnvelopeV021. Source: contract, "Body envelope"; decisions, "Bodies". */
export const bodyEnvelopeSchema = v.pipe(
  v.object({
    request_id: uuid,
    direction: v.picklist(["request", "response"]),
    content_type: name(255),
    /** The redacted bytes, valid UTF-8, in Base64. */
    body_b64: v.string(),
    redaction_applied: v.boolean(),
    redaction_summary: v.pipe(
      v.array(name(64)),
      v.maxLength(MAX_RULES, `must hold at most ${MAX_RULES} names`),
    ),
    /** Before redaction and every cut. */
    original_size_bytes: count,
    /** Additive; absent from older daemons. */
    truncated: maybe(v.boolean()),
  }),
  v.title("BodyEnvelopeV021"),
);

/** One captured leg on its way to the cloud. */
export type BodyEnvelopeV021 = v.InferOutput<typeof bodyEnvelopeSchema>;

/** The bytes of an envelope, or why they can't be had; both reasons are a 400. */
export type OpenedBody =
  | { readonly ok: true; readonly utf8: Uint8Array }
  | { readonly ok: false; readonly reason: "invalid_base64" | "invalid_utf8" };

/** Opens an envelope: strict Base64, then strict UTF-8. Source: contract, "Errors". */
export function openBody(bodyB64: string): OpenedBody {
  const utf8 = decodeBase64(bodyB64);
  if (utf8 === null) return { ok: false, reason: "invalid_base64" };
  return isUtf8(utf8) ? { ok: true, utf8 } : { ok: false, reason: "invalid_utf8" };
}

/** The answer while the workspace's gate is off. Source: contract, "Cloud body gate". */
export const BODY_NOT_STORED = { stored: false, reason: "store_prompt_content_disabled" } as const;

/** A 200 to an envelope, as the daemon reads it. */
export const bodyAnswerSchema = v.object({ stored: v.boolean(), reason: maybe(v.string()) });

/** What a 200 to an envelope says. */
export type BodyAnswerBody = v.InferOutput<typeof bodyAnswerSchema>;

/** What a stored leg says about its redaction. */
export interface LegRedaction {
  readonly applied: boolean;
  readonly summary: readonly string[];
}

/**
 * The redaction of both legs together: `applied` OR-merged, summaries united in order. A leg's flag counts only where
 * its summary names a rule. Source: contract, "Stored body row"; decisions, "Bodies".
 */
export function mergeRedaction(legs: readonly LegRedaction[]): {
  redaction_applied: boolean;
  redaction_summary: string[];
} {
  return {
    redaction_applied: legs.some(({ applied, summary }) => applied && summary.length > 0),
    redaction_summary: [...new Set(legs.flatMap(({ summary }) => summary))],
  };
}
