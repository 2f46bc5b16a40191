import type { RejectedRecord } from "../../ports/sync-store.ts";
import type { Step } from "../../values/machine.ts";
import type { Millis } from "../../values/time.ts";
import { BATCH_MAX_RECORDS } from "../../wire/metadata-batch.ts";
import { clampRetryAfter, retryDelay } from "../retry/backoff-delay.ts";
import { retryAfterOf } from "../retry/cloud-result.ts";
import { type BatchVerdict, decideBatch } from "./batch-verdict.ts";
import type { BatchResult, SyncEffect, SyncReport } from "./sync-events.ts";
import {
  afterRefusal,
  afterServerError,
  afterSettled,
  createRun,
  isRoundOver,
  needsProbe,
  nextBatch,
  PROBE_MAX_RECORDS,
  takeBatch,
} from "./sync-run.ts";
import type { Suspect, SyncRun, SyncState, SyncStatus } from "./sync-state.ts";

/** Time between two ticks, milliseconds. Source: docs/specification.md#limits: metadata sync interval 30 s. */
export const SYNC_INTERVAL_MS = 30_000;

/** Pause between two runs that drain a backlog, milliseconds. It leaves the machine and the cloud to other work. */
export const DRAIN_PAUSE_MS = 100;

/**
 * Pause between a refused batch and a smaller one, milliseconds. Decision: the halves of a refused batch are sent after this
 * pause, not after the backoff of docs/specification.md#metadata-sync, which follows at the end of a round of refusals.
 */
const SPLIT_PAUSE_MS = 100;

/** Failures in a row after which a batch that fails with 500 is halved. */
const FAILURES_BEFORE_SPLIT = 3;

/** A step of the metadata machine. */
export type SyncStep = Step<SyncState, SyncEffect>;

/** Sets the tick timer and records when it fires. */
export function scheduleTick(state: SyncState, delayMs: number, now: Millis): SyncStep {
  return {
    state: { ...state, nextTickAt: now + delayMs },
    effects: [{ kind: "set_timer", timer: "tick", delayMs }],
  };
}

/** Starts a run. */
export function startRun(state: SyncState, requested: boolean, now: Millis): SyncStep {
  return {
    state: { ...state, run: createRun(requested), lastTickAt: now, nextTickAt: null },
    effects: [
      { kind: "clear_timer", timer: "tick" },
      { kind: "select_records", limit: BATCH_MAX_RECORDS, from: "oldest" },
    ],
  };
}

/** Continues a run: selects the newest records if needed, sends the next batch, or ends the run if none is left. */
export function continueRun(state: SyncState, run: SyncRun, now: Millis): SyncStep {
  if (needsProbe(run)) {
    return {
      state: { ...state, run: { ...run, phase: "selecting" }, nextTickAt: null },
      effects: [{ kind: "select_records", limit: PROBE_MAX_RECORDS, from: "newest" }],
    };
  }
  const requestIds = nextBatch(run);
  if (requestIds.length === 0) return finishRun(state, run, now);
  const batchNumber = state.batchNumber + 1;
  return {
    state: { ...state, run: takeBatch(run, requestIds), batchNumber, nextTickAt: null },
    effects: [{ kind: "send_batch", batchNumber, requestIds }],
  };
}

function finishRun(state: SyncState, run: SyncRun, now: Millis): SyncStep {
  // A backlog is drained without waiting as long as each run settles some records.
  const settled = run.accepted + run.duplicates + run.quarantined;
  const delayMs = run.full && settled > 0 ? DRAIN_PAUSE_MS : SYNC_INTERVAL_MS;
  // No pending records: earlier failures no longer matter.
  const recovered =
    run.newestId === null ? { consecutiveFailures: 0, lastError: null, lastErrorAt: null } : {};
  const next = scheduleTick({ ...state, ...recovered, run: null }, delayMs, now);
  return { state: next.state, effects: [...next.effects, ...reportOf(run, true, "done", "synced")] };
}

/** Returns the report of a run if a person requested it. */
export function reportOf(
  run: SyncRun | null,
  ok: boolean,
  reason: SyncReport["reason"],
  message: string,
): readonly SyncEffect[] {
  if (!run?.requested) return [];
  const { accepted, duplicates, quarantined } = run;
  return [{ kind: "report_sync", report: { ok, reason, message, accepted, duplicates, quarantined } }];
}

/** Returns the effects that store a 200's outcomes, also for a response that arrives after a pause. */
export function recordOutcomes(
  verdict: Extract<BatchVerdict, { kind: "settled" }>,
  quarantined: readonly RejectedRecord[],
  now: Millis,
): readonly SyncEffect[] {
  const { delivered } = verdict;
  return [
    ...(delivered.length > 0 ? [{ kind: "mark_synced", requestIds: delivered, at: now } as const] : []),
    ...(quarantined.length > 0
      ? [{ kind: "quarantine_records", records: quarantined, at: now } as const]
      : []),
  ];
}

/** Applies the result of the batch in flight while active. */
export function applyBatchResult(
  state: SyncState,
  run: SyncRun,
  result: BatchResult,
  random: number,
  now: Millis,
): SyncStep {
  const verdict = decideBatch(result, run.inFlight);
  switch (verdict.kind) {
    case "settled":
      return settle(state, run, verdict, now);
    case "unauthorised":
      return pauseByCloud(state, run, "paused_unauthorised", 401, verdict, now);
    case "forbidden":
      return pauseByCloud(state, run, "paused_forbidden", 403, verdict, now);
    case "refused":
      return refuse(state, run, verdict, result, random, now);
    case "transient": {
      const rest = isSplitByError(state, run, result) ? afterServerError(run) : null;
      return fail(state, run, { rest, reason: "failed", error: verdict.error }, result, random, now);
    }
  }
}

