import type { Log } from "../../core/ports/log.ts";
import { cutUtf8 } from "../../core/text/mod.ts";
import type { Millis } from "../../core/time.ts";
import type { CapturedBody, CoverageKind } from "../store/mod.ts";
import { type BodyBuffer, MAX_CAPTURED_BYTES } from "./body-buffer.ts";
import type { BodyPorts } from "./ports.ts";

/** One leg of a call as it was kept, decoded. */
export interface KeptLeg {
  direction: CapturedBody["direction"];
  body: BodyBuffer;
  contentType: string | null;
}

export interface BodyCapturePorts {
  bodies: BodyPorts;
  log: Log;
  count(what: CoverageKind): void;
}

type Stored = Pick<CapturedBody, "content" | "truncated" | "redactionApplied" | "redactionSummary">;

/**
 * Stores the legs of a call whose project has capture on: redacted, then cut. What can't be redacted is not stored.
 * A leg above the skip threshold is left out whole. Contract, "Limits" and "Events".
 */
export function captureBodies(
  ports: BodyCapturePorts,
  call: { requestId: string; capturedAt: Millis },
  legs: readonly KeptLeg[],
): void {
  for (const { direction, body, contentType } of legs) {
    if (body.totalBytes === 0) continue;
    const bytes = body.bytes();
    if (bytes === null) {
      ports.log.info("addon.body_capture.skip", {
        reason: "body_too_large",
        size_bytes: body.totalBytes,
        gate_bytes: MAX_CAPTURED_BYTES,
      });
      ports.count("body_too_large");
      continue;
    }
    const stored = storable(bytes, ports.bodies);
    if (typeof stored === "string") ports.count(stored);
    else {
      const type = mediaType(contentType);
      ports.bodies.add({ ...call, direction, contentType: type, originalSizeBytes: bytes.length, ...stored });
    }
  }
}

/** Type and subtype alone (RFC 9110, section 8.3.1): a parameter may hold anything, and is sent in clear beside the body. */
function mediaType(contentType: string | null): string | null {
  const [, found = null] =
    /^\s*([\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127})\s*(?:;|$)/.exec(contentType ?? "") ?? [];
  return found?.toLowerCase() ?? null;
}

function storable(bytes: Uint8Array, bodies: BodyPorts): Stored | "body_not_utf8" | "body_not_redactable" {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return "body_not_utf8";
  }
  const redacted = bodies.redact(text);
  if (!redacted.ok) return "body_not_redactable";
  const cut = cutUtf8(redacted.text, bodies.maxBytes);
  return {
    content: new TextEncoder().encode(cut.text),
    truncated: cut.truncated,
    redactionApplied: redacted.summary.length > 0,
    redactionSummary: redacted.summary,
  };
}
