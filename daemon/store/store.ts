import type { Dialect } from "kysely";
import {
  type SqliteConnection,
  type SqliteOpener,
  type SqliteOptions,
  StoreError,
} from "../../core/ports/sqlite.ts";
import type { RequestRecord } from "../../core/record.ts";
import { type BodyStore, type CapturedBody, createBodyStore, insertBodyRows } from "./bodies.ts";
import { type CloudStore, createCloudStore } from "./cloud-records.ts";
import { createReader, type StoreConnections } from "./connections.ts";
import { addCoverageRows, type CoverageCount, type CoverageStore, createCoverageStore } from "./coverage.ts";
import { createDeletionStore, type DeletionStore } from "./deletion.ts";
import { createDeliveryStore, type DeliveryStore } from "./delivery.ts";
import { checkSchema, migrate, readSchemaVersion, requireLatestSchema } from "./migrate.ts";
import { createReassignStore, type ReassignStore } from "./reassign.ts";
import { createRecordStore, insertRecordRows, type RecordStore } from "./records.ts";
import { createReportStore, type ReportStore } from "./reports.ts";
import { createSettingStore, type SettingStore } from "./settings.ts";
import { createStatisticsStore, type StatisticsStore } from "./statistics.ts";

/** What one turn of the event loop captured. */
export interface CaptureBatch {
  records: readonly RequestRecord[];
  bodies: readonly CapturedBody[];
  coverage: readonly CoverageCount[];
}

/** The daemon's database. */
export interface Store
  extends RecordStore,
    ReportStore,
    BodyStore,
    CoverageStore,
    SettingStore,
    CloudStore,
    DeliveryStore,
    DeletionStore,
    ReassignStore,
    StatisticsStore {
  /** Where a corrupt database was moved when this one was opened in its place; else `null`. */
  readonly setAsidePath: string | null;
  /** Why the database can't be used now; while it is not null, nothing is stored and what is read is not all. */
  readonly trouble: StoreError | null;
  /** Resolves when the database could be opened, which a lasting store may have to wait for. */
  readonly opened: Promise<void>;
  /** Records, bodies and counters in one transaction: all or nothing. */
  insertBatch(batch: CaptureBatch): void;
  /** Safe to call twice. */
  close(): void;
}

/** How a store is opened. */
export interface StoreOptions {
  /** For reports beside the daemon, or without it: nothing is created, migrated or repaired. Default: false. */
  readOnly?: boolean;
  /**
   * Reads every page: `small` those of a file of moderate size, `all` any with its indexes. By default only a file that is
   * not the one that this store last wrote is read.
   */
  checkPages?: "small" | "all";
  /** How long a call that is not a capture's waits for a lock. Default: 5,000. */
  busyTimeoutMs?: number;
}

/** Files up to this size are checked at each start of the daemon: 0.2 s of CPU time at most. */
const smallBytes = 64 * 1024 * 1024;

/**
 * How long a capture waits for a lock that another process holds before it is queued again: the daemon's main thread
 * stands still meanwhile.
 */
const captureBusyTimeoutMs = 10;

const identityKey = "file_identity";

function knownIdentity(state: SqliteConnection): string | null {
  if (readSchemaVersion(state) === 0) return null;
  return (
    state.prepare<{ value: string }>("SELECT value FROM meta WHERE key = ?").get([identityKey])?.value ?? null
  );
}

function checkEveryPage(state: SqliteConnection, withIndexes: boolean): void {
  const check = withIndexes ? "integrity_check" : "quick_check";
  const found = state.prepare<Record<string, string>>(`PRAGMA ${check}(1)`).get([])?.[check];
  if (found !== "ok") throw new StoreError("corrupt", `the database is damaged: ${found}`);
}

function isSmall(state: SqliteConnection): boolean {
  const size = state.prepare<{ bytes: number }>(
    "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size",
  );
  return (size.get([])?.bytes ?? 0) <= smallBytes;
}

/**
 * Opens and migrates. A file that is not the one that this store last wrote (restored, copied, handed over by somebody)
 * is read through once; one that only crashed is as SQLite promises and needs no check.
 */
