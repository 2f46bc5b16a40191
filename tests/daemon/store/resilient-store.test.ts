import assert from "node:assert/strict";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { type SqliteOpener, StoreError, type StoreErrorReason } from "../../../core/ports/sqlite.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { type DatabaseDamage, openResilientStore } from "../../../daemon/store/resilient-store.ts";
import { inNewFolder, opener } from "./open-sample-store.rig.ts";
import { sampleRecord } from "./sample-records.rig.ts";

const ever = { from: null, to: null };
const now = Date.UTC(2026, 4, 12);
type Opener = Parameters<typeof openResilientStore>[0]["opener"];

const fails = (reason: StoreErrorReason) => (error: unknown) =>
  error instanceof StoreError && error.reason === reason;

/** A resilient store whose time the test moves. */
async function open(path: string, change: Partial<SqliteOpener<never>> = {}) {
  const clock = createManualClock(now);
  const found: DatabaseDamage[] = [];
  const seen: number[] = [];
  const syncFailures: unknown[] = [];
  let store: Store | null = null;
  store = await openResilientStore(
    {
      opener: { ...opener, ...change } as Opener,
      clock,
      monotonicMs: () => clock.now(),
      opened(damage) {
        found.push(damage);
        if (store !== null) seen.push(store.records.count(ever));
      },
      syncFailed: (error) => syncFailures.push(error),
    },
    path,
  );
  return { store, clock, found, seen, syncFailures };
}

const insert = (store: Store) => store.insertBatch({ records: [sampleRecord()], bodies: [], coverage: [] });

