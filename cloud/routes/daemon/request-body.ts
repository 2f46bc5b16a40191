import { hashBytes } from "../../../core/values/hash-text.ts";
import { BODY_NOT_STORED, bodyEnvelopeSchema, decodeBody } from "../../../core/wire/body-envelope.ts";
import { problem } from "../../http/problem.ts";
import { type OrRefusal, readPayload } from "../../http/read-payload.ts";
import type { CloudParts } from "../../ports.ts";
import { type ReceivedBody, storeBody } from "../../store/bodies.ts";
import { sealingOf } from "../../store/body-keys.ts";
import type { ApiHandlers } from "../api-call.ts";

/** The route that stores one side of a request's body. */
export const requestBodyHandlers = {
  /**
   * Checks in the order of docs/specification.md#body-endpoint: key, scope and size (before the handler), gate, schema, Base64
   * and UTF-8, and last who sent the request. With the gate off, the envelope is not decoded, stored or logged.
   */
  "POST /v1/requests/:id/body": async ({ parts, key, params, bytes, context, answer }) => {
    const outcome = await storeBody(
      parts.db,
      key.workspaceId,
      { machineId: key.machine?.id ?? null, userId: key.userId },
      sealingOf(parts),
      () => openEnvelope(parts, bytes, params.id),
      parts.clock.now(),
    );
    switch (outcome.kind) {
      case "stored":
        return answer(204);
      case "gate_off":
        return answer(200, BODY_NOT_STORED);
      case "refused":
        return outcome.refusal;
      case "body_key_unavailable":
        parts.log({
          event: "cloud.body_key_unavailable",
          request_id: context.get("requestId"),
          workspace_id: key.workspaceId,
          user_id: key.userId,
          key_id: outcome.keyId,
          reason: outcome.fault,
        });
        return problem("body_key_unavailable");
      default:
        return problem(outcome.kind);
    }
  },
} satisfies Partial<ApiHandlers>;

function openEnvelope({ sha256 }: CloudParts, bytes: Uint8Array, requestId: string): OrRefusal<ReceivedBody> {
  const read = readPayload(bytes, bodyEnvelopeSchema);
  if (!read.ok) return read;
  const envelope = read.value;
  if (envelope.request_id.toLowerCase() !== requestId.toLowerCase()) {
    const errors = [{ field: "request_id", problem: "must be the id in the path" }];
    return { ok: false, refusal: problem("wrong_shape", { errors }) };
  }
  const opened = decodeBody(envelope.body_b64);
  if (!opened.ok) return { ok: false, refusal: problem(opened.reason) };
  return {
    ok: true,
    value: {
      requestId: envelope.request_id,
      direction: envelope.direction,
      contentType: envelope.content_type,
      utf8: opened.utf8,
      sha256: hashBytes(opened.utf8, sha256),
      originalSizeBytes: envelope.original_size_bytes,
      truncated: envelope.truncated,
      redactionApplied: envelope.redaction_applied,
      redactionSummary: envelope.redaction_summary,
    },
  };
}
