import type {
  BatchResult,
  ResumeReport,
  SyncEvent,
  SyncReport,
} from "../../core/delivery/sync/sync-events.ts";
import { syncTransition } from "../../core/delivery/sync/sync-machine.ts";
import { initialSyncState, type SyncState } from "../../core/delivery/sync/sync-state.ts";
import type { CloudClientResult } from "../../core/ports/cloud-client.ts";
import type { CloudCredentials } from "../../core/ports/cloud-credentials.ts";
import type { Driver } from "../../core/ports/driver.ts";
import type { RejectedRecord } from "../../core/ports/sync-store.ts";
import { createIdHash } from "../../core/privacy/policy/id-hash.ts";
import { toOutgoingRecord } from "../../core/privacy/policy/outgoing-record.ts";
import { choosePromptHashForm } from "../../core/privacy/policy/prompt-hash.ts";
import { isLocalOnly, sentFields, type UploadPolicy } from "../../core/privacy/policy/upload-policy.ts";
import { batchResponseSchema } from "../../core/wire/metadata-batch.ts";
import type { MetadataRecord } from "../../core/wire/metadata-record.ts";
import { writeLogEffect } from "../tasks/log-effect.ts";
import { parseResponse, readConnection, requestCloud, withoutBody } from "./connection.ts";
import { delay } from "./delay.ts";
import { createSyncStates } from "./machine-states.ts";
import type { CloudServicePorts, CloudSettings } from "./ports.ts";
import { recordInOutbox } from "./record-in-outbox.ts";
import { requestWhoami } from "./request-whoami.ts";

/** The effects of the sync machine on the uploader, and its reports. */
interface SyncWorkerHooks {
  pauseUploader(): Promise<void>;
  resumeUploader(): Promise<void>;
  clearUploader(): Promise<void>;
  reportResume(report: ResumeReport): void;
  reportSync(report: SyncReport): void;
}

/** The result if nothing was sent because the configuration or the credentials can't be read. */
const NOT_SENT: BatchResult = { kind: "transport", reason: "aborted" };

/** Creates the sync worker's driver, which performs the effects of the sync machine. */
export function createSyncDriver(
  ports: CloudServicePorts,
  hooks: SyncWorkerHooks,
  cancelled: Promise<void>,
): Driver<SyncState, SyncEvent> {
  const { store, clock, log } = ports;
  /** The requests of the latest batch with incomplete usage. The usage may be completed before the response arrives. */
  let sentIncomplete: ReadonlySet<string> = new Set();
  return ports.createDriver({
    transition: syncTransition,
    initial: initialSyncState,
    store: createSyncStates(store),
    clock,
    timers: { tick: { kind: "tick_due" } },
    handlers: {
      select_records: async ({ limit, from }): Promise<SyncEvent> => ({
        kind: "records_found",
        requestIds: await selectRecords(ports, limit, from),
      }),
      send_batch: ({ batchNumber, requestIds }) => ({
        background: sendBatch(ports, requestIds, cancelled, (ids) => {
          sentIncomplete = ids;
        }).then(
          (result): SyncEvent => ({ kind: "batch_answered", batchNumber, result, random: ports.random() }),
        ),
      }),
      mark_synced: ({ requestIds, at }) => {
        const changed = findCompleted(store, requestIds, sentIncomplete);
        const synced = requestIds.filter((id) => !changed.has(id));
        store.delivery.settle({ synced, skipped: [], quarantined: [], at });
        saveContact(store, at);
        return undefined;
      },
      quarantine_records: ({ records, at }) => {
        store.delivery.settle({ synced: [], skipped: [], quarantined: records.map(toEntry(at)), at });
        return undefined;
      },
      request_whoami: () => ({ background: requestWhoamiForResume(ports) }),
      ...hookHandlers(hooks),
      log: (effect) => writeLogEffect(log, effect, "sync"),
    },
  });
}

/** The handlers of the effects that concern others than the sync machine. */
function hookHandlers(hooks: SyncWorkerHooks) {
  return {
    pause_uploader: async () => {
      await hooks.pauseUploader();
      return undefined;
    },
    resume_uploader: async () => {
      await hooks.resumeUploader();
      return undefined;
    },
    clear_uploader_state: async (): Promise<SyncEvent> => {
      await hooks.clearUploader();
      return { kind: "uploader_cleared" };
    },
    report_resume: ({ report }: { readonly report: ResumeReport }) => {
      hooks.reportResume(report);
      return undefined;
    },
    report_sync: ({ report }: { readonly report: SyncReport }) => {
      hooks.reportSync(report);
      return undefined;
    },
  };
}

