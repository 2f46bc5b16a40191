import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createUploaderState,
  initialUploaderState,
  UPLOAD_CAP_DEFAULT_BYTES,
  type UploaderEffect,
  type UploaderEvent,
  type UploaderState,
  uploaderTransition,
} from "../../../core/uploader/mod.ts";
import { DAY } from "../machine-checks.ts";
import { answered, enabledState, found, http, leg, noAnswer, sendingState } from "./uploader-helpers.ts";

const pause: UploaderEvent = { kind: "pause_requested" };
const tickIn = (delayMs: number): UploaderEffect => ({ kind: "set_timer", timer: "tick", delayMs });
const log = (event: string, fields: Record<string, string | number | null>): UploaderEffect => ({
  kind: "log",
  level: "warn",
  event,
  fields,
});

describe("what core/uploader tells", () => {
  const paused = (reason: string, http_status: number): UploaderEffect[] => [
    { kind: "clear_timer", timer: "tick" },
    log("cloud.body_uploader.paused", { reason, http_status, last_request_id: "a" }),
  ];
  const failed = { consecutive_failures: 3, retry_in_ms: 2_000 };
  const rows: readonly [name: string, event: UploaderEvent, effects: readonly UploaderEffect[]][] = [
    ["401", answered(1, http(401)), paused("paused_unauthorised", 401)],
    ["403", answered(1, http(403)), paused("paused_forbidden", 403)],
    [
      "503",
      answered(1, http(503)),
      [log("cloud.body_uploader.failed", { error: "HTTP 503", ...failed }), tickIn(2_000)],
    ],
    [
      "no answer",
      answered(1, noAnswer),
      [log("cloud.transport_error", { error: "no answer: timeout", ...failed }), tickIn(2_000)],
    ],
  ];
  for (const [name, event, effects] of rows) {
    it(name, () => {
      assert.deepEqual(uploaderTransition(sendingState(leg("a"), leg("b")), event, DAY).effects, effects);
    });
  }

  it("the instant from which bodies go out, when body sync is switched on", () => {
    const on: UploaderEvent = { kind: "body_sync_switched", enabled: true };
    const [, notice] = uploaderTransition(initialUploaderState, on, DAY).effects;
    assert.ok(notice?.kind === "print_notice");
    assert.match(notice.message, /^body sync is on: .*2026-11-21T00:00:00\.000Z.*bodies\.upload-from/);
  });

  it("nothing of a cut where the leg is exactly as large as the cap", () => {
    const selecting = uploaderTransition(enabledState(), { kind: "tick_due" }, DAY).state;
    for (const [sizeBytes, effects] of [
      [UPLOAD_CAP_DEFAULT_BYTES, ["send_body"]],
      [UPLOAD_CAP_DEFAULT_BYTES + 1, ["log", "send_body"]],
    ] as const) {
      const step = uploaderTransition(selecting, found([leg("a", { sizeBytes })]), DAY);
      assert.deepEqual(
        step.effects.map(({ kind }) => kind),
        effects,
      );
    }
  });
});

describe("what core/uploader remembers", () => {
  it("waits for nobody after a failure without Retry-After", () => {
    for (const answer of [http(503), noAnswer]) {
      const state = { ...sendingState(leg("a")), notBefore: DAY + 9 };
      assert.equal(uploaderTransition(state, answered(1, answer), DAY).state.notBefore, null);
    }
  });

  it("stamps any error that arrives under a manual pause", () => {
    for (const [answer, error] of [
      [http(401), "HTTP 401"],
      [http(503), "HTTP 503"],
      [noAnswer, "no answer: timeout"],
    ] as const) {
      const paused = uploaderTransition(sendingState(leg("a")), pause, DAY).state;
      const { state } = uploaderTransition(paused, answered(1, answer), DAY + 1);
      assert.deepEqual(
        [state.status, state.pausedReason, state.lastError, state.lastErrorAt],
        ["paused_manual", "paused_manual", error, DAY + 1],
      );
    }
  });

  const reasons: readonly [pausedReason: string | null, status: string][] = [
    [null, "active"],
    ["paused_manual", "paused_manual"],
    ["paused_unauthorised", "paused_unauthorised"],
    ["paused_forbidden", "paused_forbidden"],
    ["quota", "paused_other"],
    ["active", "paused_other"],
    ["null", "paused_other"],
  ];
  for (const [pausedReason, status] of reasons) {
    it(`is ${status} where the row's reason is ${pausedReason}`, () => {
      const state: UploaderState = createUploaderState({ ...initialUploaderState, pausedReason });
      assert.deepEqual([state.status, state.pausedReason], [status, pausedReason]);
    });
  }

  it("begins with nothing", () => {
    assert.deepEqual(initialUploaderState, {
      status: "active",
      pausedReason: null,
      consecutiveFailures: 0,
      lastError: null,
      lastErrorAt: null,
      lastTickAt: null,
      enabled: false,
      stampDueAt: null,
      nextTickAt: null,
      notBefore: null,
      cursor: null,
      sendNumber: 0,
      recordsPolicyRejected: 0,
      run: null,
    });
  });
});
