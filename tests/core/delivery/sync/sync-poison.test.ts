import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { retryDelay } from "../../../../core/delivery/retry/backoff-delay.ts";
import type { SyncEvent, SyncReport } from "../../../../core/delivery/sync/sync-events.ts";
import { syncTransition } from "../../../../core/delivery/sync/sync-machine.ts";
import { REFUSALS_PER_ROUND } from "../../../../core/delivery/sync/sync-run.ts";
import { initialSyncState, type SyncState } from "../../../../core/delivery/sync/sync-state.ts";
import { DAY } from "../../machine.rig.ts";
import { answered, http, ok } from "./sync.rig.ts";

/** The result of a round against a cloud that refuses every batch that contains one of `poison`. */
interface Outcome {
  readonly state: SyncState;
  readonly report: SyncReport | null;
  readonly taken: readonly string[];
  readonly quarantined: readonly string[];
  readonly requests: number;
  readonly waitedMs: number;
}

const ids = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, at) => `r${String(from + at).padStart(5, "0")}`);

/** Answers all requests of the machine until it reports, or until `maxRequests` batches were sent. */
function syncOnce(records: readonly string[], poison: ReadonlySet<string>, from = initialSyncState): Outcome {
  const pending = new Set(records);
  const stored = new Set<string>();
  const quarantined: string[] = [];
  let [state, now, waitedMs, requests] = [from, DAY, 0, 0];
  let report: SyncReport | null = null;
  const events: SyncEvent[] = [{ kind: "sync_requested" }];
  for (let event = events.shift(); event !== undefined && report === null; event = events.shift()) {
    const step = syncTransition(state, event, now);
    state = step.state;
    for (const effect of step.effects) {
      switch (effect.kind) {
        case "select_records": {
          const all = [...pending];
          const found = effect.from === "oldest" ? all.slice(0, effect.limit) : all.slice(-effect.limit);
          events.push({ kind: "records_found", requestIds: found });
          break;
        }
        case "send_batch": {
          requests += 1;
          const refused = effect.requestIds.some((id) => poison.has(id));
          const accepted = effect.requestIds.filter((id) => !stored.has(id)).length;
          if (!refused) for (const id of effect.requestIds) stored.add(id);
          const result = refused ? http(422) : ok(accepted, effect.requestIds.length - accepted);
          events.push(answered(effect.batchNumber, result));
          break;
        }
        case "mark_synced":
          for (const id of effect.requestIds) pending.delete(id);
          break;
        case "quarantine_records":
          for (const { requestId } of effect.records) {
            quarantined.push(requestId);
            pending.delete(requestId);
          }
          break;
        case "set_timer":
          if (state.run?.requested) {
            now += effect.delayMs;
            waitedMs += effect.delayMs;
            events.push({ kind: "tick_due" });
          }
          break;
        case "report_sync":
          report = effect.report;
          break;
      }
    }
  }
  return { state, report, taken: [...stored], quarantined, requests, waitedMs };
}

