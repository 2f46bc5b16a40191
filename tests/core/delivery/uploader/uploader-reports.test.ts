import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UPLOAD_CAP_DEFAULT_BYTES } from "../../../../core/delivery/uploader/upload-cap.ts";
import type { UploaderEffect, UploaderEvent } from "../../../../core/delivery/uploader/uploader-events.ts";
import { uploaderTransition } from "../../../../core/delivery/uploader/uploader-machine.ts";
import {
  createUploaderState,
  initialUploaderState,
  type UploaderState,
} from "../../../../core/delivery/uploader/uploader-state.ts";
import { DAY } from "../../machine.rig.ts";
import { answered, bodyRef, found, http, noAnswer, selectingState, sendingState } from "./uploader.rig.ts";

const pause: UploaderEvent = { kind: "pause_requested" };
const tickIn = (delayMs: number): UploaderEffect => ({ kind: "set_timer", timer: "tick", delayMs });
const log = (event: string, fields: Record<string, string | number | null>): UploaderEffect => ({
  kind: "log",
  level: "warn",
  event,
  fields,
});

describe("the reports of core/delivery/uploader", () => {
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
      assert.deepEqual(
        uploaderTransition(sendingState(bodyRef("a"), bodyRef("b")), event, DAY).effects,
        effects,
      );
    });
  }

  const notices: readonly [uploadFrom: number | null, isAnnounced: boolean, message: RegExp | null][] = [
    [
      DAY,
      false,
      /^Body sync is on\. Bodies captured from 2026-11-21T00:00:00\.000Z on are uploaded.*bodies\.upload-from/,
    ],
    [null, false, /^Body sync is on\. Bodies of all dates are uploaded\. /],
    [DAY, true, null],
  ];
  for (const [uploadFrom, isAnnounced, message] of notices) {
    it(`state from when bodies are sent, once that is saved: ${uploadFrom}${isAnnounced ? ", unless the command has" : ""}`, () => {
      const on: UploaderEvent = { kind: "body_sync_switched", enabled: true };
      const due = uploaderTransition(initialUploaderState, on, DAY).state;
      const stamped: UploaderEvent = { kind: "upload_from_stamped", uploadFrom, isAnnounced };
      const [notice] = uploaderTransition(due, stamped, DAY).effects;
      if (message === null) return assert.equal(notice?.kind, "set_timer");
      assert.ok(notice?.kind === "print_notice");
      assert.match(notice.message, message);
    });
  }

  it("do not mention truncation if the body is exactly as large as the cap", () => {
    const selecting = selectingState();
    for (const [sizeBytes, effects] of [
      [UPLOAD_CAP_DEFAULT_BYTES, ["send_body"]],
      [UPLOAD_CAP_DEFAULT_BYTES + 1, ["log", "send_body"]],
    ] as const) {
      const step = uploaderTransition(selecting, found([bodyRef("a", { sizeBytes })]), DAY);
      assert.deepEqual(
        step.effects.map(({ kind }) => kind),
        effects,
      );
    }
  });
});

describe("the saved state of core/delivery/uploader", () => {
  it("has no Retry-After after a failure without one", () => {
    for (const result of [http(503), noAnswer]) {
      const state = { ...sendingState(bodyRef("a")), notBefore: DAY + 9 };
      assert.equal(uploaderTransition(state, answered(1, result), DAY).state.notBefore, null);
    }
  });

  it("records any error that arrives during a manual pause", () => {
    for (const [result, error] of [
      [http(401), "HTTP 401"],
      [http(503), "HTTP 503"],
      [noAnswer, "no answer: timeout"],
    ] as const) {
      const paused = uploaderTransition(sendingState(bodyRef("a")), pause, DAY).state;
      const { state } = uploaderTransition(paused, answered(1, result), DAY + 1);
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
    it(`is ${status} if the row's reason is ${pausedReason}`, () => {
      const state: UploaderState = createUploaderState({ ...initialUploaderState, pausedReason });
      assert.deepEqual([state.status, state.pausedReason], [status, pausedReason]);
    });
  }

  it("starts empty", () => {
    assert.deepEqual(initialUploaderState, {
      status: "active",
      pausedReason: null,
      pausedCode: null,
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
