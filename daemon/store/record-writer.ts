import type { CoverageKind, UnmeteredCall } from "../../core/metering/coverage/coverage-kinds.ts";
import type { StoreError, StoreErrorReason } from "../../core/ports/sqlite.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import {
  addBacklogCount,
  type Backlog,
  type BacklogTarget,
  createBacklog,
  isBacklogEmpty,
  storeNextBatch,
} from "./backlog.ts";
import { coverageSlot } from "./coverage.ts";
import type { CapturedBody } from "./port/bodies.ts";
import type { Store } from "./port/store.ts";

/** Why something captured was not stored: the store's reason, a full backlog, or the end of the process. */
type DropReason = StoreErrorReason | "backlog" | "closed";

/** The ports of a record writer; `setImmediate`, `setTimeout` and a clock in the daemon. */
interface RecordWriterPorts {
  store: Pick<Store, "insertBatch">;
  /** Runs the work once, after the current turn of the event loop. */
  atTurnEnd(work: () => void): void;
  later(work: () => void, delayMs: number): void;
  now(): Millis;
  /** Receives events for the log. Its errors are ignored. */
  onEvent?(event: RecordWriterEvent): void;
}

/** Events for the log: the start and end of an outage, and each record that the store refuses. */
export type RecordWriterEvent =
  | { kind: "failing"; reason: StoreErrorReason; message: string }
  | { kind: "recovered"; pending: number; dropped: number }
  | { kind: "refused"; reason: DropReason; message: string; requestId: string };

/** The health of a record writer, for `status`. */
export interface RecordWriterHealth {
  capturing: "ok" | "failing";
  /** The last failure, even after recovery. */
  lastError: { reason: StoreErrorReason; message: string; at: Millis } | null;
  /** Records that are not stored yet. */
  pending: number;
  /** Records stored since the start. */
  stored: number;
  /** Records and bodies lost since the start, by reason. */
  dropped: Readonly<Partial<Record<DropReason, number>>>;
}

/** Collects what is captured and stores it once per turn of the event loop. No method throws. */
export interface RecordWriter {
  add(record: RequestRecord): void;
  addBody(body: CapturedBody): void;
  /** Stores the callers of records that were added before these were known. Ignored if the backlog is full. */
  attribute(attributed: readonly RequestRecord[]): void;
  /** Adds one to a counter. The host is null if it is not a provider's. */
  count(kind: CoverageKind, host: string | null, call?: UnmeteredCall): void;
  /** Counts a call as unfinished until the returned function is called. Further calls of it do nothing. */
  begin(host: string): () => void;
  /** Tries to store everything now. Returns whether nothing is left. */
  flush(): boolean;
  health(): RecordWriterHealth;
  /** Stores what it can and drops the rest. Everything added afterwards is dropped. */
  close(): void;
}

/** Bounds of the backlog while the store fails. */
export interface BacklogLimits {
  records: number;
  bodyBytes: number;
}

/** About 10 MB of records, and 32 MiB of bodies. */
const defaultLimits: BacklogLimits = { records: 10_000, bodyBytes: 32 * 1024 * 1024 };

const firstRetryMs = 10;
const lastRetryMs = 2_000;
/** A lock is short: if many processes write at once, the backlog should not wait longer than needed. */
const lastBusyRetryMs = 100;

/**
 * The minimum time between a transaction and a separate one for the start of a call, in milliseconds. A call that is shorter
 * needs no separate transaction. Many calls cost at most 100 transactions per second (3 ms of CPU). A kill within this time
 * leaves no trace of a call.
 */
const beginIntervalMs = 10;

/** How many attempts may end `busy` (0.25 s together) before this is called a failure. */
const toleratedBusyFailures = 5;

/** The state of a record writer. */
interface State {
  readonly ports: RecordWriterPorts;
  readonly limits: BacklogLimits;
  readonly backlog: Backlog;
  readonly target: BacklogTarget;
  scheduled: "no" | "turn_end" | "retry";
  isBeginScheduled: boolean;
  /** When something was stored last. */
  storedAt: Millis;
  /** Failed attempts in a row. */
  failures: number;
  failing: boolean;
  droppedDuringOutage: number;
  closed: boolean;
  lastError: RecordWriterHealth["lastError"];
  stored: number;
  readonly dropped: Partial<Record<DropReason, number>>;
}

/**
 * Creates the writer in front of the store. After a failure everything stays in the backlog and is retried after 10 ms,
 * doubling to 2 s (0.1 s if the store is busy). What exceeds the limits of the backlog is dropped and counted, as is a row
 * that the store refuses for good.
 */
export function createRecordWriter(
  ports: RecordWriterPorts,
  limits: BacklogLimits = defaultLimits,
): RecordWriter {
  const state = createState(ports, limits);
  return {
    add: (record) => add(state, record),
    addBody: (body) => addBody(state, body),
    attribute: (attributed) => attribute(state, attributed),
    count(kind, host, call) {
      if (state.closed) return;
      addBacklogCount(state.backlog, kind, host, 1, currentSlot(state), call);
      schedule(state, "turn_end");
    },
    begin: (host) => begin(state, host),
    flush: () => flush(state),
    health: () => ({
      capturing: state.failing ? "failing" : "ok",
      lastError: state.lastError,
      pending: state.backlog.records.length,
      stored: state.stored,
      dropped: { ...state.dropped },
    }),
    close: () => close(state),
  };
}

