import type { CoverageKind } from "../../core/metering/coverage/coverage-kinds.ts";
import type { Log } from "../../core/ports/log.ts";
import { truncateText } from "../../core/values/text/truncate-text.ts";
import type { Millis } from "../../core/values/time.ts";
import type { CapturedBody } from "../store/port/bodies.ts";
import { type BodyBuffer, MAX_CAPTURED_BYTES } from "./body-buffer.ts";
import type { BodyPorts } from "./ports.ts";

/** One decoded body of a call. */
export interface CallBody {
  direction: CapturedBody["direction"];
  body: BodyBuffer;
  contentType: string | null;
}

interface BodyCapturePorts {
  bodies: BodyPorts;
  log: Log;
  count(what: CoverageKind): void;
}

type StorableContent = Pick<CapturedBody, "content" | "truncated" | "redactionApplied" | "redactionSummary">;

/**
 * Stores the bodies of a call whose project has capture on. They are redacted, then truncated. A body is not stored if it
 * can't be redacted, exceeds the skip threshold, or did not fit into memory. docs/specification.md#limits and "Events".
 */
export function captureBodies(
  ports: BodyCapturePorts,
  call: { requestId: string; capturedAt: Millis },
  callBodies: readonly CallBody[],
): void {
  for (const { direction, body, contentType } of callBodies) {
    if (body.totalBytes === 0) continue;
    const bytes = body.bytes();
    if (body.state === "no_room") {
      ports.count("body_not_kept");
      continue;
    }
    if (bytes === null) {
      ports.log.info("addon.body_capture.skip", {
        reason: "body_too_large",
        size_bytes: body.totalBytes,
        gate_bytes: MAX_CAPTURED_BYTES,
      });
      ports.count("body_too_large");
      continue;
    }
    const stored = toStorableContent(bytes, ports.bodies);
    if (typeof stored === "string") ports.count(stored);
    else {
      const type = mediaType(contentType);
      ports.bodies.add({ ...call, direction, contentType: type, originalSizeBytes: bytes.length, ...stored });
    }
  }
}

/**
 * Returns the type and subtype (RFC 9110, section 8.3.1) without parameters, which may contain secrets and would be sent
 * without redaction.
 */
function mediaType(contentType: string | null): string | null {
  const [, found = null] =
    /^\s*([\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127})\s*(?:;|$)/.exec(contentType ?? "") ?? [];
  return found?.toLowerCase() ?? null;
}

function toStorableContent(
  bytes: Uint8Array,
  bodies: BodyPorts,
): StorableContent | "body_not_utf8" | "body_not_redactable" {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return "body_not_utf8";
  }
  const redacted = bodies.redact(text);
  if (!redacted.ok) return "body_not_redactable";
  const cut = truncateText(redacted.text, bodies.maxBytes);
  return {
    content: new TextEncoder().encode(cut.text),
    truncated: cut.truncated,
    redactionApplied: redacted.summary.length > 0,
    redactionSummary: redacted.summary,
  };
}
