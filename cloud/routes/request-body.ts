import type { Context } from "hono";
import {
  BODY_NOT_STORED,
  BODY_REQUEST_MAX_BYTES,
  bodyEnvelopeSchema,
  openBody,
} from "../../core/wire/mod.ts";
import { problem } from "../errors.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { type Reading, readBytes, readPayload } from "../read-payload.ts";
import { type BodyLeg, storeBody } from "../store/bodies.ts";

/**
 * `POST /v1/requests/{id}/body`. The order of the checks is the contract's and the decisions' ("Bodies"): key and scope
 * before this, then size, gate, shape, Base64 and UTF-8, and last whose the request is. With the gate off, nothing of the
 * envelope is decoded, stored or logged.
 */
export async function postBody(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const bytes = await readBytes(context.req.raw, BODY_REQUEST_MAX_BYTES);
  if (!bytes.ok) return bytes.refusal;
  const requestId = context.req.param("id") ?? "";
  const outcome = await storeBody(
    parts.db,
    context.get("key").workspaceId,
    () => openEnvelope(bytes.value, requestId),
    parts.clock.now(),
  );
  switch (outcome.kind) {
    case "stored":
      return context.body(null, 204);
    case "gate_off":
      return context.json(BODY_NOT_STORED);
    case "refused":
      return outcome.refusal;
    default:
      return problem(outcome.kind);
  }
}

function openEnvelope(bytes: Uint8Array, requestId: string): Reading<BodyLeg> {
  const read = readPayload(bytes, bodyEnvelopeSchema);
  if (!read.ok) return read;
  const envelope = read.value;
  if (envelope.request_id.toLowerCase() !== requestId.toLowerCase()) {
    const errors = [{ field: "request_id", problem: "must be the id in the path" }];
    return { ok: false, refusal: problem("wrong_shape", { errors }) };
  }
  const opened = openBody(envelope.body_b64);
  if (!opened.ok) return { ok: false, refusal: problem(opened.reason) };
  return {
    ok: true,
    value: {
      requestId: envelope.request_id,
      direction: envelope.direction,
      contentType: envelope.content_type,
      utf8: opened.utf8,
      originalSizeBytes: envelope.original_size_bytes,
      truncated: envelope.truncated,
      redactionApplied: envelope.redaction_applied,
      redactionSummary: envelope.redaction_summary,
    },
  };
}
