import { createDriver, inBackground } from "../../adapters/driver/mod.ts";
import {
  type BatchResult,
  initialSyncState,
  parseRetryAfter,
  type SyncEvent,
  type SyncReport,
  type SyncState,
  syncTransition,
} from "../../core/delivery/mod.ts";
import type { Clock, Driver } from "../../core/ports/mod.ts";
import { batchResponseSchema, parseWire, whoamiSchema } from "../../core/wire/mod.ts";
import type { JsonFileStore } from "./json-file-store.ts";

/** Options of the worker. */
interface WorkerOptions {
  readonly store: JsonFileStore;
  readonly clock: Clock;
  readonly fetch: typeof fetch;
  /** The cloud's base URL, without a trailing slash. */
  readonly baseUrl: string;
  readonly token: string;
  readonly onReport: (report: SyncReport) => void;
}

/** Time limit for a response of the cloud, in milliseconds. */
const RESPONSE_TIMEOUT_MS = 30_000;

/** Creates the two requests of the worker. */
function createRequests({ store, clock, ...options }: WorkerOptions) {
  /** Sends a request to the cloud. Redirects are not followed, because the token is only for this address. */
  async function request(path: string, body?: string): Promise<Response | null> {
    try {
      return await options.fetch(`${options.baseUrl}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${options.token}`, "content-type": "application/json" },
        redirect: "manual",
        signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
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

  async function sendBatch(requestIds: readonly string[]): Promise<BatchResult> {
    const records = requestIds.map((id) => store.read(id));
    const response = await request(
      "/v1/requests/batch",
      JSON.stringify({ daemon_version: "example", records }),
    );
    if (response === null) return { kind: "transport", reason: "other" };
    const result = parseWire(batchResponseSchema, await response.json().catch(() => null));
    if (response.status !== 200 || !result.ok) return { ...reduce(response), outcomes: null };
    const rejected = result.value.rejected.map(({ request_id, ...rest }) => ({
      requestId: request_id,
      ...rest,
    }));
    return { ...reduce(response), outcomes: { ...result.value, rejected, skipped: [] } };
  }

  async function requestWhoami(): Promise<SyncEvent> {
    const response = await request("/v1/daemon/whoami");
    if (response === null) return { kind: "whoami_answered", result: { kind: "transport", reason: "other" } };
    const whoami = parseWire(whoamiSchema, await response.json().catch(() => null));
    const usable = response.status !== 200 || whoami.ok;
    return {
      kind: "whoami_answered",
      result: usable ? reduce(response) : { kind: "transport", reason: "invalid_answer" },
    };
  }

  return { sendBatch, requestWhoami };
}

/** Creates a metadata worker: the machine decides, the driver stores its state, and this file runs its effects. */
export function createWorker(options: WorkerOptions): Driver<SyncState, SyncEvent> {
  const { store, clock } = options;
  const { sendBatch, requestWhoami } = createRequests(options);
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
          sendBatch(requestIds).then((result) => ({
            kind: "batch_answered",
            batchNumber,
            result,
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
      request_whoami: () => inBackground(requestWhoami()),
      // This worker uploads no bodies, so there is no uploader to pause, resume or clear.
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
