import type { Dialect } from "kysely";
import type { Clock } from "../../core/ports/clock.ts";
import { type SqliteOpener, StoreError } from "../../core/ports/sqlite.ts";
import { guardParts } from "./guard-parts.ts";
import { createLogSync, type LogSync } from "./log-sync.ts";
import { openStore } from "./open-store.ts";
import type { CaptureBatch, Store } from "./port/store.ts";

/** The damage found when the database was opened, and where the damaged files were moved. */
export interface DatabaseDamage {
  /** The damaged database. Null if it was intact. */
  readonly setAsidePath: string | null;
  /** A copy of the damaged WAL. Null if it was intact. */
  readonly damagedLogPath: string | null;
}

/** The ports of a resilient store. */
interface ResilientStorePorts {
  readonly opener: SqliteOpener<Dialect>;
  readonly clock: Clock;
  /** Milliseconds of a clock that never steps back. */
  readonly monotonicMs: () => number;
  /** Called each time the database was opened: at the start, and after trouble. */
  opened(found: DatabaseDamage): void;
  /** Called when a sync to disk fails. A power cut may then lose more than a second of records. */
  syncFailed(error: unknown): void;
}

/** How often the database file's identity is checked while records are stored, in milliseconds. */
const FILE_CHECK_INTERVAL_MS = 1_000;

/** How often opening a failed database is retried, in milliseconds. */
const RETRY_INTERVAL_MS = 2_000;

/** How long the main thread may block on a lock of another process, in milliseconds. */
const BUSY_TIMEOUT_MS = 1_000;

/** When, after the start, every page of a large database is checked, in milliseconds. */
const PAGE_CHECK_DELAY_MS = 60_000;

/** The state of a resilient store. */
interface State {
  readonly ports: ResilientStorePorts;
  readonly path: string;
  /** Resolved when the file is open for the first time. */
  readonly opened: PromiseWithResolvers<void>;
  readonly logSync: LogSync;
  /** The open file, or an empty in-memory database while there is none. */
  current: Store;
  isInMemory: boolean;
  trouble: StoreError | null;
  /** The identity of the open file. */
  identity: string | null;
  fileCheckedAtMs: number;
  setAsidePath: string | null;
  cancelRetry: (() => void) | null;
  closed: boolean;
}

/**
 * Opens the database for a daemon that must survive its failures. While the database can't be used (disk full, locked,
 * newer schema, deleted, damaged), reads are answered by an empty in-memory database and each batch is refused with the
 * reason, so that the writer keeps the batch and `status` shows the reason. Opening is retried every two seconds. Never
 * rejects with a `StoreError`.
 *
 * Decision: a home that was removed is not created again. If only the database was removed, a new one is created.
 */
export async function openResilientStore(ports: ResilientStorePorts, path: string): Promise<Store> {
  const state: State = {
    ports,
    path,
    opened: Promise.withResolvers<void>(),
    logSync: createLogSync({
      clock: ports.clock,
      monotonicMs: ports.monotonicMs,
      sync: () => ports.opener.syncLog(path),
      failed: ports.syncFailed,
    }),
    current: await openStore(ports.opener, ":memory:"),
    isInMemory: true,
    trouble: null,
    identity: null,
    fileCheckedAtMs: Number.NEGATIVE_INFINITY,
    setAsidePath: null,
    cancelRetry: null,
    closed: false,
  };
  await openFile(state, "small");
  if (state.trouble !== null) scheduleRetry(state, RETRY_INTERVAL_MS);
  const cancelPageCheck = ports.clock.setTimer(PAGE_CHECK_DELAY_MS, () => checkPages(state));

  return {
    ...guardParts(
      () => state.current,
      (call) => guardCall(state, call),
    ),
    get setAsidePath() {
      return state.setAsidePath;
    },
    get trouble() {
      return state.trouble;
    },
    opened: state.opened.promise,
    insertBatch: (batch, onExisting) => insertBatch(state, batch, onExisting),
    close() {
      state.closed = true;
      state.logSync.stop();
      cancelPageCheck();
      state.cancelRetry?.();
      closeQuietly(state.current);
    },
  };
}

function insertBatch(state: State, ...[batch, onExisting]: Parameters<Store["insertBatch"]>): void {
  checkFileIdentity(state);
  if (state.trouble !== null) {
    scheduleRetry(state, 0);
    throw state.trouble;
  }
  guardCall(state, () => state.current.insertBatch(batch, onExisting));
  state.logSync.written(oldestAgeMs(batch, state.ports.clock.now()));
}

/** Returns the time since the end of a batch's oldest call, in milliseconds; 0 if it has none. */
function oldestAgeMs({ records }: CaptureBatch, nowMs: number): number {
  return records.reduce(
    (ageMs, { requestedAt, latencyMs }) => Math.max(ageMs, nowMs - requestedAt - latencyMs),
    0,
  );
}

