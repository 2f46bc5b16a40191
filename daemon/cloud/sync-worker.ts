import { isLocalOnly, toOutgoingRecord, type UploadPolicy } from "../../core/policy/mod.ts";
import type { Driver } from "../../core/ports/driver.ts";
import {
  type BatchAnswer,
  initialSyncState,
  type RejectedRecord,
  type ResumeReport,
  type SyncEvent,
  type SyncReport,
  type SyncState,
  syncTransition,
} from "../../core/sync/mod.ts";
import { batchAnswerSchema, type MetadataRecord } from "../../core/wire/mod.ts";
import { writeLogEffect } from "../log-effect.ts";
import { pause } from "../pause.ts";
import { askWhoami } from "./ask-whoami.ts";
import { askCloud, readAnswer, readConnection } from "./connection.ts";
import { createSyncStates } from "./machine-states.ts";
import { noteSent } from "./note-sent.ts";
import type { CloudServicePorts } from "./ports.ts";

/** What the metadata worker needs beside the ports. */
export interface SyncWorkerLinks {
  pauseUploader(): Promise<void>;
  resumeUploader(): Promise<void>;
  clearUploader(): Promise<void>;
  reportResume(report: ResumeReport): void;
  reportSync(report: SyncReport): void;
}

/** Nothing was sent, because what must be known before cannot be read. */
const NOT_SENT: BatchAnswer = { kind: "transport", reason: "aborted" };

/** Makes the metadata worker's driver: the machine decides, and this does what it asks for. */
export function createSyncDriver(
  ports: CloudServicePorts,
  links: SyncWorkerLinks,
  cancelled: Promise<void>,
): Driver<SyncState, SyncEvent> {
  const { store, clock, log } = ports;
  /** What went out with incomplete usage in the latest batch: it may be filled in before the answer comes. */
  let sentIncomplete: ReadonlySet<string> = new Set();
  return ports.createDriver({
    transition: syncTransition,
    initial: initialSyncState,
    store: createSyncStates(store),
    clock,
    timers: { tick: { kind: "tick_due" } },
    handlers: {
      select_records: async ({ limit }): Promise<SyncEvent> => ({
        kind: "records_found",
        requestIds: await selectRecords(ports, limit),
      }),
      send_batch: ({ batchNumber, requestIds }) => ({
        background: sendBatch(ports, requestIds, cancelled, (ids) => {
          sentIncomplete = ids;
        }).then(
          (answer): SyncEvent => ({ kind: "batch_answered", batchNumber, answer, random: ports.random() }),
        ),
      }),
      mark_synced: ({ requestIds, at }) => {
        const changed = filledSince(store, requestIds, sentIncomplete);
        const synced = requestIds.filter((id) => !changed.has(id));
        store.settleRequests({ synced, skipped: [], quarantined: [], at });
        noteContact(store, at);
        return undefined;
      },
      quarantine_records: ({ records, at }) => {
        store.settleRequests({ synced: [], skipped: [], quarantined: records.map(toEntry(at)), at });
        return undefined;
      },
      ask_whoami: () => ({ background: resumeWhoami(ports) }),
      pause_uploader: async () => {
        await links.pauseUploader();
        return undefined;
      },
      resume_uploader: async () => {
        await links.resumeUploader();
        return undefined;
      },
      clear_uploader_state: async (): Promise<SyncEvent> => {
        await links.clearUploader();
        return { kind: "uploader_cleared" };
      },
      report_resume: ({ report }) => {
        links.reportResume(report);
        return undefined;
      },
      report_sync: ({ report }) => {
        links.reportSync(report);
        return undefined;
      },
      log: (effect) => writeLogEffect(log, effect, "sync"),
    },
  });
}

/** Those of the incomplete that are complete by now: they go again. */
function filledSince(
  store: CloudServicePorts["store"],
  requestIds: readonly string[],
  sentIncomplete: ReadonlySet<string>,
): ReadonlySet<string> {
  const incomplete = requestIds.filter((id) => sentIncomplete.has(id));
  const complete = store.requestsById(incomplete).filter(({ tokensComplete }) => tokensComplete);
  return new Set(complete.map(({ requestId }) => requestId));
}

/** How exact `last_connected_at` is while batches are taken, milliseconds: each writing waits for the disk. */
const CONTACT_EVERY_MS = 60_000;

function noteContact(store: CloudServicePorts["store"], at: number): void {
  const { last_connected_at: before } = store.readCloudState("cloud_state");
  if (before !== null && before <= at && at - before < CONTACT_EVERY_MS) return;
  store.updateCloudState("cloud_state", { last_connected_at: at });
}