function createState(ports: RecordWriterPorts, limits: BacklogLimits): State {
  const state: State = {
    ports,
    limits,
    backlog: createBacklog(),
    target: {
      insertBatch: (batch) => ports.store.insertBatch(batch),
      stored(records) {
        state.stored += records;
      },
      refused(error, record, requestId) {
        recordError(state, error);
        drop(state, error.reason, record);
        emit(state, { kind: "refused", reason: error.reason, message: error.message, requestId });
      },
    },
    scheduled: "no",
    isBeginScheduled: false,
    storedAt: 0,
    failures: 0,
    failing: false,
    droppedDuringOutage: 0,
    closed: false,
    lastError: null,
    stored: 0,
    dropped: {},
  };
  return state;
}

function add(state: State, record: RequestRecord): void {
  const { records } = state.backlog;
  if (state.closed) return drop(state, "closed", null);
  if (records.length >= state.limits.records) return drop(state, overflowReason(state), record);
  records.push(record);
  schedule(state, "turn_end");
}

function addBody(state: State, body: CapturedBody): void {
  const { backlog, limits } = state;
  if (state.closed) return drop(state, "closed", null);
  if (backlog.bodyBytes + body.content.length > limits.bodyBytes)
    return drop(state, overflowReason(state), null);
  backlog.bodyBytes += body.content.length;
  backlog.bodies.push(body);
  schedule(state, "turn_end");
}

function attribute(state: State, added: readonly RequestRecord[]): void {
  const { attributed } = state.backlog;
  if (state.closed || attributed.length + added.length > state.limits.records) return;
  attributed.push(...added);
  schedule(state, "turn_end");
}

function begin(state: State, host: string): () => void {
  const { backlog } = state;
  const slot = currentSlot(state);
  let isOpen = !state.closed;
  if (isOpen) addBacklogCount(backlog, "unfinished", host, 1, slot);
  scheduleBegin(state);
  return () => {
    if (!isOpen || state.closed) return;
    isOpen = false;
    addBacklogCount(backlog, "unfinished", host, -1, slot);
    if (backlog.coverage.size > 0) schedule(state, "turn_end");
  };
}

function flush(state: State): boolean {
  while (!isBacklogEmpty(state.backlog)) {
    const error = storeNextBatch(state.backlog, state.target);
    settle(state, error);
    if (error !== null) return false;
  }
  return true;
}

function close(state: State): void {
  if (state.closed) return;
  flush(state);
  state.closed = true;
  for (const record of state.backlog.records) drop(state, "closed", record);
  for (const _ of state.backlog.bodies) drop(state, "closed", null);
  state.backlog.records = [];
  state.backlog.bodies = [];
}

function run(state: State): void {
  state.scheduled = "no";
  if (!state.closed && !isBacklogEmpty(state.backlog))
    settle(state, storeNextBatch(state.backlog, state.target));
}

/** Schedules the next attempt, unless one is scheduled. */
function schedule(state: State, when: "turn_end" | "retry"): void {
  if (state.closed || state.scheduled !== "no") return;
  state.scheduled = when;
  const { atTurnEnd, later } = state.ports;
  if (when === "turn_end") return atTurnEnd(() => run(state));
  const longestMs = state.lastError?.reason === "busy" ? lastBusyRetryMs : lastRetryMs;
  later(() => run(state), Math.min(longestMs, firstRetryMs * 2 ** Math.min(state.failures - 1, 20)));
}

/** Schedules storing the beginning of a call: together with what is stored next, or after `beginIntervalMs`. */
function scheduleBegin(state: State): void {
  if (state.closed || state.scheduled !== "no" || state.isBeginScheduled) return;
  const sinceMs = state.ports.now() - state.storedAt;
  if (sinceMs < 0 || sinceMs >= beginIntervalMs) return schedule(state, "turn_end");
  state.isBeginScheduled = true;
  state.ports.later(() => {
    state.isBeginScheduled = false;
    if (!isBacklogEmpty(state.backlog)) schedule(state, "turn_end");
  }, beginIntervalMs);
}

/** Reacts to the result of an attempt. */
function settle(state: State, error: StoreError | null): void {
  if (error !== null) return settleFailure(state, error);
  state.storedAt = state.ports.now();
  state.failures = 0;
  if (state.failing) {
    state.failing = false;
    const { records } = state.backlog;
    emit(state, { kind: "recovered", pending: records.length, dropped: state.droppedDuringOutage });
  }
  if (!isBacklogEmpty(state.backlog)) schedule(state, "turn_end");
}

function settleFailure(state: State, error: StoreError): void {
  recordError(state, error);
  if (state.failures === 0) state.droppedDuringOutage = 0;
  state.failures += 1;
  if (!state.failing && (error.reason !== "busy" || state.failures > toleratedBusyFailures)) {
    state.failing = true;
    emit(state, { kind: "failing", reason: error.reason, message: error.message });
  }
  schedule(state, "retry");
}

function recordError(state: State, { reason, message }: StoreError): void {
  state.lastError = { reason, message, at: state.ports.now() };
}

/** Counts what is dropped. A record also counts in the coverage. */
function drop(state: State, reason: DropReason, record: RequestRecord | null): void {
  state.dropped[reason] = (state.dropped[reason] ?? 0) + 1;
  state.droppedDuringOutage += 1;
  if (record !== null) addBacklogCount(state.backlog, "dropped", record.host, 1, currentSlot(state));
}

function overflowReason({ failures, lastError }: State): DropReason {
  return failures > 0 && lastError !== null ? lastError.reason : "backlog";
}

function currentSlot({ ports }: State): Millis {
  return coverageSlot(ports.now());
}

function emit({ ports }: State, event: RecordWriterEvent): void {
  try {
    ports.onEvent?.(event);
  } catch {
    // A log that fails must not cost a record.
  }
}