/** Finds the requests that were sent with incomplete usage and are complete now. They are sent again. */
function findCompleted(
  store: CloudServicePorts["store"],
  requestIds: readonly string[],
  sentIncomplete: ReadonlySet<string>,
): ReadonlySet<string> {
  const incomplete = requestIds.filter((id) => sentIncomplete.has(id));
  const complete = store.delivery.requestsById(incomplete).filter(({ tokensComplete }) => tokensComplete);
  return new Set(complete.map(({ requestId }) => requestId));
}

/** The accuracy of `last_connected_at` during sync, in milliseconds. It is not written more often, because each write waits for the disk. */
const CONTACT_WRITE_INTERVAL_MS = 60_000;

function saveContact(store: CloudServicePorts["store"], at: number): void {
  const { last_connected_at: before } = store.delivery.readState("cloud_state");
  if (before !== null && before <= at && at - before < CONTACT_WRITE_INTERVAL_MS) return;
  store.delivery.updateState("cloud_state", { last_connected_at: at });
}

function toEntry(at: number) {
  return ({ requestId, code, message }: RejectedRecord) => {
    const status = /^http_(\d{3})$/.exec(code)?.[1];
    return {
      kind: "metadata" as const,
      requestId,
      direction: null,
      // The text comes from the cloud, so it is limited to one line of 300 characters.
      reason: (status === undefined ? `${code}: ${message}` : message)
        .replaceAll(/[^\x20-\x7e]/g, " ")
        .slice(0, 300),
      httpStatus: status === undefined ? null : Number(status),
      quarantinedAt: at,
    };
  };
}

/** Selects the requests to send, and marks those of local-only projects as skipped. */
async function selectRecords(
  ports: CloudServicePorts,
  limit: number,
  from: "oldest" | "newest",
): Promise<string[]> {
  const { store, clock } = ports;
  const policy = await readUploadPolicy(ports);
  // Without the configuration, local-only projects are unknown. `sendBatch()` then sends nothing.
  const select = () => store.delivery.pendingProjects(limit, clock.now(), from);
  if (policy === null) return select().map((each) => each.requestId);
  for (;;) {
    const pending = select();
    const skipped = pending.filter(({ project }) => isLocalOnly(project, policy));
    if (skipped.length === 0) return pending.map((each) => each.requestId);
    const ids = skipped.map((each) => each.requestId);
    store.delivery.settle({ synced: [], skipped: ids, quarantined: [], at: clock.now() });
    // A project that became local-only may have years of requests, so other work runs in between.
    await delay(clock, 0);
  }
}

async function readUploadPolicy(ports: CloudServicePorts): Promise<UploadPolicy | null> {
  try {
    return (await ports.settings()).cloud.upload;
  } catch {
    return null;
  }
}

/** The records that the current policy allows to send. */
interface OutgoingBatch {
  readonly records: readonly MetadataRecord[];
  readonly requestIds: readonly string[];
  readonly projects: readonly string[];
  /** The requests with incomplete usage. */
  readonly incomplete: ReadonlySet<string>;
  /** Requests whose project is now local-only, or that the user has deleted. */
  readonly skipped: readonly string[];
}

/** The number of records that a batch reads at once, in some milliseconds. Other work, such as a new connection, runs in between. */
const READ_AT_ONCE = 100;

