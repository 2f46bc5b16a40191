import * as v from "valibot";
import { decodeBase64 } from "./base64.ts";
import { count, maybe, name, uuid } from "./fields.ts";
import { isUtf8 } from "./utf8.ts";

/** Maximum size of a body upload request in bytes; a larger one gets a 413. Source: docs/specification.md#body-envelope: 2 MiB. */
export const BODY_REQUEST_MAX_BYTES = 2_097_152;

/** Maximum number of rule names in a redaction summary. */
const MAX_RULES = 256;

/** The request of `POST /v1/requests/{id}/body`, wire name BodyEnvelopeV021. Source: docs/specification.md#body-envelope. */
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
      v.maxLength(MAX_RULES, `must contain at most ${MAX_RULES} names`),
    ),
    /** The size before redaction and truncation. */
    original_size_bytes: count,
    /** Older daemons do not send this field. */
    truncated: maybe(v.boolean()),
  }),
  v.title("BodyEnvelopeV021"),
);

/** One side of a captured body, as it is uploaded to the cloud. */
export type BodyEnvelopeV021 = v.InferOutput<typeof bodyEnvelopeSchema>;

/** The decoded bytes of an envelope, or why decoding failed. Both reasons are a 400. */
export type DecodedBody =
  | { readonly ok: true; readonly utf8: Uint8Array }
  | { readonly ok: false; readonly reason: "invalid_base64" | "invalid_utf8" };

/** Decodes an envelope's body: strict Base64, then strict UTF-8. Source: docs/specification.md#errors. */
export function decodeBody(bodyB64: string): DecodedBody {
  const utf8 = decodeBase64(bodyB64);
  if (utf8 === null) return { ok: false, reason: "invalid_base64" };
  return isUtf8(utf8) ? { ok: true, utf8 } : { ok: false, reason: "invalid_utf8" };
}

/** The response while the workspace does not store prompt content. Source: docs/specification.md#body-endpoint. */
export const BODY_NOT_STORED = { stored: false, reason: "store_prompt_content_disabled" } as const;

/** The 200 response to a body upload, as the daemon parses it. */
export const bodyUploadResponseSchema = v.object({ stored: v.boolean(), reason: maybe(v.string()) });

/** Whether an uploaded body was stored, and if not, why. */
export type BodyUploadResponse = v.InferOutput<typeof bodyUploadResponseSchema>;

/** The redaction result of one stored side. */
interface SideRedaction {
  readonly applied: boolean;
  readonly summary: readonly string[];
}

/**
 * Merges the redaction results of both sides: `applied` if either side applied a rule, and the union of the summaries in
 * order. A side's flag counts only if its summary names a rule. Source: docs/specification.md#stored-body;
 * docs/specification.md#body-envelope.
 */
export function mergeRedaction(sides: readonly SideRedaction[]): {
  redaction_applied: boolean;
  redaction_summary: string[];
} {
  return {
    redaction_applied: sides.some(({ applied, summary }) => applied && summary.length > 0),
    redaction_summary: [...new Set(sides.flatMap(({ summary }) => summary))],
  };
}
