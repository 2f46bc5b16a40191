import { StoreError, type StoreErrorReason } from "../../core/ports/sqlite.ts";
import type { RequestRecord } from "../../core/record.ts";
import type { Millis } from "../../core/time.ts";
import type { CapturedBody } from "./bodies.ts";
import { type CoverageCount, type CoverageKind, coverageSlot } from "./coverage.ts";
import type { CaptureBatch, Store } from "./store.ts";

/** Why something captured was not stored: the store's reason, a full backlog, or the end of the process. */
export type DropReason = StoreErrorReason | "backlog" | "closed";

/** What the writer needs; `setImmediate`, `setTimeout` and a clock in the daemon. */
export interface RecordWriterPorts {
  store: Pick<Store, "insertBatch">;
  /** Runs the work once, after the current turn of the event loop. */
  atTurnEnd(work: () => void): void;
  later(work: () => void, delayMs: number): void;
  now(): Millis;
  /** For the log. */
  onEvent?(event: RecordWriterEvent): void;
}

/** What the log should say: once for each spell of trouble, and for each record that can't be stored at all. */
export type RecordWriterEvent =
  | { kind: "failing"; reason: StoreErrorReason; message: string }
  | { kind: "recovered"; pending: number; dropped: number }
  | { kind: "refused"; reason: DropReason; message: string; requestId: string };

/** What `status` shows. */
export interface RecordWriterHealth {
  capturing: "ok" | "failing";
  /** The last failure, also after recovery. */
  lastError: { reason: StoreErrorReason; message: string; at: Millis } | null;
  /** Records that wait. */
  pending: number;
  /** Records stored since the start. */
  stored: number;
  /** Records and bodies lost since the start, by reason. */
  dropped: Readonly<Partial<Record<DropReason, number>>>;
}

/** Collects what capture makes and stores it once per turn. No method throws. */
export interface RecordWriter {
  add(record: RequestRecord): void;
  addBody(body: CapturedBody): void;
  /** Counts one; `null` for a host that is no provider's. */
  count(kind: CoverageKind, host: string | null): void;
  /** Counts a call as unfinished until what this gives back is called; a second time does nothing. */
  begin(host: string): () => void;
  /** Tries to store everything now. True when nothing waits any more. */
  flush(): boolean;
  health(): RecordWriterHealth;
  /** Stores what it can and drops the rest; nothing is taken afterwards. */
  close(): void;
}

/** Bounds of the backlog while the store fails. */
export interface BacklogLimits {
  records: number;
  bodyBytes: number;
}

/** About 10 MB of records, and what fits of bodies beside them. */
const defaultLimits: BacklogLimits = { records: 10_000, bodyBytes: 32 * 1024 * 1024 };

/** Records in one transaction, so that a turn after an outage stays short. */
const maxBatch = 500;

const firstRetryMs = 10;
const lastRetryMs = 2_000;
/** A lock is short: many processes that write at once should not make the queue wait longer than needed. */
const lastBusyRetryMs = 100;

/**
 * How soon after a transaction the beginning of a call may have one of its own, in milliseconds: calls that are over
 * sooner cost none, and many cost a hundred a second (3 ms of CPU). A kill within this time leaves no trace of a call.
 */
const beginEveryMs = 10;

/** Tries that may end `busy` (0.25 s together) before it is called a failure. */
const quietBusyTries = 5;

/** These lie in the row itself: trying again can't help, and leaving the row out does. */
const lastingReasons: readonly StoreErrorReason[] = ["constraint", "invalid_value", "other"];

const asStoreError = (error: unknown): StoreError =>
  error instanceof StoreError ? error : new StoreError("other", String(error), { cause: error });

/**
 * Makes the queue in front of the store. A failure leaves everything queued and is tried again after 10 ms, doubling
 * to 2 s (0.1 s when busy), without ever blocking; beyond the backlog's bounds what comes last is dropped and counted. A row that the
 * store refuses for good is taken out alone.
 */
