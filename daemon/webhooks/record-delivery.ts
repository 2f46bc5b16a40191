import { parseProgress, type WebhookProgress } from "../../core/delivery/webhook/webhook-progress.ts";
import { toOutgoingRecord } from "../../core/privacy/policy/outgoing-record.ts";
import type { UploadPreset } from "../../core/privacy/policy/upload-policy.ts";
import type { MetadataRecord } from "../../core/wire/metadata-record.ts";
import { isCallerAwaited } from "../store/port/attribution-due.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import type { WebhookPorts } from "./webhook-ports.ts";

/** How often a loop looks for something to send, in milliseconds. */
export const POLL_MS = 1_000;

/** The pause between a message that was too large and a smaller one, in milliseconds. */
export const SPLIT_PAUSE_MS = 100;

/** The progress before anything was sent. */
export const NO_PROGRESS: WebhookProgress = {
  recordSeq: 0,
  eventNumber: 0,
  consecutiveFailures: 0,
  lastError: null,
  lastDeliveredAt: null,
};

/** A short prompt can be guessed from its hash. The cloud gets it under a key that other receivers do not have. */
const NOT_SENT = { prompt_hash: false };

/** Whether a loop was told to stop. */
export interface DeliveryStop {
  readonly isStopped: boolean;
  /** Resolves at the stop, which ends a request in progress. */
  readonly stopped: Promise<void>;
}

/** Sends what is stored, one message after the other. */
export interface DeliveryLoop {
  start(): void;
  stop(): Promise<void>;
}

/**
 * Creates a loop that calls `sendNext` while the database is open. It returns how long to wait before the next call, in milliseconds;
 * 0 after a delivery. If it throws, the error is logged.
 */
export function createDeliveryLoop(
  { clock, log, store }: Pick<WebhookPorts, "clock" | "log" | "store">,
  task: "webhooks" | "otlp",
  sendNext: (stop: DeliveryStop) => Promise<number>,
): DeliveryLoop {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const stop = { isStopped: false, stopped };
  let cancelTimer = () => {};
  let running = Promise.resolve();

  async function runRound(): Promise<number> {
    try {
      for (;;) {
        if (stop.isStopped || store.trouble !== null) return POLL_MS;
        const delayMs = await sendNext(stop);
        if (delayMs > 0) return delayMs;
      }
    } catch (cause) {
      if (!stop.isStopped) logTaskCrash(log, task, cause, { restart_delay_ms: POLL_MS });
      return POLL_MS;
    }
  }

  function schedule(delayMs: number): void {
    if (stop.isStopped) return;
    cancelTimer = clock.setTimer(delayMs, () => {
      running = runRound().then(schedule);
    });
  }

  return {
    start: () => schedule(0),
    async stop() {
      stop.isStopped = true;
      cancelTimer();
      resolve();
      await running;
    },
  };
}

/**
 * Reads how far a receiver has got. A new one begins with what is stored from now on. A deletion of records moves the end back, so it is
 * read for each message.
 */
export function loadProgress(
  { store }: Pick<WebhookPorts, "store">,
  key: string,
  known: WebhookProgress | null,
  lastEvent = 0,
): WebhookProgress {
  const text = store.notes.read(key);
  const stored = parseProgress(text ?? "");
  if (stored !== null) return stored;
  const progress =
    known !== null && text === null
      ? // A damaged database was replaced meanwhile. All records of the new one are new.
        { ...known, recordSeq: 0 }
      : { ...NO_PROGRESS, recordSeq: store.records.lastSeq(), eventNumber: lastEvent };
  store.notes.write(key, JSON.stringify(progress));
  return progress;
}

/** Stores the progress after an attempt. If records were deleted meanwhile, the end that the deletion stored stays. */
export function saveProgress(
  { store }: Pick<WebhookPorts, "store">,
  key: string,
  before: WebhookProgress,
  after: WebhookProgress,
): WebhookProgress {
  const { recordSeq: stored } = loadProgress({ store }, key, before);
  const recordSeq = stored < before.recordSeq ? stored : Math.min(after.recordSeq, store.records.lastSeq());
  const progress = { ...after, recordSeq };
  store.notes.write(key, JSON.stringify(progress));
  return progress;
}

/** How many records are read at once in search of some to send, in about 10 ms. Other work runs in between. */
const MAX_PASSED = 1_000;

/** The records of one message. */
export interface OutgoingRecords {
  /** Empty if none of those that were read is sent. */
  readonly records: readonly MetadataRecord[];
  /** The last record that was read, which may be one that is not sent. */
  readonly last: { readonly seq: number; readonly requestId: string };
}

/**
 * Returns the next records whose callers are known, as they leave this machine; null if there are none. Records of a local-only
 * project and of agents' logs are passed over. Those of a message that failed are read again up to its last, `throughSeq`, since
 * some may have been deleted or may no longer leave this machine.
 */
export function findOutgoing(
  ports: Pick<WebhookPorts, "store" | "clock" | "perProject" | "createIdHash">,
  preset: UploadPreset,
  { recordSeq }: WebhookProgress,
  limit: number,
  throughSeq: number | null,
): OutgoingRecords | null {
  const policy = { preset, fields: NOT_SENT, perProject: ports.perProject() };
  const now = ports.clock.now();
  let found: OutgoingRecords | null = null;
  for (let afterSeq = recordSeq, passed = 0; ; passed += limit) {
    const next = ports.store.records.read({ from: null, to: null, afterSeq, limit });
    const again = throughSeq === null ? [] : next.filter(({ seq }) => seq <= throughSeq);
    const page = again.length > 0 ? again : next;
    const waiting = page.findIndex((record) => isCallerAwaited(record, now));
    const ready = waiting === -1 ? page : page.slice(0, waiting);
    const last = ready.at(-1);
    if (last === undefined) return found;
    const hashId = ports.createIdHash();
    const records = ready.flatMap((record) => {
      // Imported records describe past calls, so they are not sent.
      if (record.recordSource === "logs") return [];
      const outgoing = toOutgoingRecord(record, policy, { kind: "plain" }, hashId);
      return outgoing.kind === "send" ? [outgoing.record] : [];
    });
    found = { records, last };
    if (records.length > 0 || passed >= MAX_PASSED) return found;
    afterSeq = last.seq;
  }
}
