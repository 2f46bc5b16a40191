import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { decideBatch } from "../../../../core/delivery/sync/batch-verdict.ts";
import type { BatchResult, SyncEvent } from "../../../../core/delivery/sync/sync-events.ts";
import { createSyncState, type SyncState } from "../../../../core/delivery/sync/sync-state.ts";
import { machineProperties } from "../../machine.rig.ts";
import { answered, found, http, machine, noAnswer, ok } from "./sync.rig.ts";

/** The next actions. `next` follows the run, so that walks get deep; the others come at any time. */
type Move =
  | { do: "next" | "late"; status: number; retryAfterMs: number | null; random: number; share: number }
  | { do: "event"; event: SyncEvent };

const status = fc.constantFrom(200, 200, 200, 422, 422, 400, 413, 401, 403, 429, 500, 503, 204, 302, 0);
const retryAfterMs = fc.constantFrom(null, null, 0, 5_000, 3_600_000, 1e13, -1);
const random = fc.constantFrom(0, 0.5, 0.999999);
const whoami = fc.constantFrom(200, 200, 401, 403, 500).map(
  (code): SyncEvent => ({
    kind: "whoami_answered",
    result: { kind: "http", status: code, retryAfterMs: null },
  }),
);
const event: fc.Arbitrary<SyncEvent> = fc.oneof(
  whoami,
  random.map((fraction): SyncEvent => ({ kind: "started", random: fraction })),
  fc.constantFrom<SyncEvent>(
    { kind: "tick_due" },
    { kind: "sync_requested" },
    { kind: "pause_requested" },
    { kind: "resume_requested" },
    { kind: "resume_requested" },
    { kind: "credentials_replaced" },
    { kind: "uploader_cleared" },
    found("a", "b"),
    { kind: "whoami_answered", result: { kind: "transport", reason: "timeout" } },
  ),
);
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom("next", "next", "next", "late"),
      status,
      retryAfterMs,
      random,
      share: fc.nat(4),
    }),
  },
  { weight: 2, arbitrary: event.map((one): Move => ({ do: "event", event: one })) },
) as fc.Arbitrary<Move>;
const moves = fc.array(
  fc.record({ afterMs: fc.constantFrom(0, 1, 500, 30_000, 3_600_000, -86_400_000, 1e10), move }),
  { maxLength: 40, size: "max" },
);
/** Some start with so many failures that the backoff is at its cap. */
const initial = fc
  .tuple(
    fc.constantFrom(null, null, null, "paused_manual", "paused_unauthorised", "paused_forbidden", "quota"),
    fc.constantFrom(0, 1, 12),
  )
  .map(([pausedReason, consecutiveFailures]) =>
    createSyncState({
      pausedReason,
      consecutiveFailures,
      lastError: null,
      lastErrorAt: null,
      lastTickAt: null,
    }),
  );

function toEvent(one: Move, state: SyncState): SyncEvent {
  if (one.do === "event") return one.event;
  const { run, batchNumber } = state;
  if (run === null || run.phase === "waiting") return { kind: "tick_due" };
  if (run.phase === "selecting") return found(...["a", "b", "c", "d", "e"].slice(one.share));
  const size = run.inFlight.length;
  // Mostly answers that match the batch, and occasionally one that does not.
  const answers: readonly BatchResult[] = [
    ok(size),
    ok(0, size),
    ok(size - 1, 0, run.inFlight.slice(0, 1)),
    ok(size - 1, 0, [], run.inFlight.slice(0, 1)),
    ok(size + 1),
  ];
  const result =
    one.status === 200
      ? (answers[one.share] as BatchResult)
      : one.status === 0
        ? noAnswer
        : http(one.status, one.retryAfterMs);
  return answered(one.do === "late" ? batchNumber - 1 : batchNumber, result, one.random);
}