describe("a sync run with records that the cloud refuses", () => {
  const ten = ids(10);
  const rows: readonly [name: string, records: string[], poison: string[]][] = [
    ["at the start", ten, ten.slice(0, 1)],
    ["in the middle", ten, ten.slice(4, 6)],
    ["at the end", ten, ten.slice(9)],
    ["everywhere but at the start", ten, ten.slice(1)],
    ["everywhere but at the end", ten, ten.slice(0, 9)],
    ["everywhere but in the middle", ten, [...ten.slice(0, 5), ...ten.slice(6)]],
    ["ten in a full batch", ids(500), ids(500).filter((_, at) => at % 50 === 7)],
    ["the ten newest of a full batch", ids(500), ids(500).slice(490)],
    ["the ten oldest of a full batch", ids(500), ids(10)],
  ];
  for (const [name, records, poison] of rows) {
    it(`sends all others and quarantines only those: ${name}`, () => {
      const good = records.filter((id) => !poison.includes(id));
      const { report, taken, quarantined, requests } = syncOnce(records, new Set(poison));
      assert.deepEqual(
        [taken.toSorted(), quarantined.toSorted(), report],
        [
          good,
          poison,
          {
            ok: true,
            reason: "done",
            message: "synced",
            accepted: good.length,
            duplicates: 0,
            quarantined: poison.length,
          },
        ],
      );
      // Each poison record costs at most its path by halving, its second attempt and the check.
      const path = Math.ceil(Math.log2(records.length));
      assert.ok(requests <= 1 + poison.length * 2 * (path + 2), `${requests} requests`);
    });
  }

  // Planted: the newest records are not selected. Planted: the parts of the newest batch go to the end of the queue.
  it("reaches the newest records within one round if a whole page of older ones is refused", () => {
    for (const good of [1, 3, 5, 16, 100]) {
      const all = ids(700 + good);
      const poison = new Set(ids(700));
      const pending = new Set(all);
      let state: SyncState = initialSyncState;
      let [requests, event] = [0, { kind: "sync_requested" } as SyncEvent];
      for (let isTaken = false; !isTaken; requests += 1) {
        assert.ok(requests <= REFUSALS_PER_ROUND, `${good} good: nothing taken after ${requests} batches`);
        let sent: readonly string[] = [];
        while (sent.length === 0) {
          const step = syncTransition(state, event, DAY);
          state = step.state;
          event = { kind: "tick_due" };
          for (const effect of step.effects) {
            if (effect.kind === "select_records") {
              const found = [...pending];
              const part =
                effect.from === "oldest" ? found.slice(0, effect.limit) : found.slice(-effect.limit);
              event = { kind: "records_found", requestIds: part };
            }
            if (effect.kind === "send_batch") sent = effect.requestIds;
          }
        }
        isTaken = !sent.some((id) => poison.has(id));
        const result = isTaken ? ok(sent.length) : http(422);
        state = syncTransition(state, answered(state.batchNumber, result), DAY).state;
      }
    }
  });

  it("ends soon, keeps all records and reports it if everything is refused", () => {
    for (const count of [1, 10, 499, 500, 5_000]) {
      const records = ids(count);
      const { report, quarantined, requests, waitedMs } = syncOnce(records, new Set(records));
      assert.deepEqual(report, {
        ok: false,
        reason: "refused",
        message: "HTTP 422",
        accepted: 0,
        duplicates: 0,
        quarantined: 0,
      });
      assert.deepEqual(quarantined, []);
      assert.ok(requests <= REFUSALS_PER_ROUND && waitedMs <= 10_000, `${requests} in ${waitedMs} ms`);
    }
  });

  it("continues where it stopped when requested again, and finds the one accepted record among 500", () => {
    for (const at of [0, 249, 250, 333, 499]) {
      const records = ids(500);
      const good = records[at] as string;
      const poison = new Set(records.filter((id) => id !== good));
      let [outcome, rounds] = [syncOnce(records, poison), 1];
      for (; outcome.report?.reason === "refused"; rounds += 1)
        outcome = syncOnce(records, poison, outcome.state);
      assert.deepEqual([outcome.report?.reason, outcome.taken], ["done", [good]]);
      assert.equal(outcome.quarantined.length, 499);
      assert.ok(rounds <= 2 + (2 * records.length) / REFUSALS_PER_ROUND, `${rounds} rounds`);
    }
  });

  it("backs off after each round, as after any failure, and selects the newest records again", () => {
    const records = ids(500);
    const { state } = syncOnce(records, new Set(records));
    assert.equal(state.consecutiveFailures, REFUSALS_PER_ROUND);
    assert.equal(state.run?.requested, false);
    // Half of the longest window.
    assert.ok((state.nextTickAt ?? 0) - DAY >= 150_000);
    const { effects } = syncTransition(state, { kind: "tick_due" }, DAY);
    assert.deepEqual(effects, [{ kind: "select_records", limit: 16, from: "newest" }]);
  });

  // Planted: a suspect is not tried again after a record was accepted.
  it("settles every record if the cloud accepts at least one, in any order", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.infiniteStream(fc.boolean()),
        fc.nat(39),
        (count, fates, one) => {
          const records = ids(count);
          const poison = new Set(records.filter((_, at) => at !== one % count && fates.next().value));
          let outcome = syncOnce(records, poison);
          for (let round = 0; outcome.report?.reason === "refused" && round < 4; round += 1) {
            outcome = syncOnce(records, poison, outcome.state);
          }
          assert.equal(outcome.report?.reason, "done");
          assert.equal(outcome.taken.length, count - poison.size);
          assert.deepEqual(outcome.quarantined.toSorted(), [...poison]);
        },
      ),
      { numRuns: 300 },
    );
  });
});