/** Lets time pass until the store has recovered; opening takes a few turns. */
async function untilWell({ store, clock }: { store: Store; clock: { advance(ms: number): void } }) {
  for (let turn = 0; store.trouble !== null; turn += 1) {
    assert.ok(turn < 1_000, `still in trouble: ${store.trouble.message}`);
    clock.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("openResilientStore()", () => {
  it("works like the store if the database opens", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const { store, found } = await open(path);
      assert.equal(store.trouble, null);
      await store.opened;
      assert.deepEqual(found, [{ setAsidePath: null, damagedLogPath: null }]);
      insert(store);
      assert.equal(store.records.count(ever), 1);
      assert.equal((await store.reports.read({ by: "total", ...ever }))[0]?.requests, 1);
      store.close();
      store.close();
      const again = await openStore(opener, path, { readOnly: true });
      assert.equal(again.records.count(ever), 1);
      again.close();
    }));

  it("syncs the WAL once, a second after the first write, and only after writes", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const synced: number[] = [];
      const { store, clock } = await open(path, {
        syncLog: async (of) => {
          assert.equal(of, path);
          synced.push(clock.now() - now);
        },
      });
      clock.advance(10_000);
      insert(store);
      clock.advance(900);
      insert(store);
      clock.advance(10_000);
      assert.deepEqual(synced, [11_000]);
      insert(store);
      store.close();
      clock.advance(10_000);
      assert.deepEqual(synced, [11_000]);
    }));

  for (const reason of ["disk_full", "busy", "read_only", "newer_schema", "cannot_open"] as const) {
    it(`replaces a database that fails with ${reason}, and uses it once it opens`, () =>
      inNewFolder(async (folder) => {
        const path = join(folder, "meter.db");
        const whole = await openStore(opener, path);
        whole.records.insert([sampleRecord()]);
        whole.close();
        let broken = true;
        const resilient = await open(path, {
          open: (async (place: string, options: object) => {
            if (broken && place !== ":memory:") throw new StoreError(reason, "not now");
            return opener.open(place, options);
          }) as never,
        });
        const { store, found } = resilient;
        assert.equal(store.trouble?.reason, reason);
        assert.throws(() => insert(store), fails(reason));
        assert.equal(store.records.count(ever), 0, "reading goes on, of nothing");
        resilient.clock.advance(10_000);
        assert.deepEqual(found, []);
        broken = false;
        await untilWell(resilient);
        await store.opened;
        assert.deepEqual([found.length, resilient.seen], [1, [1]], "who is told finds the real one");
        insert(store);
        store.close();
        const again = await openStore(opener, path, { readOnly: true });
        assert.equal(again.records.count(ever), 2);
        again.close();
      }));
  }

  it("reports a failure to open as trouble, not as a refusal of the row", () =>
    inNewFolder(async (folder) => {
      for (const error of [new TypeError("a fault of ours"), new StoreError("other", "?")]) {
        const { store } = await open(join(folder, "meter.db"), {
          open: (async (place: string, options: object) => {
            if (place !== ":memory:") throw error;
            return opener.open(place, options);
          }) as never,
        });
        assert.throws(() => insert(store), fails("cannot_open"));
        store.close();
      }
    }));

  it("moves a database aside that turns out damaged in use, and continues with a new one", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const whole = await openStore(opener, path);
      whole.records.insert(Array.from({ length: 300 }, () => sampleRecord()));
      whole.close();
      let damaged = false;
      const resilient = await open(path, {
        open: (async (place: string, options: object) => {
          const connection = await opener.open(place, options);
          if (place === ":memory:") return connection;
          return {
            ...connection,
            transaction: (work: () => unknown) => {
              if (damaged) throw new StoreError("corrupt", "malformed");
              return connection.transaction(work);
            },
          };
        }) as never,
        setAside: (place, suffix) => {
          damaged = false;
          return opener.setAside(place, suffix);
        },
      });
      const { store, found } = resilient;
      insert(store);
      const bytes = readFileSync(path);
      bytes.fill(0x5a, 4_096 * 5, 4_096 * 9);
      writeFileSync(path, bytes);
      damaged = true;
      assert.throws(() => insert(store), fails("corrupt"));
      await untilWell(resilient);
      assert.equal(store.setAsidePath, `${path}.corrupt`);
      assert.deepEqual(found.at(-1), { setAsidePath: `${path}.corrupt`, damagedLogPath: null });
      insert(store);
      assert.equal(store.records.count(ever), 1);
      store.close();
    }));

  it("notices within a second that the database was moved, and uses it again once it is back", () =>
    inNewFolder(async (folder) => {
      const home = join(folder, "home");
      const path = join(home, "meter.db");
      const { store, clock } = await open(path);
      insert(store);
      // On other platforms, a folder with open files can't be moved.
      if (process.platform === "win32") return store.close();
      renameSync(home, join(folder, "elsewhere"));
      clock.advance(1_000);
      assert.throws(() => insert(store), fails("missing"));
      clock.advance(60_000);
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(existsSync(home), false, "a home is not made again");
      assert.throws(() => insert(store), fails("missing"));
      renameSync(join(folder, "elsewhere"), home);
      insert(store);
      assert.equal(store.trouble, null);
      assert.equal(store.records.count(ever), 2);
      store.close();
    }));

  it("replaces a database in which the check of a minute later finds damage, and reads no page itself", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      let opened = 0;
      const damage = Promise.withResolvers<string | null>();
      const resilient = await open(path, {
        open: (...given) => {
          opened += 1;
          return opener.open(...given) as never;
        },
        checkPages: () => damage.promise,
      });
      const { store, clock, found } = resilient;
      insert(store);
      const openedBefore = opened;
      clock.advance(60_000);
      assert.equal(opened, openedBefore);
      insert(store);
      damage.resolve("page 7 is never used");
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(store.trouble?.reason, "corrupt");
      // The file itself is intact here, so reopening it finds no damage.
      await untilWell(resilient);
      assert.equal(found.length, 2);
      assert.equal(store.records.count(ever), 2);
      store.close();
    }));

  it("ignores damage that the check finds after close()", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const damage = Promise.withResolvers<string | null>();
      const { store, clock, found } = await open(path, { checkPages: () => damage.promise });
      clock.advance(60_000);
      store.close();
      damage.resolve("page 7 is never used");
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual([store.trouble, found.length], [null, 1]);
    }));

  it("creates a new database if only the old file was removed", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const resilient = await open(path);
      insert(resilient.store);
      if (process.platform === "win32") return resilient.store.close();
      for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
      resilient.clock.advance(1_000);
      assert.throws(() => insert(resilient.store), fails("missing"));
      await untilWell(resilient);
      insert(resilient.store);
      resilient.store.close();
      const again = await openStore(opener, path, { readOnly: true });
      assert.equal(again.records.count(ever), 1);
      again.close();
    }));

  it("opens nothing after close()", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "sub", "meter.db");
      mkdirSync(join(folder, "sub"));
      writeFileSync(path, "");
      truncateSync(path);
      const blocked = await open(path, {
        open: (async (place: string, options: object) => {
          if (place !== ":memory:") throw new StoreError("disk_full", "full");
          return opener.open(place, options);
        }) as never,
      });
      blocked.store.close();
      assert.equal(blocked.clock.nextTimerMs(), null);
    }));

  it("finds damage in a small database at the start, and an emptied database", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const whole = await openStore(opener, path);
      whole.records.insert(Array.from({ length: 300 }, () => sampleRecord()));
      whole.close();
      const bytes = readFileSync(path);
      bytes.fill(0x5a, 4_096 * 20, 4_096 * 21);
      writeFileSync(path, bytes);
      const first = await open(path);
      assert.equal(first.store.setAsidePath, `${path}.corrupt`);
      first.store.close();
      copyFileSync(path, join(folder, "kept.db"));
      truncateSync(path);
      const second = await open(path);
      assert.equal(second.store.setAsidePath, `${path}.corrupt-2`);
      second.store.close();
    }));
});