function toEntry(at: number) {
  return ({ requestId, code, message }: RejectedRecord) => {
    const status = /^http_(\d{3})$/.exec(code)?.[1];
    return {
      kind: "metadata" as const,
      requestId,
      direction: null,
      // The cloud's words, so they are bounded and kept on one line.
      reason: `${code}: ${message}`.replaceAll(/[^\x20-\x7e]/g, " ").slice(0, 300),
      httpStatus: status === undefined ? null : Number(status),
      quarantinedAt: at,
    };
  };
}

/** The policy for records; what a local-only project holds back is stamped as skipped while it is come by. */
async function selectRecords(ports: CloudServicePorts, limit: number): Promise<string[]> {
  const { store, clock } = ports;
  const policy = await policyNow(ports);
  // Without a readable configuration nothing may be told apart; the sender answers for that.
  if (policy === null) return store.pendingProjects(limit).map((each) => each.requestId);
  for (;;) {
    const pending = store.pendingProjects(limit);
    const skipped = pending.filter(({ project }) => isLocalOnly(project, policy));
    if (skipped.length === 0) return pending.map((each) => each.requestId);
    const ids = skipped.map((each) => each.requestId);
    store.settleRequests({ synced: [], skipped: ids, quarantined: [], at: clock.now() });
    // A project that became local-only may hold years: the daemon has other work in between.
    await pause(clock, 0);
  }
}

async function policyNow(ports: CloudServicePorts): Promise<UploadPolicy | null> {
  try {
    return (await ports.settings()).cloud.upload;
  } catch {
    return null;
  }
}

/** Sends what the policy, read again now, lets go. Never rejects for what the cloud or the configuration does. */
async function sendBatch(
  ports: CloudServicePorts,
  requestIds: readonly string[],
  cancelled: Promise<void>,
  onSend: (incomplete: ReadonlySet<string>) => void,
): Promise<BatchAnswer> {
  const { store, clock } = ports;
  const connection = await readConnection(ports).catch(() => null);
  const credentials = connection?.credentials ?? null;
  if (connection === null || credentials === null || !connection.settings.cloud.enabled) return NOT_SENT;

  const records: MetadataRecord[] = [];
  const projects = new Set<string>();
  const incomplete = new Set<string>();
  for (const request of store.requestsById(requestIds)) {
    const outgoing = toOutgoingRecord(request, connection.settings.cloud.upload);
    if (outgoing.kind !== "send") continue;
    records.push(outgoing.record);
    projects.add(request.project);
    if (!request.tokensComplete) incomplete.add(request.requestId);
  }
  // Local-only by now, or deleted by the user meanwhile.
  const sent = new Set(records.map((record) => record.request_id));
  const skipped = requestIds.filter((id) => !sent.has(id));
  if (skipped.length > 0) {
    store.settleRequests({ synced: [], skipped, quarantined: [], at: clock.now() });
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
  const noted = await noteSent(ports, {
    kind: "metadata",
    origin: credentials.origin,
    projects: [...projects],
    requestIds: [...sent],
    fields: filledFields(records),
    payload: body,
  });
  if (!noted) return NOT_SENT;
  onSend(incomplete);
  const reply = await askCloud(ports, credentials, "/v1/requests/batch", { method: "POST", body, cancelled });
  if (reply.kind === "transport") return reply;
  const answer = reply.status === 200 ? readAnswer(reply, batchAnswerSchema) : null;
  if (answer === null) {
    return { kind: "http", status: reply.status, retryAfterMs: reply.retryAfterMs, outcomes: null };
  }
  const rejected = answer.rejected.map(({ request_id, code, message }) => ({
    requestId: request_id,
    code,
    message,
  }));
  const { accepted, duplicates } = answer;
  return {
    kind: "http",
    status: 200,
    retryAfterMs: null,
    outcomes: { accepted, duplicates, rejected, skipped },
  };
}

/** The names of the fields that hold anything. */
function filledFields(records: readonly MetadataRecord[]): string[] {
  const fields = new Set<string>();
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) if (value !== null) fields.add(name);
  }
  return [...fields].sort();
}

async function resumeWhoami(ports: CloudServicePorts): Promise<SyncEvent> {
  const connection = await readConnection(ports).catch(() => null);
  if (connection === null) {
    return { kind: "whoami_answered", answer: { kind: "transport", reason: "aborted" } };
  }
  const { credentials } = connection;
  // Nothing stored is as good as an invalid key: pairing is what helps.
  if (credentials === null) {
    return { kind: "whoami_answered", answer: { kind: "http", status: 401, retryAfterMs: null } };
  }
  const { answer } = await askWhoami(ports, credentials);
  if (answer.kind === "http" && answer.status === 200) {
    ports.store.updateCloudState("cloud_state", { last_connected_at: ports.clock.now() });
  }
  return { kind: "whoami_answered", answer };
}