const DAY_MS = 86_400_000;

/** The result of a day of ticks against a cloud that answers `status` to every batch with one of `poison`. */
function syncForADay(records: readonly string[], poison: ReadonlySet<string>, status: number) {
  const pending = new Set(records);
  const quarantined: string[] = [];
  const sizes: number[] = [];
  const delays: { failures: number; delayMs: number }[] = [];
  let [state, now, failedAt]: [SyncState, number, number | null] = [initialSyncState, DAY, null];
  const events: SyncEvent[] = [{ kind: "tick_due" }];
  for (let event = events.shift(); event !== undefined && now < DAY + DAY_MS; event = events.shift()) {
    const step = syncTransition(state, event, now);
    failedAt = step.state.consecutiveFailures > state.consecutiveFailures ? now : null;
    state = step.state;
    for (const effect of step.effects) {
      switch (effect.kind) {
        case "select_records": {
          const all = [...pending];
          const found = effect.from === "oldest" ? all.slice(0, effect.limit) : all.slice(-effect.limit);
          events.push({ kind: "records_found", requestIds: found });
          break;
        }
        case "send_batch": {
          sizes.push(effect.requestIds.length);
          const fails = effect.requestIds.some((id) => poison.has(id));
          events.push(answered(effect.batchNumber, fails ? http(status) : ok(effect.requestIds.length)));
          break;
        }
        case "mark_synced":
          for (const id of effect.requestIds) pending.delete(id);
          break;
        case "quarantine_records":
          for (const { requestId } of effect.records) quarantined.push(requestId);
          break;
        case "set_timer":
          if (failedAt !== null)
            delays.push({ failures: state.consecutiveFailures, delayMs: effect.delayMs });
          now += effect.delayMs;
          events.push({ kind: "tick_due" });
          break;
      }
    }
  }
  return { pending: [...pending], quarantined, sizes, delays };
}

describe("core/delivery/sync with a cloud that responds with 500 to some records", () => {
  // Planted: a 500 ends the run at every failure. Planted: the record alone counts as a suspect, and is quarantined.
  it("sends all others, and keeps those records pending, in any order", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 1_200 }),
        fc.array(fc.nat(1_199), { minLength: 1, maxLength: 6 }),
        (count, places) => {
          const records = ids(count);
          const poison = new Set(places.map((place) => records[place % count] as string));
          const { pending, quarantined } = syncForADay(records, poison, 500);
          assert.deepEqual(pending, [...poison].toSorted());
          assert.deepEqual(quarantined, []);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("backs off before every half, by the number of failures in a row", () => {
    const { delays } = syncForADay(ids(500), new Set(ids(500)), 500);
    assert.ok(delays.length > 100);
    for (const { failures, delayMs } of delays) {
      assert.equal(delayMs, retryDelay(failures, 0.5, null));
    }
  });

  it("halves a batch only after the third failure in a row", () => {
    const { sizes } = syncForADay(ids(500), new Set(ids(1)), 500);
    assert.deepEqual(sizes.slice(0, 4), [500, 500, 500, 250]);
  });

  it("never halves a batch while the cloud is unavailable", () => {
    for (const status of [502, 503, 504, 429]) {
      const { sizes } = syncForADay(ids(500), new Set(ids(1)), status);
      assert.deepEqual([...new Set(sizes)], [500], `${status}`);
    }
  });
});