/** Runs a call and reacts to its error, which is passed on. */
function guardCall<Result>(state: State, call: () => Result): Result {
  try {
    const result = call();
    if (result instanceof Promise) result.catch((error: unknown) => handleError(state, error));
    return result;
  } catch (error) {
    handleError(state, error);
    throw error;
  }
}

/** Reacts to damage, which any read can reveal. Other errors are left to the caller. */
function handleError(state: State, error: unknown): void {
  if (!(error instanceof StoreError) || error.reason !== "corrupt" || state.isInMemory) return;
  state.trouble = error;
  scheduleRetry(state, 0);
}

/** Opens the file in place of the current store. On failure, sets `trouble`. */
async function openFile(state: State, checkPages: "small" | "all"): Promise<void> {
  const { ports, path } = state;
  try {
    const damagedLogPath = ports.opener.saveDamagedLog(path);
    const store = await openStore(ports.opener, path, { checkPages, busyTimeoutMs: BUSY_TIMEOUT_MS });
    requireTables(store);
    closeQuietly(state.current);
    state.current = store;
    state.trouble = null;
    state.isInMemory = false;
    state.identity = ports.opener.fileIdentity(path);
    state.setAsidePath = store.setAsidePath ?? state.setAsidePath;
    if (state.closed) return closeQuietly(store);
    ports.opened({ setAsidePath: store.setAsidePath, damagedLogPath });
    state.opened.resolve();
  } catch (error) {
    state.trouble = toStoreError(error);
  }
}

async function reopen(state: State): Promise<void> {
  const { opener } = state.ports;
  checkFileIdentity(state);
  if (state.trouble === null) return;
  // The home was removed, so it is not created again.
  if (!opener.hasFolder(state.path)) return;
  const checkPages = state.trouble.reason === "corrupt" ? "all" : "small";
  if (!state.isInMemory) {
    // Close the broken store first: on close, SQLite deletes the files beside a database by name.
    const broken = state.current;
    state.current = await openStore(opener, ":memory:");
    state.isInMemory = true;
    closeQuietly(broken);
  }
  await openFile(state, checkPages);
}

/** Schedules a retry, and further ones until the store works. Only one is scheduled at a time. */
function scheduleRetry(state: State, delayMs: number): void {
  if (state.closed || state.cancelRetry !== null) return;
  state.cancelRetry = state.ports.clock.setTimer(delayMs, async () => {
    await reopen(state).catch((error: unknown) => {
      state.trouble = toStoreError(error);
    });
    state.cancelRetry = null;
    if (state.trouble !== null) scheduleRetry(state, RETRY_INTERVAL_MS);
  });
}

/** Checks that the path still names the open file. SQLite would keep writing to a deleted or moved one. */
function checkFileIdentity(state: State): void {
  const nowMs = state.ports.monotonicMs();
  const waitsForFile = state.trouble?.reason === "missing";
  if (state.isInMemory || (state.trouble !== null && !waitsForFile)) return;
  if (!waitsForFile && nowMs - state.fileCheckedAtMs < FILE_CHECK_INTERVAL_MS) return;
  state.fileCheckedAtMs = nowMs;
  state.trouble =
    readIdentity(state) === state.identity
      ? null
      : new StoreError("missing", `the database file was moved or deleted: ${state.path}`);
}

function readIdentity({ ports, path }: State): string | null {
  try {
    return ports.opener.fileIdentity(path);
  } catch {
    return null;
  }
}

/** Reads every page of the file, beside the store. Another file may have replaced it meanwhile. */
async function checkPages(state: State): Promise<void> {
  const { ports, path, identity } = state;
  if (state.isInMemory || state.trouble !== null) return;
  const damage = await ports.opener.checkPages(path);
  if (damage === null || state.closed || state.identity !== identity) return;
  handleError(state, new StoreError("corrupt", `the database is damaged: ${damage}`));
}

/** Checks that rows can be inserted. Otherwise a missing column would look like a fault of each record. */
function requireTables(store: Store): void {
  try {
    store.insertBatch({ records: [], bodies: [], coverage: [] });
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== "other") return;
    store.close();
    throw new StoreError("migration", `the tables do not match the schema: ${error.message}`, {
      cause: error,
    });
  }
}

/** Converts an error to one that concerns the whole database instead of one row. */
function toStoreError(error: unknown): StoreError {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof StoreError)) return new StoreError("cannot_open", message, { cause: error });
  return error.reason === "other" ? new StoreError("cannot_open", message, { cause: error }) : error;
}

/** Closes a store and ignores errors: a connection to a deleted file may fail to close. */
function closeQuietly(store: Store): void {
  try {
    store.close();
  } catch {
    // The store is no longer used.
  }
}
