import { type BodyPolicy, mayUpload } from "../../core/delivery/uploader/body-policy.ts";
import { fitBody } from "../../core/delivery/uploader/upload-cap.ts";
import type { BodyResult } from "../../core/delivery/uploader/upload-outcome.ts";
import type { UploaderEffect, UploaderEvent } from "../../core/delivery/uploader/uploader-events.ts";
import { uploaderTransition } from "../../core/delivery/uploader/uploader-machine.ts";
import { initialUploaderState, type UploaderState } from "../../core/delivery/uploader/uploader-state.ts";
import type { Driver } from "../../core/ports/driver.ts";
import { isLocalOnly } from "../../core/privacy/policy/upload-policy.ts";
import { createRedact, type Redact } from "../../core/privacy/redaction/redact.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import { hashText } from "../../core/values/hash-text.ts";
import { encodeBase64 } from "../../core/wire/base64.ts";
import { type BodyEnvelopeV021, bodyUploadResponseSchema } from "../../core/wire/body-envelope.ts";
import { isUtf8 } from "../../core/wire/utf8.ts";
import type { StoredBody } from "../store/port/bodies.ts";
import { writeLogEffect } from "../tasks/log-effect.ts";
import { parseResponse, readConnection, requestCloud, withoutBody } from "./connection.ts";
import { createUploaderStates } from "./machine-states.ts";
import { mergeBodyRules } from "./merge-body-rules.ts";
import type { CloudServicePorts, CloudSettings } from "./ports.ts";
import { recordInOutbox } from "./record-in-outbox.ts";
import { requestWhoami } from "./request-whoami.ts";
import { resolveWatermark, stampWatermark } from "./upload-watermark.ts";

type SendBody = Extract<UploaderEffect, { kind: "send_body" }>;

/** Counts of uploaded and quarantined bodies. */
export interface UploadCounts {
  uploaded: number;
  quarantined: number;
}

const NOT_SENT = { kind: "transport", reason: "aborted" } as const;

/** Creates the body uploader's driver. */
export function createUploaderDriver(
  ports: CloudServicePorts,
  counts: UploadCounts,
  cancelled: Promise<void>,
): Driver<UploaderState, UploaderEvent> {
  const { store, clock, log } = ports;
  /** When the body in flight was captured. If it is captured again in the meantime, it is not marked as uploaded. */
  let sentCapture: number | null = null;

  return ports.createDriver({
    transition: uploaderTransition,
    initial: initialUploaderState,
    store: createUploaderStates(store),
    clock,
    timers: { tick: { kind: "tick_due" } },
    handlers: {
      select_bodies: async ({ after, limit }): Promise<UploaderEvent> => {
        // If the configuration can't be read, this rejects: nothing is sent, and the supervisor restarts the worker.
        const policy = readBodyPolicy(ports, await ports.settings());
        return { kind: "bodies_found", bodies: store.bodyDelivery.pending(after, limit), policy };
      },
      request_workspace: ({ sendNumber }) => ({ background: requestWorkspace(ports, sendNumber) }),
      count_waiting: async (): Promise<UploaderEvent> => {
        const { uploadable } = store.bodyDelivery.totals(readBodyPolicy(ports, await ports.settings()));
        return { kind: "waiting_counted", count: uploadable };
      },
      send_body: (effect) => ({
        background: sendBody(ports, effect, cancelled, (capturedAt) => {
          sentCapture = capturedAt;
        }).then(
          (result): UploaderEvent => ({
            kind: "body_answered",
            sendNumber: effect.sendNumber,
            result,
            random: ports.random(),
          }),
        ),
      }),
      mark_uploaded: ({ requestId, direction, at }) => {
        store.bodyDelivery.markUploaded({ requestId, direction, capturedAt: sentCapture }, at);
        counts.uploaded += 1;
        return undefined;
      },
      quarantine_body: ({ requestId, direction, reason, httpStatus, at }) => {
        store.bodyDelivery.quarantine({ requestId, direction, reason, httpStatus }, at);
        counts.quarantined += 1;
        return undefined;
      },
      stamp_upload_from: async ({ at }): Promise<UploaderEvent> => {
        const { uploadFrom } = (await ports.settings()).cloud.bodies;
        return { kind: "upload_from_stamped", ...stampWatermark(store, uploadFrom, at) };
      },
      print_notice: ({ message }) => {
        ports.notice(message);
        return undefined;
      },
      log: (effect) => writeLogEffect(log, effect, "bodies"),
    },
  });
}

