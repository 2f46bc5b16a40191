import type { Step } from "../machine.ts";
import { clampRetryAfter, retryAfterOf, retryDelay } from "../retry/mod.ts";
import type { Millis } from "../time.ts";
import { type BatchVerdict, judgeBatch } from "./batch-verdict.ts";
import type { BatchAnswer, RejectedRecord, SyncEffect, SyncReport } from "./sync-events.ts";
import { afterRefusal, afterSettled, BATCH_MAX_RECORDS, createRun, nextBatch, sendFrom } from "./sync-run.ts";
import type { SyncRun, SyncState, SyncStatus } from "./sync-state.ts";

/** Time between two ticks, milliseconds. Source: contract, "Limits": metadata sync interval 30 s. */
export const SYNC_INTERVAL_MS = 30_000;

/** Between two runs that drain a backlog, milliseconds: the person's calls and the cloud have the machine meanwhile. */
export const DRAIN_PAUSE_MS = 100;

/** A step of the metadata machine. */
export type SyncStep = Step<SyncState, SyncEffect>;

/** Sets the tick timer, and remembers when it fires. */
export function scheduleTick(state: SyncState, delayMs: number, now: Millis): SyncStep {
  return {
    state: { ...state, nextTickAt: now + delayMs },
    effects: [{ kind: "set_timer", timer: "tick", delayMs }],
  };
}

/** Begins a run. */
export function startRun(state: SyncState, requested: boolean, now: Millis): SyncStep {
  return {
    state: { ...state, run: createRun(requested), lastTickAt: now, nextTickAt: null },
    effects: [
      { kind: "clear_timer", timer: "tick" },
      { kind: "select_records", limit: BATCH_MAX_RECORDS },
    ],
  };
}

/** Sends the run's next batch; where none is left, the run is over. */
export function continueRun(state: SyncState, run: SyncRun, now: Millis): SyncStep {
  const requestIds = nextBatch(run);
  if (requestIds.length === 0) return finishRun(state, run, now);
  const batchNumber = state.batchNumber + 1;
  return {
    state: { ...state, run: sendFrom(run, requestIds), batchNumber, nextTickAt: null },
    effects: [{ kind: "send_batch", batchNumber, requestIds }],
  };
}

function finishRun(state: SyncState, run: SyncRun, now: Millis): SyncStep {
  // A backlog is drained run after run, as long as each settles something.
  const settled = run.accepted + run.duplicates + run.quarantined;
  const delayMs = run.full && settled > 0 ? DRAIN_PAUSE_MS : SYNC_INTERVAL_MS;
  const next = scheduleTick({ ...state, run: null }, delayMs, now);
  return { state: next.state, effects: [...next.effects, ...reportOf(run, true, "done", "synced")] };
}

/** The report of a run, where someone asked for it. */
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

/** What a 200 has done to the records, to be written down: also for an answer that a pause overtook. */
export function settleEffects(
  verdict: Extract<BatchVerdict, { kind: "settled" }>,
  quarantined: readonly RejectedRecord[],
  now: Millis,
): readonly SyncEffect[] {
  const { taken } = verdict;
  return [
    ...(taken.length > 0 ? [{ kind: "mark_synced", requestIds: taken, at: now } as const] : []),
    ...(quarantined.length > 0
      ? [{ kind: "quarantine_records", records: quarantined, at: now } as const]
      : []),
  ];
}

/** The answer to the batch in flight while active. */
export function answerBatch(
  state: SyncState,
  run: SyncRun,
  answer: BatchAnswer,
  random: number,
  now: Millis,
): SyncStep {
  const verdict = judgeBatch(answer, run.inFlight);
  switch (verdict.kind) {
    case "settled":
      return settle(state, run, verdict, now);
    case "unauthorised":
      return pauseByCloud(state, run, "paused_unauthorised", 401, verdict.error, now);
    case "forbidden":
      return pauseByCloud(state, run, "paused_forbidden", 403, verdict.error, now);
    case "refused":
      return fail(state, run, afterRefusal(run, verdict.httpStatus), answer, verdict.error, random, now);
    case "transient":
      return fail(state, run, null, answer, verdict.error, random, now);
  }
}

function settle(
  state: SyncState,
  run: SyncRun,
  verdict: Extract<BatchVerdict, { kind: "settled" }>,
  now: Millis,
): SyncStep {
  const after = afterSettled(run, verdict.taken);
  const quarantined = after.guilty === null ? verdict.rejected : [guiltyRecord(after.guilty)];
  // The check of a suspect sends what was counted before.
  const counted = run.checking === null ? verdict : { accepted: 0, duplicates: 0 };
  const next = continueRun(
    { ...state, consecutiveFailures: 0, notBefore: null },
    {
      ...after.run,
      accepted: run.accepted + counted.accepted,
      duplicates: run.duplicates + counted.duplicates,
      quarantined: run.quarantined + quarantined.length,
    },
    now,
  );
  return { state: next.state, effects: [...settleEffects(verdict, quarantined, now), ...next.effects] };
}

function guiltyRecord(suspect: { requestId: string; httpStatus: number }): RejectedRecord {
  return {
    requestId: suspect.requestId,
    code: `http_${suspect.httpStatus}`,
    message: `refused alone with HTTP ${suspect.httpStatus} while another record was taken`,
  };
}

/** Counts the failure and backs off. The run goes on after that where `rest` says how, and otherwise is given up. */
function fail(
  state: SyncState,
  run: SyncRun,
  rest: SyncRun | null,
  answer: BatchAnswer,
  error: string,
  random: number,
  now: Millis,
): SyncStep {
  const consecutiveFailures = state.consecutiveFailures + 1;
  const retryAfterMs = retryAfterOf(answer);
  const delayMs = retryDelay(consecutiveFailures, random, retryAfterMs);
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
        event: answer.kind === "transport" ? "cloud.transport_error" : "sync.batch_failed",
        fields: {
          error,
          records: run.inFlight.length,
          consecutive_failures: consecutiveFailures,
          retry_in_ms: delayMs,
        },
      },
      ...next.effects,
      ...(rest === null ? reportOf(run, false, "failed", error) : []),
    ],
  };
}

function pauseByCloud(
  state: SyncState,
  run: SyncRun,
  status: Exclude<SyncStatus, "active">,
  httpStatus: number,
  error: string,
  now: Millis,
): SyncStep {
  return {
    state: {
      ...state,
      status,
      pausedReason: status,
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

/** Source: contract, "Events": `sync.paused` with reason, http_status, last_request_id. */
export function pausedLog(reason: string, httpStatus: number | null, run: SyncRun | null): SyncEffect {
  const lastRequestId = run?.inFlight.at(-1) ?? null;
  return {
    kind: "log",
    level: "warn",
    event: "sync.paused",
    fields: { reason, http_status: httpStatus, last_request_id: lastRequestId },
  };
}
