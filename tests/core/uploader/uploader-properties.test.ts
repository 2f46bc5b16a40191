import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type BodyAnswer,
  createUploaderState,
  decideUpload,
  type UploaderEffect,
  type UploaderEvent,
  type UploaderState,
  uploaderTable,
} from "../../../core/uploader/mod.ts";
import { declaredArrows, type StepCheck, walk } from "../machine-checks.ts";
import { answered, found, http, leg, machine, noAnswer, notStored } from "./uploader-helpers.ts";

type Check = StepCheck<UploaderState, UploaderEvent, UploaderEffect>;

/** What is done next; `next` follows the pass, so that walks get deep, the others come at any time. */
type Move =
  | { do: "next" | "late"; answer: BodyAnswer; random: number; count: number }
  | { do: "event"; event: UploaderEvent };

const answer: fc.Arbitrary<BodyAnswer> = fc.oneof(
  fc.constantFrom<BodyAnswer>(http(204), http(204), notStored, http(425), http(404), noAnswer),
  fc.constantFrom<BodyAnswer>({ kind: "unfit", reason: "shape" }, { kind: "held_back" }),
  fc
    .tuple(fc.constantFrom(200, 401, 403, 413, 429, 500, 503, 302), fc.constantFrom(null, 0, 5_000, 1e13, -1))
    .map(([status, retryAfterMs]) => http(status, retryAfterMs)),
);
const random = fc.constantFrom(0, 0.5, 0.999999);
const event: fc.Arbitrary<UploaderEvent> = fc.oneof(
  fc
    .tuple(random, fc.constantFrom(true, true, false))
    .map(([fraction, enabled]): UploaderEvent => ({ kind: "started", enabled, random: fraction })),
  fc.constantFrom<UploaderEvent>(
    { kind: "tick_due" },
    { kind: "sync_requested" },
    { kind: "body_sync_switched", enabled: true },
    { kind: "body_sync_switched", enabled: false },
    { kind: "upload_from_stamped" },
    { kind: "upload_from_stamped" },
    { kind: "pause_requested" },
    { kind: "resume_requested" },
    { kind: "credentials_confirmed" },
    found([leg("x")]),
  ),
);
const move = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("next", "next", "next", "late"),
      answer,
      random,
      count: fc.nat(3),
    }),
  },
  { weight: 2, arbitrary: event.map((one) => ({ do: "event", event: one })) },
) as fc.Arbitrary<Move>;
const moves = fc.array(
  fc.record({ afterMs: fc.constantFrom(0, 1, 500, 60_000, 3_600_000, -86_400_000, 1e10), move }),
  { maxLength: 40, size: "max" },
);
const initial = fc
  .tuple(
    fc.constantFrom(null, null, null, "paused_manual", "paused_unauthorised", "paused_forbidden", "quota"),
    fc.constantFrom(true, true, false),
    fc.constantFrom(0, 1, 12),
  )
  .map(([pausedReason, enabled, consecutiveFailures]) => ({
    ...createUploaderState({
      pausedReason,
      consecutiveFailures,
      lastError: null,
      lastErrorAt: null,
      lastTickAt: null,
    }),
    enabled,
  }));

function toEvent(one: Move, state: UploaderState): UploaderEvent {
  if (one.do === "event") return one.event;
  if (state.run === null) return { kind: "tick_due" };
  if (state.run.phase === "selecting") {
    const legs = ["a", "b", "c"].slice(one.count).map((id) => leg(id, { project: id }));
    return found(legs, { perProject: { b: false } });
  }
  return answered(one.do === "late" ? state.sendNumber - 1 : state.sendNumber, one.answer, one.random);
}

/** Walks at random; each walk makes its own check, which may remember what it saw. */
function holds(createCheck: () => Check, numRuns = 400): void {
  fc.assert(
    fc.property(initial, moves, (state, list) => {
      walk(machine, state, list, toEvent, createCheck());
    }),
    { numRuns },
  );
}