/**
 * Whether to halve a batch after a failure. Decision: after the third failure in a row, if it is a 500: a record may be the
 * cause. Each half waits for the backoff of docs/specification.md#metadata-sync. Other 5xx mean an unavailable cloud.
 */
function isSplitByError(state: SyncState, run: SyncRun, result: BatchResult): boolean {
  if (result.kind !== "http" || result.status !== 500) return false;
  return run.refusals > 0 || state.consecutiveFailures + 1 >= FAILURES_BEFORE_SPLIT;
}

function settle(
  state: SyncState,
  run: SyncRun,
  verdict: Extract<BatchVerdict, { kind: "settled" }>,
  now: Millis,
): SyncStep {
  const after = afterSettled(run, verdict.delivered);
  const quarantined = after.confirmed === null ? verdict.rejected : [toRejectedRecord(after.confirmed)];
  // The check of a suspect sends a record that was already counted.
  const counted = run.checking === null ? verdict : { accepted: 0, duplicates: 0 };
  const next = continueRun(
    { ...state, consecutiveFailures: 0, lastError: null, lastErrorAt: null, notBefore: null },
    {
      ...after.run,
      accepted: run.accepted + counted.accepted,
      duplicates: run.duplicates + counted.duplicates,
      quarantined: run.quarantined + quarantined.length,
    },
    now,
  );
  return { state: next.state, effects: [...recordOutcomes(verdict, quarantined, now), ...next.effects] };
}

function toRejectedRecord({ requestId, httpStatus, error }: Suspect): RejectedRecord {
  return {
    requestId,
    code: `http_${httpStatus}`,
    message: `${error}, refused alone while another record was taken`,
  };
}

/** Continues soon with smaller batches. Backs off if nothing is left to try or a whole round delivered nothing. */
function refuse(
  state: SyncState,
  run: SyncRun,
  verdict: Extract<BatchVerdict, { kind: "refused" }>,
  result: BatchResult,
  random: number,
  now: Millis,
): SyncStep {
  const { error } = verdict;
  const after = afterRefusal(run, verdict.httpStatus, error);
  if (after === null) return fail(state, run, { rest: null, reason: "refused", error }, result, random, now);
  if (!isRoundOver(after)) return fail(state, run, { rest: after, reason: null, error }, result, random, now);
  // New records may arrive during the backoff, so the newest are selected again.
  const rest = { ...after, requested: false, probed: false };
  return fail(state, run, { rest, reason: "refused", error }, result, random, now);
}

/** How a run continues after a failure. */
interface Failure {
  /** The rest of the run; null if the run is over. */
  readonly rest: SyncRun | null;
  /** The reason in the report; `null` if the run continues soon. */
  readonly reason: "failed" | "refused" | null;
  readonly error: string;
}

/** Counts a failure and schedules the next attempt after the backoff, or after the pause between halves of a refused batch. */
function fail(
  state: SyncState,
  run: SyncRun,
  { rest, reason, error }: Failure,
  result: BatchResult,
  random: number,
  now: Millis,
): SyncStep {
  const consecutiveFailures = state.consecutiveFailures + 1;
  const retryAfterMs = retryAfterOf(result);
  const delayMs =
    reason === null
      ? Math.max(SPLIT_PAUSE_MS, clampRetryAfter(retryAfterMs))
      : retryDelay(consecutiveFailures, random, retryAfterMs);
  const next = scheduleTick(
    {
      ...state,
      run: rest,
      consecutiveFailures,
      lastError: error,
      lastErrorAt: now,
      notBefore: retryAfterMs !== null ? now + clampRetryAfter(retryAfterMs) : null,
    },
    delayMs,
    now,
  );
  return {
    state: next.state,
    effects: [
      {
        kind: "log",
        level: "warn",
        event: result.kind === "transport" ? "cloud.transport_error" : "sync.batch_failed",
        fields: {
          error,
          records: run.inFlight.length,
          consecutive_failures: consecutiveFailures,
          retry_in_ms: delayMs,
        },
      },
      ...next.effects,
      ...(reason === null ? [] : reportOf(run, false, reason, error)),
    ],
  };
}

function pauseByCloud(
  state: SyncState,
  run: SyncRun,
  status: Exclude<SyncStatus, "active">,
  httpStatus: number,
  { error, code }: Extract<BatchVerdict, { kind: "unauthorised" | "forbidden" }>,
  now: Millis,
): SyncStep {
  return {
    state: {
      ...state,
      status,
      pausedReason: status,
      pausedCode: code,
      run: null,
      resuming: false,
      nextTickAt: null,
      lastError: error,
      lastErrorAt: now,
    },
    effects: [
      { kind: "clear_timer", timer: "tick" },
      pausedLog(status, httpStatus, run),
      ...reportOf(run, false, "paused", `sync is paused: ${status}`),
    ],
  };
}

/** Source: docs/specification.md#log-events: `sync.paused` with reason, http_status, last_request_id. */
export function pausedLog(reason: string, httpStatus: number | null, run: SyncRun | null): SyncEffect {
  const lastRequestId = run?.inFlight.at(-1) ?? null;
  return {
    kind: "log",
    level: "warn",
    event: "sync.paused",
    fields: { reason, http_status: httpStatus, last_request_id: lastRequestId },
  };
}
