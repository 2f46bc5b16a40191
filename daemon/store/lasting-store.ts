import type { Dialect } from "kysely";
import type { Clock } from "../../core/ports/clock.ts";
import { type SqliteOpener, StoreError } from "../../core/ports/sqlite.ts";
import { checkDatabase } from "./check-database.ts";
import { openStore, type Store } from "./store.ts";

/** What was found broken when the database was opened, and where it is kept now. */
export interface FoundDamage {
  /** The database itself; null where it was well. */
  readonly setAsidePath: string | null;
  /** A copy of SQLite's log of what was not in the database yet; null where it was well. */
  readonly damagedLogPath: string | null;
}

/** What a lasting store needs. */
export interface LastingStorePorts {
  readonly opener: SqliteOpener<Dialect>;
  readonly clock: Clock;
  /** Milliseconds of a clock that never steps back. */
  readonly monotonicMs: () => number;
  /** Called each time the database was opened: at the start, and after trouble. */
  opened(found: FoundDamage): void;
}

/** The file's place is looked at this often while something is stored, in milliseconds. */
const LOOK_EVERY_MS = 1_000;

/** A database in trouble is tried again after this time, in milliseconds. */
const TRY_EVERY_MS = 2_000;

/** How long the daemon's main thread may stand still for a lock of another process, in milliseconds. */
const BUSY_TIMEOUT_MS = 1_000;

/** When a large database is read through after the start, in milliseconds. */
const CHECK_AFTER_MS = 60_000;

/** Trouble of the database as a whole: what is refused is not the row that was to be stored. */
function asTrouble(error: unknown): StoreError {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof StoreError)) return new StoreError("cannot_open", message, { cause: error });
  return error.reason === "other" ? new StoreError("cannot_open", message, { cause: error }) : error;
}

/**
 * Opens the database for a daemon that must not end because of it: calls pass through it whatever the disk does. While the
 * database can't be used (no space, locked, of a newer version, taken away, damaged) an empty one in memory answers what
 * is read, and each batch is refused with the reason, so that the writer keeps it and `status` shows it. The database is
 * tried again every two seconds. Never rejects for a `StoreError`.
 *
 * Decision: a home that was removed is not made again; where only the database was, a new one is begun.
 */
export async function openLastingStore(ports: LastingStorePorts, path: string): Promise<Store> {
  const { opener, clock, monotonicMs } = ports;
  let current = await openStore(opener, ":memory:");
  let isStandIn = true;
  let trouble: StoreError | null = null;
  let identity: string | null = null;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let cancelRetry: (() => void) | null = null;
  let closed = false;
  let setAsidePath: string | null = null;
  const opened = Promise.withResolvers<void>();

  /** Opens the file in place of what there was; where that fails, what is wrong is in `trouble`. */
  async function open(checkPages: "small" | "all"): Promise<void> {
    try {
      const damagedLogPath = opener.keepDamagedLog(path);
      const store = await openStore(opener, path, { checkPages, busyTimeoutMs: BUSY_TIMEOUT_MS });
      requireTables(store);
      closeQuietly(current);
      current = store;
      [trouble, isStandIn, identity] = [null, false, opener.fileIdentity(path)];
      setAsidePath = store.setAsidePath ?? setAsidePath;
      if (closed) return closeQuietly(current);
      ports.opened({ setAsidePath: store.setAsidePath, damagedLogPath });
      opened.resolve();
    } catch (error) {
      trouble = asTrouble(error);
    }
  }

  async function openAgain(): Promise<void> {
    lookForFile();
    if (trouble === null) return;
    // Its folder is gone: a home is not made behind the back of whoever removed it.
    if (!opener.hasFolder(path)) return;
    const checkPages = trouble.reason === "corrupt" ? "all" : "small";
    if (!isStandIn) {
      // First of all, since SQLite deletes the files beside a database by their names when it closes it.
      const broken = current;
      current = await openStore(opener, ":memory:");
      isStandIn = true;
      closeQuietly(broken);
    }
    await open(checkPages);
  }

  function currentIdentity(): string | null {
    try {
      return opener.fileIdentity(path);
    } catch {
      return null;
    }
  }

  /** Tries again until all is well; one try at a time, never within the turn of who noticed. */
  function tryAgain(delayMs: number): void {
    if (closed || cancelRetry !== null) return;
    cancelRetry = clock.setTimer(delayMs, async () => {
      await openAgain().catch((error: unknown) => {
        trouble = asTrouble(error);
      });
      cancelRetry = null;
      if (trouble !== null) tryAgain(TRY_EVERY_MS);
    });
  }

  /** Damage shows wherever a page is read; what else goes wrong is between the store and who asked it. */
  function notice(error: unknown): void {
    if (!(error instanceof StoreError) || error.reason !== "corrupt" || isStandIn) return;
    trouble = error;
    tryAgain(0);
  }

  /** A database in another place is written to as before, and lost: so it is looked whether it is where it was. */
  function lookForFile(): void {
    const waitsForFile = trouble?.reason === "missing";
    if (isStandIn || (trouble !== null && !waitsForFile)) return;
    if (!waitsForFile && monotonicMs() - lookedAtMs < LOOK_EVERY_MS) return;
    lookedAtMs = monotonicMs();
    trouble =
      currentIdentity() === identity
        ? null
        : new StoreError("missing", `the database is not where it was any more: ${path}`);
  }

  await open("small");
  if (trouble !== null) tryAgain(TRY_EVERY_MS);

  const checked = async () => {
    if (isStandIn || trouble !== null) return;
    const { state, detail } = await checkDatabase(opener, path);
    if (state === "corrupt") notice(new StoreError("corrupt", `the database is damaged: ${detail}`));
  };
  const cancelCheck = clock.setTimer(CHECK_AFTER_MS, () => void checked());

  /** Each method asks whichever database there is when it is called. */
  const methods = Object.fromEntries(
    Object.entries(current)
      .filter(([, member]) => typeof member === "function")
      .map(([name]) => [
        name,
        (...given: unknown[]) => {
          const method = current[name as keyof Store] as (...given: unknown[]) => unknown;
          try {
            const answer = method(...given);
            if (answer instanceof Promise) answer.catch(notice);
            return answer;
          } catch (error) {
            notice(error);
            throw error;
          }
        },
      ]),
  ) as unknown as Store;

  return {
    ...methods,
    get setAsidePath() {
      return setAsidePath;
    },
    get trouble() {
      return trouble;
    },
    opened: opened.promise,
    insertBatch(batch) {
      lookForFile();
      if (trouble !== null) {
        tryAgain(0);
        throw trouble;
      }
      methods.insertBatch(batch);
    },
    close() {
      closed = true;
      cancelCheck();
      cancelRetry?.();
      closeQuietly(current);
    },
  };
}

/** Without it each record would be refused alone, as if it were at fault, where a table lacks a column. */
function requireTables(store: Store): void {
  try {
    store.insertBatch({ records: [], bodies: [], coverage: [] });
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== "other") return;
    store.close();
    throw new StoreError("migration", `the tables are not as they should be: ${error.message}`, {
      cause: error,
    });
  }
}

/** A connection to a file that is gone may fail to close; there is nothing more to be done with it. */
function closeQuietly(store: Store): void {
  try {
    store.close();
  } catch {
    // Nobody asks it any more.
  }
}