async function openState(
  opener: SqliteOpener<Dialect>,
  path: string,
  { checkPages, busyTimeoutMs = 5_000 }: StoreOptions,
): Promise<SqliteConnection<Dialect>> {
  const state = await opener.open(path, { synchronous: "full", busyTimeoutMs });
  try {
    checkSchema(state);
    const identity = opener.fileIdentity(path);
    const isStrange = identity !== null && knownIdentity(state) !== identity;
    const isDue = isStrange || checkPages === "all" || (checkPages === "small" && isSmall(state));
    if (isDue && readSchemaVersion(state) > 0) checkEveryPage(state, checkPages === "all");
    migrate(state);
    if (isStrange) {
      state.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)").run([identityKey, identity]);
    }
    return state;
  } catch (error) {
    state.close();
    throw error;
  }
}

function createStore(connections: StoreConnections, setAsidePath: string | null, close: () => void): Store {
  const { capture } = connections;
  return {
    ...createRecordStore(connections),
    ...createReportStore(connections),
    ...createStatisticsStore(connections),
    ...createBodyStore(connections),
    ...createCoverageStore(connections),
    ...createSettingStore(connections),
    ...createCloudStore(connections),
    ...createDeliveryStore(connections, createBodyStore(connections).readBodies),
    ...createDeletionStore(connections),
    ...createReassignStore(connections),
    setAsidePath,
    trouble: null,
    opened: Promise.resolve(),
    insertBatch: ({ records, bodies, coverage }) =>
      capture.transaction(() => {
        insertRecordRows(capture, records);
        insertBodyRows(capture, bodies);
        addCoverageRows(capture, coverage);
      }),
    close,
  };
}

async function openReadOnly(opener: SqliteOpener<Dialect>, path: string): Promise<Store> {
  const connection = await opener.open(path, { readOnly: true });
  try {
    requireLatestSchema(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
  const reader = createReader(connection);
  return createStore({ capture: connection, state: connection, reader }, null, () => connection.close());
}

/** Stands in `paused_reason` where the database was damaged and another begun. */
export const PAUSED_DATABASE_REPLACED = "paused_database_replaced";

/**
 * Decision: whether somebody had paused the sync is lost with the damaged database, so nothing is sent from the new one
 * until `meter cloud resume`.
 */
function pauseSync(state: SqliteConnection<Dialect>): void {
  for (const table of ["cloud_state", "cloud_sync_state", "cloud_body_sync_state"]) {
    state.execute(`UPDATE ${table} SET paused_reason = '${PAUSED_DATABASE_REPLACED}'`);
  }
}

/**
 * Opens, migrates and checks the database at the path; `:memory:` makes an empty one. Rejects with a `StoreError`.
 *
 * Decision: a corrupt database is moved aside, whole, and a fresh one begun: metering goes on, the evidence stays, and
 * `setAsidePath` says so. A read-only open only reports it.
 */
export async function openStore(
  opener: SqliteOpener<Dialect>,
  path: string,
  options: StoreOptions = {},
): Promise<Store> {
  if (options.readOnly === true) return await openReadOnly(opener, path);
  let setAsidePath: string | null = null;
  let state: SqliteConnection<Dialect>;
  try {
    state = await openState(opener, path, options);
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== "corrupt") throw error;
    setAsidePath = opener.setAside(path, "corrupt");
    state = await openState(opener, path, options);
    pauseSync(state);
  }
  if (path === ":memory:") {
    return createStore({ capture: state, state, reader: createReader(state) }, null, () => state.close());
  }
  const opened = [state];
  const close = () => {
    // The first one opened goes last: it writes the WAL back.
    for (const connection of opened.toReversed()) connection.close();
  };
  const open = async (how: SqliteOptions) => {
    const connection = await opener.open(path, how);
    opened.push(connection);
    return connection;
  };
  try {
    const capture = await open({ synchronous: "normal", busyTimeoutMs: captureBusyTimeoutMs });
    const reader = createReader(await open({ readOnly: true }));
    return createStore({ capture, state, reader }, setAsidePath, close);
  } catch (error) {
    close();
    throw error;
  }
}