/** Reads the current policy for bodies. docs/specification.md#limits: the cap is read again at every drain tick. */
export function readBodyPolicy(
  { store, clock }: Pick<CloudServicePorts, "store" | "clock">,
  { cloud }: CloudSettings,
): BodyPolicy {
  const { bodies } = cloud;
  return {
    perProject: mergeBodyRules(cloud),
    uploadFrom: resolveWatermark(store, bodies.uploadFrom, clock.now()),
    maxBodyBytes: bodies.maxBodyBytesPerUpload,
    intervalMs: bodies.syncIntervalSeconds * 1000,
  };
}

/** Requests whether the workspace stores bodies. Never rejects. */
async function requestWorkspace(ports: CloudServicePorts, sendNumber: number): Promise<UploaderEvent> {
  const connection = await readConnection(ports).catch(() => null);
  const credentials = connection?.credentials ?? null;
  const { result, whoami } =
    credentials === null || connection?.settings.cloud.enabled !== true
      ? { result: NOT_SENT, whoami: null }
      : await requestWhoami(ports, credentials);
  return {
    kind: "workspace_answered",
    sendNumber,
    result,
    storesBodies: whoami?.workspace.store_prompt_content ?? null,
    random: ports.random(),
  };
}

/** Sends one body, if the current configuration still allows it. */
async function sendBody(
  ports: CloudServicePorts,
  { requestId, direction, maxBytes }: SendBody,
  cancelled: Promise<void>,
  onSend: (capturedAt: number) => void,
): Promise<BodyResult> {
  const { store } = ports;
  const connection = await readConnection(ports).catch(() => null);
  const credentials = connection?.credentials ?? null;
  if (connection === null || credentials === null || !connection.settings.cloud.enabled) return NOT_SENT;
  const { settings } = connection;
  const body = store.bodies.get(requestId, direction);
  const [request] = store.delivery.requestsById([requestId]);
  // Deleted in the meantime, by the user or a sweep.
  if (body === null || request === undefined) return { kind: "held_back" };
  const { project } = request;
  const { capturedAt } = body;
  const policy = readBodyPolicy(ports, settings);
  if (
    !settings.cloud.bodies.enabled ||
    isLocalOnly(project, settings.cloud.upload) ||
    !mayUpload({ ...body, project, sizeBytes: body.content.length, position: "" }, policy)
  ) {
    return { kind: "held_back" };
  }
  if (!isUtf8(body.content)) return { kind: "unfit", reason: "the stored text is not UTF-8" };
  const redacted = redactWithCurrentRules(body, createRedact(settings.redactionRules));
  if (redacted === null) return { kind: "unfit", reason: "the stored text can't be redacted" };
  const envelope = toEnvelope(redacted, maxBytes);
  const isRecorded = await recordInOutbox(ports, {
    kind: "body",
    origin: credentials.origin,
    projects: [project],
    requestIds: [requestId],
    fields: Object.keys(envelope).sort(),
    payload: toOutboxPayload(envelope, ports.sha256),
  });
  if (!isRecorded) return NOT_SENT;
  onSend(capturedAt);
  const reply = await requestCloud(ports, credentials, `/v1/requests/${requestId}/body`, {
    method: "POST",
    body: JSON.stringify(envelope),
    cancelled,
  });
  const answered = withoutBody(reply);
  if (answered.kind === "transport") return answered;
  const stored =
    answered.status === 200 ? (parseResponse(reply, bodyUploadResponseSchema)?.stored ?? null) : null;
  return { ...answered, stored };
}

/**
 * Redacts a body with the current rules, which may find more than the rules at its capture. Returns null if the body can't be
 * searched. docs/specification.md#bodies: rules run before the local store and before upload, and fail closed.
 */
function redactWithCurrentRules(body: StoredBody, redact: Redact): StoredBody | null {
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
  const { utf8, truncated, originalSizeBytes } = fitBody({ ...body, utf8: body.content }, maxBytes);
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

/** Returns the envelope for the outbox, with a digest in place of the text, which the database already contains. */
function toOutboxPayload({ body_b64: sent, ...rest }: BodyEnvelopeV021, sha256: Sha256): string {
  const digest = hashText(sent, sha256);
  return JSON.stringify({ ...rest, body_b64_length: sent.length, body_b64_sha256: digest });
}
