import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type BodyResult, decideUpload } from "../../../../core/delivery/uploader/upload-outcome.ts";
import type { UploaderEvent } from "../../../../core/delivery/uploader/uploader-events.ts";
import {
  createUploaderState,
  type UploaderState,
} from "../../../../core/delivery/uploader/uploader-state.ts";
import { machineProperties } from "../../machine.rig.ts";
import {
  answered,
  bodyRef,
  counted,
  found,
  http,
  machine,
  noAnswer,
  notStored,
  stamped,
  workspace,
  workspaceFailed,
} from "./uploader.rig.ts";

/** The next actions. `next` follows the pass, so that walks get deep; the others come at any time. */
type Move =
  | { do: "next" | "late"; result: BodyResult; random: number; count: number }
  | { do: "event"; event: UploaderEvent };

const result: fc.Arbitrary<BodyResult> = fc.oneof(
  fc.constantFrom<BodyResult>(http(204), http(204), notStored, http(425), http(404), noAnswer),
  fc.constantFrom<BodyResult>({ kind: "unfit", reason: "shape" }, { kind: "held_back" }),
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
    stamped,
    { kind: "upload_from_stamped", uploadFrom: null, isAnnounced: true },
    counted(2),
    workspace(1, false),
    { kind: "pause_requested" },
    { kind: "resume_requested" },
    { kind: "credentials_confirmed" },
    found([bodyRef("x")]),
  ),
);
const move = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("next", "next", "next", "late"),
      result,
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
    const bodies = ["a", "b", "c"].slice(one.count).map((id) => bodyRef(id, { project: id }));
    return found(bodies, { perProject: { b: false } });
  }
  if (state.run.phase === "counting") return counted(one.count);
  if (state.run.phase === "asking") {
    const number = one.do === "late" ? state.sendNumber - 1 : state.sendNumber;
    // Mostly answers after which a side is sent.
    if (one.random > 0 || one.result.kind === "unfit" || one.result.kind === "held_back") {
      return workspace(number, one.count < 3);
    }
    return workspaceFailed(number, one.result);
  }
  return answered(one.do === "late" ? state.sendNumber - 1 : state.sendNumber, one.result, one.random);
}

describe("properties of core/delivery/uploader", () => {
  // Planted: `page.shift()` on the frozen page. Planted: `lastErrorAt: undefined` on a pause.
  // Planted: an arrow `active resume_requested paused_manual` added to the table.
  const holds = machineProperties({
    ...machine,
    initial,
    moves,
    toEvent,
    numRuns: 400,
    walksForArrows: 1_500,
    delayMs: [0, 3_600_000],
    notWhilePaused: ["select_bodies", "send_body"],
  });

  // Planted: `tick_due` handled under paused_manual as it is while active. Planted: `tick` does not ask isReady.
  it("never selects or sends while paused, and selects nothing while off or before upload_from is set", () => {
    holds(() => (_, __, { state, effects }) => {
      const ready = state.status === "active" && state.enabled && state.stampDueAt === null;
      for (const { kind } of effects) {
        if (state.status !== "active") assert.notEqual(kind, "send_body");
        if (!ready) assert.notEqual(kind, "select_bodies");
      }
    });
  });

  // Planted: 404 pauses as paused_forbidden. Planted: a resume ends a pause of the cloud.
  it("pauses automatically only on 401 and 403, and ends a pause by the cloud only after confirmed credentials", () => {
    holds(() => (before, happened, { state }) => {
      if (before.status === state.status) return;
      if (state.status === "active") {
        const byOperator = before.status === "paused_manual" && happened.kind === "resume_requested";
        assert.ok(byOperator || happened.kind === "credentials_confirmed", happened.kind);
      } else if (state.status === "paused_manual") assert.equal(happened.kind, "pause_requested");
      else {
        assert.ok(happened.kind === "body_answered" || happened.kind === "workspace_answered");
        assert.ok(happened.result.kind === "http");
        assert.equal(happened.result.status, state.status === "paused_unauthorised" ? 401 : 403);
      }
    });
  });

  // Planted: a policy rejection goes through backOff. Planted: it stamps lastError.
  it("never counts a policy rejection as a failure", () => {
    holds(() => (before, happened, { state, effects }) => {
      if (happened.kind !== "body_answered" || decideUpload(happened.result).kind !== "policy_rejected")
        return;
      if (state === before) return;
      assert.equal(state.status, before.status);
      assert.ok(state.lastError === null || state.lastError === before.lastError);
      assert.ok(state.consecutiveFailures <= before.consecutiveFailures);
      assert.deepEqual(effects, [{ kind: "count_waiting" }]);
    });
  });

  // Planted: `isAllowed: true` when a pass begins. Planted: whoami's `false` handled like `true`.
  it("sends a body only in a pass in which whoami has not reported that the workspace stores none", () => {
    holds(() => {
      let isAllowed = false;
      return (before, happened, { state, effects }) => {
        if (happened.kind === "tick_due" || happened.kind === "sync_requested") {
          if (before.run === null) isAllowed = false;
        }
        if (happened.kind === "workspace_answered" && before.run?.phase === "asking" && state !== before) {
          isAllowed =
            happened.result.kind === "http" &&
            happened.result.status === 200 &&
            happened.storesBodies !== false;
        }
        for (const { kind } of effects) if (kind === "send_body") assert.ok(isAllowed);
      };
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
            if (happened.kind !== "body_answered" && happened.kind !== "workspace_answered") continue;
            const asked = happened.result.kind === "http" && happened.result.retryAfterMs !== null;
            if (!asked) assert.ok(delayMs <= 300_000, `${delayMs}`);
          }
        },
      1_500,
    );
  });

  // Planted: marks on 200 too. Planted: marks the body that is sent next.
  it("marks and quarantines only the body in flight, by its own response", () => {
    holds(() => (before, happened, { effects }) => {
      for (const effect of effects) {
        if (effect.kind !== "mark_uploaded" && effect.kind !== "quarantine_body") continue;
        assert.ok(happened.kind === "body_answered" && happened.sendNumber === before.sendNumber);
        assert.equal(effect.requestId, before.run?.inFlight?.requestId);
        const status = happened.result.kind === "http" ? happened.result.status : 0;
        if (effect.kind === "mark_uploaded") assert.equal(status, 204);
        else assert.ok(happened.result.kind === "unfit" || (status >= 400 && status < 500), `${status}`);
      }
    });
  });

  // Planted: mayUpload not checked.
  it("never sends a body that the project's rule withholds", () => {
    holds(() => (_, __, { effects }) => {
      for (const effect of effects) if (effect.kind === "send_body") assert.notEqual(effect.requestId, "b");
    });
  });
});