describe("properties of core/uploader", () => {
  // Planted: `page.shift()` on the frozen page. Planted: `lastErrorAt: undefined` on a pause.
  it("is total and pure, its steps are plain JSON, and it goes only where the table says", () => {
    holds(() => () => {});
  });

  // Planted: `tick_due` handled under paused_manual as it is while active. Planted: `tick` does not ask isReady.
  it("never selects or sends while paused, and selects nothing while off or before upload_from is stamped", () => {
    holds(() => (_, __, { state, effects }) => {
      const ready = state.status === "active" && state.enabled && state.stampDueAt === null;
      for (const { kind } of effects) {
        if (state.status !== "active") assert.notEqual(kind, "send_body");
        if (!ready) assert.notEqual(kind, "select_bodies");
      }
    });
  });

  // Planted: 404 pauses as paused_forbidden. Planted: a resume ends a pause of the cloud.
  it("pauses by itself only for 401 and 403, and leaves a cloud's pause only by confirmed credentials", () => {
    holds(() => (before, happened, { state }) => {
      if (before.status === state.status) return;
      if (state.status === "active") {
        const byOperator = before.status === "paused_manual" && happened.kind === "resume_requested";
        assert.ok(byOperator || happened.kind === "credentials_confirmed", happened.kind);
      } else if (state.status === "paused_manual") assert.equal(happened.kind, "pause_requested");
      else {
        assert.ok(happened.kind === "body_answered" && happened.answer.kind === "http");
        assert.equal(happened.answer.status, state.status === "paused_unauthorised" ? 401 : 403);
      }
    });
  });

  // Planted: a policy rejection goes through backOff. Planted: it stamps lastError.
  it("never takes a policy rejection for a failure", () => {
    holds(() => (before, happened, { state, effects }) => {
      if (happened.kind !== "body_answered" || decideUpload(happened.answer).kind !== "policy_rejected")
        return;
      if (state === before) return;
      assert.equal(state.recordsPolicyRejected, before.recordsPolicyRejected + 1);
      assert.deepEqual(
        [state.status, state.lastError, state.lastErrorAt],
        [before.status, before.lastError, before.lastErrorAt],
      );
      assert.ok(state.consecutiveFailures <= before.consecutiveFailures);
      for (const effect of effects) {
        assert.ok(effect.kind === "log" || effect.kind === "set_timer", effect.kind);
        if (effect.kind === "set_timer") assert.equal(effect.delayMs, 60_000);
      }
    });
  });

  // Planted: the cap of clampRetryAfter taken out. Planted: twice the cap of the own backoff.
  it("never waits longer than 300 s by itself, nor than 3,600 s for the cloud", () => {
    holds(
      () =>
        (_, happened, { effects }) => {
          for (const effect of effects) {
            if (effect.kind !== "set_timer") continue;
            const { delayMs } = effect;
            assert.ok(Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= 3_600_000, `${delayMs}`);
            if (happened.kind !== "body_answered") continue;
            const asked = happened.answer.kind === "http" && happened.answer.retryAfterMs !== null;
            if (!asked) assert.ok(delayMs <= 300_000, `${delayMs}`);
          }
        },
      1_500,
    );
  });

  // Planted: marks on 200 as well. Planted: marks the leg that is sent next.
  it("marks and quarantines only the leg in flight, by its own answer", () => {
    holds(() => (before, happened, { effects }) => {
      for (const effect of effects) {
        if (effect.kind !== "mark_uploaded" && effect.kind !== "quarantine_body") continue;
        assert.ok(happened.kind === "body_answered" && happened.sendNumber === before.sendNumber);
        assert.equal(effect.requestId, before.run?.inFlight?.requestId);
        const status = happened.answer.kind === "http" ? happened.answer.status : 0;
        if (effect.kind === "mark_uploaded") assert.equal(status, 204);
        else assert.ok(happened.answer.kind === "unfit" || (status >= 400 && status < 500), `${status}`);
      }
    });
  });

  // Planted: mayUpload not asked.
  it("never sends what the project's rule holds back", () => {
    holds(() => (_, __, { effects }) => {
      for (const effect of effects) if (effect.kind === "send_body") assert.notEqual(effect.requestId, "b");
    });
  });

  // Planted: an arrow `active resume_requested paused_manual` added to the table.
  it("can go everywhere that the table declares", () => {
    const seen = new Set<string>();
    for (const [state, list] of fc.sample(fc.tuple(initial, moves), { numRuns: 600, seed: 7 })) {
      walk(machine, state, list, toEvent, (before, happened, step) =>
        seen.add(`${before.status} ${happened.kind} ${step.state.status}`),
      );
    }
    assert.deepEqual(
      declaredArrows(uploaderTable).filter((arrow) => !seen.has(arrow)),
      [],
    );
  });
});