async function buildBatch(
  { store, clock, sha256 }: CloudServicePorts,
  requestIds: readonly string[],
  upload: CloudSettings["cloud"]["upload"],
  { promptHashKey }: CloudCredentials,
  idKey: string | null,
): Promise<OutgoingBatch> {
  const hashId = idKey === null ? null : createIdHash(idKey, sha256);
  const promptHash = choosePromptHashForm(upload.promptHashKind, promptHashKey, sha256);
  const records: MetadataRecord[] = [];
  const projects = new Set<string>();
  const incomplete = new Set<string>();
  for (let at = 0; at < requestIds.length; at += READ_AT_ONCE) {
    if (at > 0) await delay(clock, 0);
    for (const request of store.delivery.requestsById(requestIds.slice(at, at + READ_AT_ONCE))) {
      const outgoing = toOutgoingRecord(request, upload, promptHash, hashId);
      if (outgoing.kind !== "send") continue;
      records.push(outgoing.record);
      projects.add(request.project);
      if (!request.tokensComplete) incomplete.add(request.requestId);
    }
  }
  const sent = new Set(records.map((record) => record.request_id));
  return {
    records,
    requestIds: [...sent],
    projects: [...projects],
    incomplete,
    skipped: requestIds.filter((id) => !sent.has(id)),
  };
}

/** Sends the records that the current policy allows. Never rejects because of the cloud or the configuration. */
async function sendBatch(
  ports: CloudServicePorts,
  requestIds: readonly string[],
  cancelled: Promise<void>,
  onSend: (incomplete: ReadonlySet<string>) => void,
): Promise<BatchResult> {
  const { store, clock } = ports;
  const connection = await readConnection(ports).catch(() => null);
  const credentials = connection?.credentials ?? null;
  if (connection === null || credentials === null || !connection.settings.cloud.enabled) return NOT_SENT;
  const { upload } = connection.settings.cloud;
  const batch = await buildBatch(ports, requestIds, upload, credentials, await ports.idKey());
  const { records, skipped } = batch;
  if (skipped.length > 0) {
    store.delivery.settle({ synced: [], skipped, quarantined: [], at: clock.now() });
  }
  if (records.length === 0) {
    const outcomes = { accepted: 0, duplicates: 0, rejected: [], skipped };
    return { kind: "http", status: 200, retryAfterMs: null, outcomes };
  }
  const body = JSON.stringify({
    daemon_version: ports.version,
    machine_id: credentials.machineId,
    records,
  });
  const isRecorded = await recordInOutbox(ports, {
    kind: "metadata",
    origin: credentials.origin,
    projects: batch.projects,
    requestIds: batch.requestIds,
    fields: listFieldsWithValues(records),
    payload: body,
  });
  if (!isRecorded) return NOT_SENT;
  onSend(batch.incomplete);
  const reply = await requestCloud(ports, credentials, "/v1/requests/batch", {
    method: "POST",
    body,
    cancelled,
  });
  // Without a response, or after a server error, the cloud may have stored the batch.
  if (reply.kind === "transport" || reply.status === 200 || reply.status >= 500) {
    store.delivery.saveSentFields(batch.requestIds, sentFields(upload));
  }
  return readBatchResult(reply, skipped);
}

function readBatchResult(reply: CloudClientResult, skipped: readonly string[]): BatchResult {
  const answered = withoutBody(reply);
  if (answered.kind === "transport") return answered;
  const result = answered.status === 200 ? parseResponse(reply, batchResponseSchema) : null;
  if (result === null) return { ...answered, outcomes: null };
  const rejected = result.rejected.map(({ request_id, code, message }) => ({
    requestId: request_id,
    code,
    message,
  }));
  const { accepted, duplicates } = result;
  return {
    kind: "http",
    status: 200,
    retryAfterMs: null,
    outcomes: { accepted, duplicates, rejected, skipped },
  };
}

/** Returns the names of the fields that have a value in at least one record. */
function listFieldsWithValues(records: readonly MetadataRecord[]): string[] {
  const fields = new Set<string>();
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) if (value !== null) fields.add(name);
  }
  return [...fields].sort();
}

async function requestWhoamiForResume(ports: CloudServicePorts): Promise<SyncEvent> {
  const connection = await readConnection(ports).catch(() => null);
  if (connection === null) {
    return { kind: "whoami_answered", result: { kind: "transport", reason: "aborted" } };
  }
  const { credentials } = connection;
  // Missing credentials count as an invalid key: both require pairing.
  if (credentials === null) {
    return { kind: "whoami_answered", result: { kind: "http", status: 401, retryAfterMs: null } };
  }
  const { result } = await requestWhoami(ports, credentials);
  if (result.kind === "http" && result.status === 200) {
    ports.store.delivery.updateState("cloud_state", { last_connected_at: ports.clock.now() });
  }
  return { kind: "whoami_answered", result };
}
