import type { Sha256 } from "../../core/hash.ts";
import { hashText } from "../../core/hash-text.ts";
import { isLocalOnly } from "../../core/policy/mod.ts";
import type { Driver } from "../../core/ports/driver.ts";
import { createRedact, type Redact } from "../../core/redaction/mod.ts";
import {
  type BodyAnswer,
  type BodyPolicy,
  fitLeg,
  initialUploaderState,
  mayUpload,
  type UploaderEffect,
  type UploaderEvent,
  type UploaderState,
  uploaderTransition,
} from "../../core/uploader/mod.ts";
import { type BodyEnvelopeV021, bodyAnswerSchema, encodeBase64, isUtf8 } from "../../core/wire/mod.ts";
import { writeLogEffect } from "../log-effect.ts";
import type { StoredBody } from "../store/mod.ts";
import { askCloud, readAnswer, readConnection } from "./connection.ts";
import { createUploaderStates } from "./machine-states.ts";
import { noteSent } from "./note-sent.ts";
import type { CloudServicePorts, CloudSettings } from "./ports.ts";
import { resolveWatermark, stampWatermark } from "./upload-watermark.ts";

type SendBody = Extract<UploaderEffect, { kind: "send_body" }>;

/** What came of the legs, counted for whoever asked for a pass. */
export interface UploadCounts {
  uploaded: number;
  quarantined: number;
}

const NOT_SENT: BodyAnswer = { kind: "transport", reason: "aborted" };

/** Makes the body uploader's driver. */
export function createUploaderDriver(
  ports: CloudServicePorts,
  counts: UploadCounts,
  cancelled: Promise<void>,
): Driver<UploaderState, UploaderEvent> {
  const { store, clock, log } = ports;
  /** When the leg in flight was captured: one that was captured anew meanwhile is not what was uploaded. */
  let sentCapture: number | null = null;
  /** Whether the command that switched body sync on has printed the notice. */
  let noticeIsPrinted = false;

  return ports.createDriver({
    transition: uploaderTransition,
    initial: initialUploaderState,
    store: createUploaderStates(store),
    clock,
    timers: { tick: { kind: "tick_due" } },
    handlers: {
      select_bodies: async ({ after, limit }): Promise<UploaderEvent> => {
        // Where the configuration can't be read nothing may go: the run ends, and the supervisor tries again.
        const policy = policyOf(ports, await ports.settings());
        return { kind: "bodies_found", bodies: store.pendingBodies(after, limit), policy };
      },
      send_body: (effect) => ({
        background: sendBody(ports, effect, cancelled, (capturedAt) => {
          sentCapture = capturedAt;
        }).then(
          (answer): UploaderEvent => ({
            kind: "body_answered",
            sendNumber: effect.sendNumber,
            answer,
            random: ports.random(),
          }),
        ),
      }),
      mark_uploaded: ({ requestId, direction, at }) => {
        store.markBodyUploaded({ requestId, direction, capturedAt: sentCapture }, at);
        counts.uploaded += 1;
        return undefined;
      },
      quarantine_body: ({ requestId, direction, reason, httpStatus, at }) => {
        store.quarantineBody({ requestId, direction, reason, httpStatus }, at);
        counts.quarantined += 1;
        return undefined;
      },
      stamp_upload_from: async ({ at }): Promise<UploaderEvent> => {
        const { uploadFrom } = (await ports.settings()).cloud.bodies;
        noticeIsPrinted = stampWatermark(store, uploadFrom, at).wasTold;
        return { kind: "upload_from_stamped" };
      },
      print_notice: ({ message }) => {
        if (!noticeIsPrinted) ports.notice(message);
        return undefined;
      },
      log: (effect) => writeLogEffect(log, effect, "bodies"),
    },
  });
}

/** What the configuration says of bodies now. Source: contract, "Limits": the cap is read again at every drain tick. */
export function policyOf(
  { store, clock }: Pick<CloudServicePorts, "store" | "clock">,
  { cloud }: CloudSettings,
): BodyPolicy {
  const { bodies, upload } = cloud;
  const localOnly = Object.entries(upload.perProject).filter(([, sent]) => !sent);
  return {
    perProject: Object.fromEntries([...Object.entries(bodies.perProject), ...localOnly]),
    uploadFrom: resolveWatermark(store, bodies.uploadFrom, clock.now()),
    maxBodyBytes: bodies.maxBodyBytesPerUpload,
    intervalMs: bodies.syncIntervalSeconds * 1000,
  };
}

