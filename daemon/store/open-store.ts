import type { Dialect } from "kysely";
import {
  type SqliteConnection,
  type SqliteOpener,
  type SqliteOptions,
  StoreError,
} from "../../core/ports/sqlite.ts";
import { PERMANENT_REASONS } from "./backlog.ts";
import { createBodyStore, insertBodyRows } from "./bodies.ts";
import { createBodyDeliveryStore } from "./body-delivery.ts";
import { createBudgetStore } from "./budgets.ts";
import { createClientReportStore } from "./client-reports.ts";
import type { StoreConnections } from "./connections.ts";
import { addCoverageRows, createCoverageStore } from "./coverage.ts";
import { createDeletionStore } from "./deletion.ts";
import { createDeliveryStore } from "./delivery.ts";
import { createLimitStore } from "./limits.ts";
import { createLogStore } from "./logs.ts";
import { checkSchema, migrate, readSchemaVersion, requireLatestSchema } from "./migrate.ts";
import { createNoteStore } from "./notes.ts";
import { createOriginStore } from "./origins.ts";
import type { CapturedBody } from "./port/bodies.ts";
import type { Store } from "./port/store.ts";
import { createQuarantineStore } from "./quarantine.ts";
import { createRateStore } from "./rates.ts";
import { createReassignmentStore } from "./reassignments.ts";
import { attributeRecordRows, createRecordStore, insertRecordRows } from "./records.ts";
import { createReportStore } from "./reports.ts";
import { createRollupStore } from "./rollup-build.ts";
import { addToRollups, discardRollups, ROLLUP_TAIL, type RollupTail } from "./rollups.ts";
import { createSessionStore } from "./sessions.ts";
import { createSettingStore } from "./settings.ts";
import type { SummedDays } from "./summed-spans.ts";

/** Options of `openStore()`. */
export interface StoreOptions {
  /** Opens the database for reading only: nothing is created, migrated or repaired. Default: false. */
  readOnly?: boolean;
  /**
   * Whether to check every page: `small` checks files of moderate size, `all` checks every file, with its indexes. By default,
   * only a file that this store did not write last is checked.
   */
  checkPages?: "small" | "all";
  /** Rejects if the database is damaged, and leaves it as it is. Default: it is moved aside and replaced. */
  keepDamaged?: boolean;
  /** How long calls other than captures wait for a lock, in milliseconds. Default: 5,000. */
  busyTimeoutMs?: number;
  /** How many of the newest requests are not in the rollups. Default: `ROLLUP_TAIL`. */
  rollupTail?: RollupTail;
}

/** Files up to this size, in bytes, are checked at each start of the daemon. That takes at most 0.2 s of CPU time. */
const smallBytes = 64 * 1024 * 1024;

/** How long a capture waits for a lock of another process before it is queued again. It blocks the daemon's main thread. */
const captureBusyTimeoutMs = 10;

const identityKey = "file_identity";

function readStoredIdentity(state: SqliteConnection): string | null {
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
 * Opens and migrates the database. A file that this store did not write last (restored or copied) has every page checked
 * once. After a crash no check is needed: SQLite recovers the file itself.
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
    const isUnknownFile = identity !== null && readStoredIdentity(state) !== identity;
    const isDue = isUnknownFile || checkPages === "all" || (checkPages === "small" && isSmall(state));
    if (isDue && readSchemaVersion(state) > 0) checkEveryPage(state, checkPages === "all");
    migrate(state);
    if (isUnknownFile) {
      state.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)").run([identityKey, identity]);
    }
    return state;
  } catch (error) {
    state.close();
    throw error;
  }
}

/** Creates `insertBatch()`. It looks at the rollups only when enough requests were inserted. */
function createInserter(
  capture: SqliteConnection,
  tail: RollupTail,
  summedDays: SummedDays,
): Store["insertBatch"] {
  let missing = tail.max;
  return ({ records, bodies, coverage, attributed = [] }, onExisting) =>
    capture.transaction(() => {
      insertRecordRows(capture, records, onExisting);
      attributeRecordRows(capture, attributed);
      insertBodyRows(capture, withRequest(capture, bodies));
      addCoverageRows(capture, coverage, summedDays);
      missing += records.length;
      if (missing > tail.max) missing = addOrDiscard(capture, tail);
    });
}

