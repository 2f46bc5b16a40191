import { createDriver, inBackground } from "../../adapters/driver/mod.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Driver } from "../../core/ports/driver.ts";
import { parseRetryAfter } from "../../core/retry/mod.ts";
import {
  type BatchAnswer,
  initialSyncState,
  type SyncEvent,
  type SyncReport,
  type SyncState,
  syncTransition,
} from "../../core/sync/mod.ts";
import { batchAnswerSchema, parseWire, whoamiSchema } from "../../core/wire/mod.ts";
import type { JsonFileStore } from "./json-file-store.ts";

/** What the worker needs. */
export interface WorkerOptions {
  readonly store: JsonFileStore;
  readonly clock: Clock;
  readonly fetch: typeof fetch;
  /** The cloud's address, without a slash at its end. */
  readonly baseUrl: string;
  readonly token: string;
  readonly onReport: (report: SyncReport) => void;
}

/** How long the cloud may take, milliseconds. */
const ANSWER_WITHIN_MS = 30_000;

/** A metadata worker: the machine decides, the driver keeps its state, and this file does what it asks for. */
export function createWorker(options: WorkerOptions): Driver<SyncState, SyncEvent> {
  const { store, clock } = options;

  /** Asks the cloud. Redirects are not followed: the token is for this address alone. */
  async function ask(path: string, body?: string): Promise<Response | null> {
    try {
      return await options.fetch(`${options.baseUrl}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${options.token}`, "content-type": "application/json" },
        redirect: "manual",
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
        ...(body === undefined ? {} : { body }),
      });
    } catch {
      return null;
    }
  }

  const reduce = (response: Response) => ({
    kind: "http" as const,
    status: response.status,
    retryAfterMs: parseRetryAfter(response.headers.get("retry-after"), clock.now()),
  });

  async function sendBatch(requestIds: readonly string[]): Promise<BatchAnswer> {
    const records = requestIds.map((id) => store.read(id));
    const response = await ask("/v1/requests/batch", JSON.stringify({ daemon_version: "example", records }));
    if (response === null) return { kind: "transport", reason: "other" };
    const answer = parseWire(batchAnswerSchema, await response.json().catch(() => null));
    if (response.status !== 200 || !answer.ok) return { ...reduce(response), outcomes: null };
    const rejected = answer.value.rejected.map(({ request_id, ...rest }) => ({
      requestId: request_id,
      ...rest,
    }));
    return { ...reduce(response), outcomes: { ...answer.value, rejected, skipped: [] } };
  }

  async function askWhoami(): Promise<SyncEvent> {
    const response = await ask("/v1/daemon/whoami");
    if (response === null) return { kind: "whoami_answered", answer: { kind: "transport", reason: "other" } };
    const whoami = parseWire(whoamiSchema, await response.json().catch(() => null));
    const usable = response.status !== 200 || whoami.ok;
    return {
      kind: "whoami_answered",
      answer: usable ? reduce(response) : { kind: "transport", reason: "invalid_answer" },
    };
  }

  return createDriver({
    transition: syncTransition,
    initial: initialSyncState,
    store: store.states,
    clock,
    timers: { tick: { kind: "tick_due" } },
    handlers: {
      select_records: async ({ limit }) => ({
        kind: "records_found",
        requestIds: await store.selectPending(limit),
      }),
      send_batch: ({ batchNumber, requestIds }) =>
        inBackground<SyncEvent>(
          sendBatch(requestIds).then((answer) => ({
            kind: "batch_answered",
            batchNumber,
            answer,
            random: Math.random(),
          })),
        ),
      mark_synced: async ({ requestIds, at }) => {
        await store.markSynced(requestIds, at);
        return undefined;
      },
      quarantine_records: async ({ records, at }) => {
        await store.quarantine(records, at);
        return undefined;
      },
      ask_whoami: () => inBackground(askWhoami()),
      // This worker uploads no bodies, so that there is no uploader to pause, resume or clear.
      pause_uploader: () => undefined,
      resume_uploader: () => undefined,
      clear_uploader_state: () => ({ kind: "uploader_cleared" }),
      report_resume: () => undefined,
      report_sync: ({ report }) => {
        options.onReport(report);
        return undefined;
      },
      log: () => undefined,
    },
  });
}