export function createRecordWriter(
  ports: RecordWriterPorts,
  limits: BacklogLimits = defaultLimits,
): RecordWriter {
  const { store, atTurnEnd, later, now } = ports;
  let records: RequestRecord[] = [];
  let bodies: CapturedBody[] = [];
  let bodyBytes = 0;
  let coverage = new Map<string, CoverageCount>();
  let waiting: "no" | "turn_end" | "retry" = "no";
  let beginWaits = false;
  let storedAt = 0;
  let failures = 0;
  let failing = false;
  let droppedInSpell = 0;
  let closed = false;
  let lastError: RecordWriterHealth["lastError"] = null;
  let stored = 0;
  const dropped: Partial<Record<DropReason, number>> = {};

  const emit = (event: RecordWriterEvent) => {
    try {
      ports.onEvent?.(event);
    } catch {
      // A log that fails must not cost a record.
    }
  };

  const addCount = (kind: CoverageKind, host: string | null, by = 1, at = coverageSlot(now())) => {
    const key = `${at} ${kind} ${host ?? ""}`;
    const known = coverage.get(key);
    if (known === undefined) coverage.set(key, { at, host, kind, count: by });
    else if (known.count + by === 0) coverage.delete(key);
    else known.count += by;
  };

  const drop = (reason: DropReason, record: RequestRecord | null) => {
    dropped[reason] = (dropped[reason] ?? 0) + 1;
    droppedInSpell++;
    if (record !== null) addCount("dropped", record.host);
  };

  const overflowReason = (): DropReason =>
    failures > 0 && lastError !== null ? lastError.reason : "backlog";

  const note = (error: StoreError) => {
    lastError = { reason: error.reason, message: error.message, at: now() };
  };

  /** Stores one part alone; a part that the store refuses for good is dropped. Gives the error when the store is at fault. */
  const storeAlone = (
    part: Partial<CaptureBatch>,
    record: RequestRecord | null,
    requestId: string,
  ): StoreError | null => {
    try {
      store.insertBatch({ records: [], bodies: [], coverage: [], ...part });
      if (record !== null) stored++;
      return null;
    } catch (error) {
      const storeError = asStoreError(error);
      const { reason, message } = storeError;
      if (!lastingReasons.includes(reason)) return storeError;
      note(storeError);
      drop(reason, record);
      emit({ kind: "refused", reason, message, requestId });
      return null;
    }
  };

  /** After a refusal of the whole batch: one by one. What is settled leaves the queue at once. */
  const storeOneByOne = (n: number): StoreError | null => {
    for (let i = 0; i < n; i++) {
      const record = records[0] as RequestRecord;
      const error = storeAlone({ records: [record] }, record, record.requestId);
      if (error !== null) return error;
      records.shift();
    }
    for (let body = bodies[0]; body !== undefined; body = bodies[0]) {
      const error = storeAlone({ bodies: [body] }, null, body.requestId);
      if (error !== null) return error;
      bodyBytes -= body.content.length;
      bodies.shift();
    }
    const error = storeAlone({ coverage: [...coverage.values()] }, null, "");
    if (error === null) coverage = new Map();
    return error;
  };

  /** Stores the next batch. Gives the error that asks for another try, or `null`. */
  const storeNext = (): StoreError | null => {
    const n = Math.min(records.length, maxBatch);
    const whole = n === records.length;
    try {
      store.insertBatch({
        records: whole ? records : records.slice(0, n),
        bodies,
        coverage: [...coverage.values()],
      });
    } catch (error) {
      const storeError = asStoreError(error);
      return lastingReasons.includes(storeError.reason) ? storeOneByOne(n) : storeError;
    }
    stored += n;
    records = whole ? [] : records.slice(n);
    if (bodies.length > 0) bodies = [];
    bodyBytes = 0;
    if (coverage.size > 0) coverage = new Map();
    return null;
  };

  const isEmpty = () => records.length === 0 && bodies.length === 0 && coverage.size === 0;

  const schedule = (how: "turn_end" | "retry") => {
    if (closed || waiting !== "no") return;
    waiting = how;
    if (how === "turn_end") atTurnEnd(run);
    else {
      const longestMs = lastError?.reason === "busy" ? lastBusyRetryMs : lastRetryMs;
      later(run, Math.min(longestMs, firstRetryMs * 2 ** Math.min(failures - 1, 20)));
    }
  };

  /** Beginnings go with what is stored next, which is at most so far away. */
  const scheduleBegin = () => {
    if (closed || waiting !== "no" || beginWaits) return;
    const sinceMs = now() - storedAt;
    if (sinceMs < 0 || sinceMs >= beginEveryMs) return schedule("turn_end");
    beginWaits = true;
    later(() => {
      beginWaits = false;
      if (!isEmpty()) schedule("turn_end");
    }, beginEveryMs);
  };

  const settle = (error: StoreError | null) => {
    if (error === null) storedAt = now();
    if (error !== null) {
      note(error);
      if (failures++ === 0) droppedInSpell = 0;
      if (!failing && (error.reason !== "busy" || failures > quietBusyTries)) {
        failing = true;
        emit({ kind: "failing", reason: error.reason, message: error.message });
      }
      schedule("retry");
      return;
    }
    failures = 0;
    if (failing) {
      failing = false;
      emit({ kind: "recovered", pending: records.length, dropped: droppedInSpell });
    }
    if (!isEmpty()) schedule("turn_end");
  };

  function run(): void {
    waiting = "no";
    if (!closed && !isEmpty()) settle(storeNext());
  }

  const flush = (): boolean => {
    while (!isEmpty()) {
      const error = storeNext();
      settle(error);
      if (error !== null) return false;
    }
    return true;
  };

  return {
    add(record) {
      if (closed) return drop("closed", null);
      if (records.length >= limits.records) return drop(overflowReason(), record);
      records.push(record);
      schedule("turn_end");
    },
    addBody(body) {
      if (closed) return drop("closed", null);
      if (bodyBytes + body.content.length > limits.bodyBytes) return drop(overflowReason(), null);
      bodyBytes += body.content.length;
      bodies.push(body);
      schedule("turn_end");
    },
    count(kind, host) {
      if (closed) return;
      addCount(kind, host);
      schedule("turn_end");
    },
    begin(host) {
      const at = coverageSlot(now());
      let isOpen = !closed;
      if (isOpen) addCount("unfinished", host, 1, at);
      scheduleBegin();
      return () => {
        if (!isOpen || closed) return;
        isOpen = false;
        addCount("unfinished", host, -1, at);
        if (coverage.size > 0) schedule("turn_end");
      };
    },
    flush,
    health: () => ({
      capturing: failing ? "failing" : "ok",
      lastError,
      pending: records.length,
      stored,
      dropped: { ...dropped },
    }),
    close() {
      if (closed) return;
      flush();
      closed = true;
      for (const record of records) drop("closed", record);
      for (const _ of bodies) drop("closed", null);
      records = [];
      bodies = [];
    },
  };
}