/** Returns the bodies whose requests are stored. A request may be refused or deleted while its caller is looked up. */
function withRequest(capture: SqliteConnection, bodies: readonly CapturedBody[]): CapturedBody[] {
  const find = capture.prepare("SELECT 1 FROM requests WHERE request_id = ?");
  return bodies.filter(({ requestId }) => find.get([requestId]) !== null);
}

/**
 * Adds to the rollups. If they can't be added to, they are discarded: no record is lost for them. After any other error the caller
 * rolls back, and SQLite may have rolled back already: then the savepoint is gone.
 */
function addOrDiscard(capture: SqliteConnection, tail: RollupTail): number {
  capture.prepare("SAVEPOINT rollups").run([]);
  let missing = 0;
  try {
    missing = addToRollups(capture, tail);
  } catch (error) {
    if (!(error instanceof StoreError) || !PERMANENT_REASONS.includes(error.reason)) throw error;
    capture.prepare("ROLLBACK TO rollups").run([]);
    discardRollups(capture);
  }
  capture.prepare("RELEASE rollups").run([]);
  return missing;
}

function createStore(
  connections: StoreConnections,
  setAsidePath: string | null,
  tail: RollupTail,
  close: () => void,
): Store {
  const summedDays: SummedDays = { until: null };
  return {
    records: createRecordStore(connections),
    reports: createReportStore(connections),
    sessions: createSessionStore(connections),
    rollups: createRollupStore(connections, tail, summedDays),
    bodies: createBodyStore(connections),
    coverage: createCoverageStore(connections, summedDays),
    settings: createSettingStore(connections),
    rates: createRateStore(connections),
    notes: createNoteStore(connections),
    delivery: createDeliveryStore(connections),
    bodyDelivery: createBodyDeliveryStore(connections),
    quarantine: createQuarantineStore(connections),
    deletion: createDeletionStore(connections),
    reassignments: createReassignmentStore(connections),
    origins: createOriginStore(connections),
    limits: createLimitStore(connections),
    budgets: createBudgetStore(connections),
    logs: createLogStore(connections),
    clientReports: createClientReportStore(connections),
    setAsidePath,
    trouble: null,
    opened: Promise.resolve(),
    insertBatch: createInserter(connections.capture, tail, summedDays),
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
  return createStore({ capture: connection, state: connection, reads: connection }, null, ROLLUP_TAIL, () =>
    connection.close(),
  );
}

/** The `paused_reason` after a damaged database has been replaced. */
export const PAUSED_DATABASE_REPLACED = "paused_database_replaced";

/**
 * Pauses sync. Decision: the damaged database may have recorded a pause, so nothing is sent from the new one until
 * `meter cloud resume`.
 */
function pauseSync(state: SqliteConnection<Dialect>): void {
  for (const table of ["cloud_state", "cloud_sync_state", "cloud_body_sync_state"]) {
    state.execute(`UPDATE ${table} SET paused_reason = '${PAUSED_DATABASE_REPLACED}'`);
  }
}

/**
 * Opens, migrates and checks the database at the path; `:memory:` makes an empty one. Rejects with a `StoreError`.
 *
 * Decision: a corrupt database is moved aside and a new one is created, so that metering continues and the damaged file
 * is kept at `setAsidePath`. A read-only open, and one with `keepDamaged`, only report the damage.
 */
export async function openStore(
  opener: SqliteOpener<Dialect>,
  path: string,
  options: StoreOptions = {},
): Promise<Store> {
  if (options.readOnly === true) return await openReadOnly(opener, path);
  const tail = options.rollupTail ?? ROLLUP_TAIL;
  let setAsidePath: string | null = null;
  let state: SqliteConnection<Dialect>;
  try {
    state = await openState(opener, path, options);
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== "corrupt" || options.keepDamaged === true)
      throw error;
    setAsidePath = opener.setAside(path, "corrupt");
    state = await openState(opener, path, options);
    pauseSync(state);
  }
  if (path === ":memory:") {
    return createStore({ capture: state, state, reads: state }, null, tail, () => state.close());
  }
  const opened = [state];
  const close = () => {
    // The first connection closes last: it checkpoints the WAL.
    for (const connection of opened.toReversed()) connection.close();
  };
  const open = async (how: SqliteOptions) => {
    const connection = await opener.open(path, how);
    opened.push(connection);
    return connection;
  };
  try {
    const capture = await open({ synchronous: "normal", busyTimeoutMs: captureBusyTimeoutMs });
    const reads = await open({ readOnly: true });
    return createStore({ capture, state, reads }, setAsidePath, tail, close);
  } catch (error) {
    close();
    throw error;
  }
}