describe("properties of core/delivery/sync", () => {
  // Planted: `state.run.phase = "sending"` written into the frozen state. Planted: `lastErrorAt: undefined` on a pause.
  // Planted: an active machine that leads to paused_other.
  // Planted: `tick_due` handled under paused_manual as it is while active.
  // Planted: an arrow `active resume_requested paused_manual` added to the table.
  const holds = machineProperties({
    ...machine,
    initial,
    moves,
    toEvent,
    numRuns: 400,
    walksForArrows: 600,
    delayMs: [0, 3_600_000],
    notWhilePaused: ["select_records", "send_batch"],
  });

  // Planted: 500 pauses as paused_forbidden. Planted: a whoami that was not asked for ends a pause.
  it("pauses automatically only on 401 and 403, and ends a pause only for its reasons", () => {
    holds(() => (before, happened, { state }) => {
      if (before.status === state.status) return;
      if (before.status === "active") {
        const byCloud =
          happened.kind === "batch_answered" && happened.result.kind === "http"
            ? happened.result.status
            : null;
        const expected = { paused_unauthorised: 401, paused_forbidden: 403, paused_manual: null };
        assert.equal(byCloud, expected[state.status as keyof typeof expected]);
        if (byCloud === null) assert.equal(happened.kind, "pause_requested");
        return;
      }
      assert.equal(state.status, "active");
      if (happened.kind === "whoami_answered") {
        assert.ok(before.resuming && happened.result.kind === "http" && happened.result.status === 200);
      } else if (before.status === "paused_manual") assert.equal(happened.kind, "resume_requested");
      else assert.equal(happened.kind, "credentials_replaced");
    });
  });

  // Planted: the cap of clampRetryAfter removed. Planted: twice the cap of our own backoff.
  it("never waits longer than 300 s for its backoff or 3,600 s for Retry-After", () => {
    holds(
      () =>
        (_, happened, { effects }) => {
          for (const effect of effects) {
            if (effect.kind !== "set_timer") continue;
            const { delayMs } = effect;
            assert.ok(Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= 3_600_000, `${delayMs}`);
            if (happened.kind !== "batch_answered") continue;
            const asked = happened.result.kind === "http" && happened.result.retryAfterMs !== null;
            if (!asked) assert.ok(delayMs <= 300_000, `${delayMs}`);
          }
        },
      1_500,
    );
  });

  // Planted: a tick while sending starts a new run.
  it("has one batch in flight at a time", () => {
    holds(() => {
      let open: number | null = null;
      return (_, happened, { effects }) => {
        if (happened.kind === "started" || happened.kind === "credentials_replaced") open = null;
        if (happened.kind === "batch_answered" && happened.batchNumber === open) open = null;
        for (const effect of effects) {
          if (effect.kind !== "send_batch") continue;
          assert.equal(open, null);
          open = effect.batchNumber;
        }
      };
    });
  });

  // Planted: marks the whole batch, rejected ones too. Planted: the counts of the outcomes not compared with the batch.
  it("marks only accepted records of the batch in flight", () => {
    holds(() => (before, happened, { effects }) => {
      for (const effect of effects) {
        if (effect.kind !== "mark_synced") continue;
        assert.ok(happened.kind === "batch_answered" && happened.result.kind === "http");
        assert.equal(happened.result.status, 200);
        const out = happened.result.outcomes?.rejected.map((one) => one.requestId) ?? [];
        for (const id of effect.requestIds) {
          assert.ok(before.run?.inFlight.includes(id) && !out.includes(id), id);
        }
        const { accepted = 0, duplicates = 0 } = happened.result.outcomes ?? {};
        assert.equal(effect.requestIds.length, accepted + duplicates);
      }
    });
  });

  // Planted: a record refused alone is checked with itself.
  it("quarantines a record that was refused alone only if the run delivered another one", () => {
    holds(
      () =>
        (before, _, { effects }) => {
          for (const effect of effects) {
            if (effect.kind !== "quarantine_records") continue;
            for (const { requestId, code } of effect.records) {
              if (!code.startsWith("http_")) continue;
              assert.ok(before.run?.deliveredId && before.run.deliveredId !== requestId, requestId);
            }
          }
        },
      1_500,
    );
  });

  // Planted: a failure that does not change the counter.
  it("counts every failure while active, and resets the count on success", () => {
    holds(() => (before, happened, { state }) => {
      if (before.status !== "active" || happened.kind !== "batch_answered") return;
      if (before.run === null || state === before) return;
      const verdict = decideBatch(happened.result, before.run.inFlight).kind;
      if (verdict === "settled") assert.equal(state.consecutiveFailures, 0);
      else if (verdict === "transient" || verdict === "refused") {
        assert.equal(state.consecutiveFailures, before.consecutiveFailures + 1);
      } else assert.equal(state.consecutiveFailures, before.consecutiveFailures);
    });
  });
});