/** Sends one leg, if the configuration, read again now, still lets it go. */
async function sendBody(
  ports: CloudServicePorts,
  { requestId, direction, maxBytes }: SendBody,
  cancelled: Promise<void>,
  onSend: (capturedAt: number) => void,
): Promise<BodyAnswer> {
  const { store } = ports;
  const connection = await readConnection(ports).catch(() => null);
  const credentials = connection?.credentials ?? null;
  if (connection === null || credentials === null || !connection.settings.cloud.enabled) return NOT_SENT;
  const { settings } = connection;
  const body = store.readBody(requestId, direction);
  const [request] = store.requestsById([requestId]);
  // Deleted meanwhile, by the user or a sweep.
  if (body === null || request === undefined) return { kind: "held_back" };
  const { project } = request;
  const { capturedAt } = body;
  const policy = policyOf(ports, settings);
  if (
    !settings.cloud.bodies.enabled ||
    isLocalOnly(project, settings.cloud.upload) ||
    !mayUpload({ ...body, project, sizeBytes: body.content.length, position: "" }, policy)
  ) {
    return { kind: "held_back" };
  }
  if (!isUtf8(body.content)) return { kind: "unfit", reason: "the stored text is not UTF-8" };
  const redacted = redactAgain(body, createRedact(settings.redactionRules));
  if (redacted === null) return { kind: "unfit", reason: "the stored text can't be redacted" };
  const envelope = toEnvelope(redacted, maxBytes);
  const noted = await noteSent(ports, {
    kind: "body",
    origin: credentials.origin,
    projects: [project],
    requestIds: [requestId],
    fields: Object.keys(envelope).sort(),
    payload: payloadOf(envelope, ports.sha256),
  });
  if (!noted) return NOT_SENT;
  onSend(capturedAt);
  const reply = await askCloud(ports, credentials, `/v1/requests/${requestId}/body`, {
    method: "POST",
    body: JSON.stringify(envelope),
    cancelled,
  });
  if (reply.kind === "transport") return reply;
  const { status, retryAfterMs } = reply;
  const stored = status === 200 ? (readAnswer(reply, bodyAnswerSchema)?.stored ?? null) : null;
  return { kind: "http", status, retryAfterMs, stored };
}

/**
 * The leg by the rules as they are now, which may know more than those that held when it was captured; null where it could
 * not be searched. Source: decisions, "Bodies": rules run before the local store and before upload, and fail closed.
 */
function redactAgain(body: StoredBody, redact: Redact): StoredBody | null {
  const redacted = redact(new TextDecoder("utf-8", { ignoreBOM: true }).decode(body.content));
  if (!redacted.ok) return null;
  if (redacted.summary.length === 0) return body;
  return {
    ...body,
    content: new TextEncoder().encode(redacted.text),
    redactionApplied: true,
    redactionSummary: [...new Set([...body.redactionSummary, ...redacted.summary])],
  };
}

function toEnvelope(body: StoredBody, maxBytes: number): BodyEnvelopeV021 {
  const { utf8, truncated, originalSizeBytes } = fitLeg({ ...body, utf8: body.content }, maxBytes);
  return {
    request_id: body.requestId,
    direction: body.direction,
    content_type: body.contentType?.slice(0, 255) || "application/octet-stream",
    body_b64: encodeBase64(utf8),
    redaction_applied: body.redactionApplied,
    redaction_summary: [...body.redactionSummary],
    original_size_bytes: originalSizeBytes,
    truncated,
  };
}

/** The outbox holds everything of an envelope but the text itself, which would else lie on the disk twice. */
function payloadOf({ body_b64: sent, ...rest }: BodyEnvelopeV021, sha256: Sha256): string {
  const digest = hashText(sent, sha256);
  return JSON.stringify({ ...rest, body_b64_length: sent.length, body_b64_sha256: digest });
}
