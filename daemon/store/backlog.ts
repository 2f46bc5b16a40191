import type { CoverageKind, UnmeteredCall } from "../../core/metering/coverage/coverage-kinds.ts";
import { StoreError, type StoreErrorReason } from "../../core/ports/sqlite.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import type { CapturedBody } from "./port/bodies.ts";
import type { CoverageCount } from "./port/coverage.ts";
import type { CaptureBatch } from "./port/store.ts";

/** What is captured but not stored yet. */
export interface Backlog {
  records: RequestRecord[];
  attributed: RequestRecord[];
  bodies: CapturedBody[];
  /** The size of `bodies`. */
  bodyBytes: number;
  /** Additions to counters by slot, kind, host and call. */
  coverage: Map<string, CoverageCount>;
}

/** Where a backlog is stored. */
export interface BacklogTarget {
  insertBatch(batch: CaptureBatch): void;
  /** Called after records were stored. */
  stored(records: number): void;
  /** Called for what the store refuses for good. `record` is null for bodies and coverage. */
  refused(error: StoreError, record: RequestRecord | null, requestId: string): void;
}

/** Beyond this number of counters, calls are counted without their names. */
const maxCounters = 2_000;

/** How many records one transaction stores, so that a turn after an outage stays short. */
const maxBatch = 500;

/** Errors of one row: a retry can't help, but leaving out the row does. */
export const PERMANENT_REASONS: readonly StoreErrorReason[] = ["constraint", "invalid_value", "other"];

/** Creates an empty backlog. */
export function createBacklog(): Backlog {
  return { records: [], attributed: [], bodies: [], bodyBytes: 0, coverage: new Map() };
}

/** Whether nothing waits to be stored. */
export function isBacklogEmpty({ records, attributed, bodies, coverage }: Backlog): boolean {
  return records.length === 0 && attributed.length === 0 && bodies.length === 0 && coverage.size === 0;
}

/** Adds to a counter. Additions that cancel each other out are removed. */
export function addBacklogCount(
  { coverage }: Backlog,
  kind: CoverageKind,
  host: string | null,
  count: number,
  slot: Millis,
  call?: UnmeteredCall,
): void {
  const named = call !== undefined && coverage.size < maxCounters ? call : undefined;
  const key = `${slot} ${kind} ${host ?? ""} ${named?.method ?? ""} ${named?.path ?? ""}`;
  const known = coverage.get(key);
  if (known === undefined)
    coverage.set(key, { at: slot, host, kind, count, ...(named !== undefined && { call: named }) });
  else if (known.count + count === 0) coverage.delete(key);
  else known.count += count;
}

/**
 * Stores the next batch and removes it from the backlog. If the store refuses one of its rows for good, the batch is stored
 * row by row without it. Returns the error after which a retry may help, or null.
 */
export function storeNextBatch(backlog: Backlog, target: BacklogTarget): StoreError | null {
  const n = Math.min(backlog.records.length, maxBatch);
  const isLast = n === backlog.records.length;
  try {
    target.insertBatch({
      records: isLast ? backlog.records : backlog.records.slice(0, n),
      // Bodies and attributions after the records that they belong to.
      bodies: isLast ? backlog.bodies : [],
      coverage: [...backlog.coverage.values()],
      attributed: isLast ? backlog.attributed : [],
    });
  } catch (error) {
    const storeError = toStoreError(error);
    return isPermanent(storeError) ? storeOneByOne(backlog, target, n) : storeError;
  }
  target.stored(n);
  backlog.records = isLast ? [] : backlog.records.slice(n);
  if (isLast && backlog.attributed.length > 0) backlog.attributed = [];
  if (isLast && backlog.bodies.length > 0) {
    backlog.bodies = [];
    backlog.bodyBytes = 0;
  }
  if (backlog.coverage.size > 0) backlog.coverage = new Map();
  return null;
}

/** Stores `n` records and everything else row by row. Each row leaves the backlog at once. */
function storeOneByOne(backlog: Backlog, target: BacklogTarget, n: number): StoreError | null {
  const { records, attributed, bodies } = backlog;
  for (const record of records.slice(0, n)) {
    const error = storeAlone(target, { records: [record] }, record, record.requestId);
    if (error !== null) return error;
    records.shift();
  }
  for (let record = attributed[0]; record !== undefined && records.length === 0; record = attributed[0]) {
    const error = storeAlone(target, { attributed: [record] }, null, record.requestId);
    if (error !== null) return error;
    attributed.shift();
  }
  for (let body = bodies[0]; body !== undefined && records.length === 0; body = bodies[0]) {
    const error = storeAlone(target, { bodies: [body] }, null, body.requestId);
    if (error !== null) return error;
    backlog.bodyBytes -= body.content.length;
    bodies.shift();
  }
  const error = storeAlone(target, { coverage: [...backlog.coverage.values()] }, null, "");
  if (error === null) backlog.coverage = new Map();
  return error;
}

/** Stores one row. Returns null if it is stored or refused for good, otherwise the store's error. */
function storeAlone(
  target: BacklogTarget,
  row: Partial<CaptureBatch>,
  record: RequestRecord | null,
  requestId: string,
): StoreError | null {
  try {
    target.insertBatch({ records: [], bodies: [], coverage: [], ...row });
  } catch (error) {
    const storeError = toStoreError(error);
    if (!isPermanent(storeError)) return storeError;
    target.refused(storeError, record, requestId);
    return null;
  }
  if (record !== null) target.stored(1);
  return null;
}

function isPermanent({ reason }: StoreError): boolean {
  return PERMANENT_REASONS.includes(reason);
}

function toStoreError(error: unknown): StoreError {
  return error instanceof StoreError ? error : new StoreError("other", String(error), { cause: error });
}
