import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CloudResult } from "../../../../core/delivery/retry/cloud-result.ts";
import { UPLOAD_CAP_MAX_BYTES } from "../../../../core/delivery/uploader/upload-cap.ts";
import type { BodyResult } from "../../../../core/delivery/uploader/upload-outcome.ts";
import { BODY_PAGE_SIZE } from "../../../../core/delivery/uploader/upload-steps.ts";
import type { UploaderEvent } from "../../../../core/delivery/uploader/uploader-events.ts";
import { uploaderTransition } from "../../../../core/delivery/uploader/uploader-machine.ts";
import {
  createUploaderState,
  initialUploaderState,
  type UploaderState,
} from "../../../../core/delivery/uploader/uploader-state.ts";
import { DAY, effectName, type ReplayLine, replay } from "../../machine.rig.ts";
import {
  answered,
  askingState,
  bodyRef,
  counted,
  enabledState,
  found,
  http,
  machine,
  noAnswer,
  notStored,
  selectingState,
  sendingState,
  stamped,
  workspace,
  workspaceFailed,
} from "./uploader.rig.ts";

const tick: UploaderEvent = { kind: "tick_due" };
const pause: UploaderEvent = { kind: "pause_requested" };
const resume: UploaderEvent = { kind: "resume_requested" };
const confirmed: UploaderEvent = { kind: "credentials_confirmed" };
const on: UploaderEvent = { kind: "body_sync_switched", enabled: true };
const off: UploaderEvent = { kind: "body_sync_switched", enabled: false };
const start = (enabled = true): UploaderEvent => ({ kind: "started", enabled, random: 0.5 });

describe("the specification's table: Daemon body uploader", () => {
  const next = "send_body";
  const backOff = "set tick 2000";
  const rows: readonly [trigger: string, result: BodyResult, effects: readonly string[], status: string][] = [
    ["204", http(204), ["mark_uploaded", next], "active"],
    ["200 with stored=false", notStored, ["count_waiting"], "active"],
    ["425", http(425), [next], "active"],
    ["404", http(404), ["quarantine_body", next], "active"],
    ["other terminal 4xx", http(422), ["quarantine_body", next], "active"],
    ["schema mismatch", { kind: "unfit", reason: "shape" }, ["quarantine_body", next], "active"],
    ["transport", noAnswer, ["log cloud.transport_error", backOff], "active"],
    ["5xx", http(503), ["log cloud.body_uploader.failed", backOff], "active"],
    ["401", http(401), ["clear tick", "log cloud.body_uploader.paused"], "paused_unauthorised"],
    ["403", http(403), ["clear tick", "log cloud.body_uploader.paused"], "paused_forbidden"],
    ["project rule, read when sending", { kind: "held_back" }, [next], "active"],
  ];
  for (const [trigger, result, effects, status] of rows) {
    it(`${trigger} -> ${effects.join(", ")}; ${status}`, () => {
      const step = uploaderTransition(sendingState(bodyRef("a"), bodyRef("b")), answered(1, result), DAY);
      assert.deepEqual(step.effects.map(effectName), effects);
      assert.equal(step.state.status, status);
      assert.equal(step.state.cursor, effects.includes(next) ? "b" : "a");
    });
  }

  it("200 with stored=false: waiting bodies are counted and reported, without failure, backoff, pause or quarantine", () => {
    const counting = uploaderTransition(
      sendingState(bodyRef("a"), bodyRef("b")),
      answered(1, notStored),
      DAY,
    );
    assert.deepEqual(counting.effects, [{ kind: "count_waiting" }]);
    const { state, effects } = uploaderTransition(counting.state, counted(7), DAY);
    assert.deepEqual(
      [
        state.recordsPolicyRejected,
        state.consecutiveFailures,
        state.pausedReason,
        state.lastError,
        state.run,
      ],
      [7, 0, null, null, null],
    );
    assert.deepEqual(effects.map(effectName), [
      "log cloud.body_uploader.policy_rejected_tick",
      "set tick 60000",
    ]);
    const [log] = effects;
    assert.ok(log?.kind === "log" && log.level === "warn");
    assert.equal(log.fields.count, 7);
    assert.match(String(log.fields.hint), /offered again/);
  });

  it("sends no body while whoami reports that the workspace stores none, and resumes automatically", () => {
    const state = replay(machine, enabledState(), [
      [0, tick, ["clear tick", "select_bodies"]],
      [0, found([bodyRef("a"), bodyRef("b")]), ["request_workspace"]],
      [1, workspace(1, false), ["count_waiting"]],
      [1, counted(2), ["log cloud.body_uploader.policy_rejected_tick", "set tick 60000"]],
      [61, tick, ["clear tick", "select_bodies"]],
      [61, found([bodyRef("a"), bodyRef("b")]), ["request_workspace"]],
      [62, workspace(2, true), ["send_body"]],
      [63, answered(3, http(204)), ["mark_uploaded", "send_body"]],
      [64, answered(4, http(204)), ["mark_uploaded", "set tick 60000"]],
    ]);
    assert.equal(state.recordsPolicyRejected, 0);
  });

  it("requests whoami once per pass, not if nothing may be sent, and reports nothing if nothing waits", () => {
    const page = Array.from({ length: BODY_PAGE_SIZE }, (_, at) => bodyRef(`p${at}`));
    const sent = page
      .slice(1)
      .map((_, at) => [1, answered(at + 2, http(204)), ["mark_uploaded", "send_body"]] as const);
    replay(machine, enabledState(), [
      [0, tick, ["clear tick", "select_bodies"]],
      [0, found(page), ["request_workspace"]],
      [0, workspace(1, null), ["send_body"]],
      ...sent,
      [1, answered(BODY_PAGE_SIZE + 1, http(204)), ["mark_uploaded", "select_bodies"]],
      [1, found([bodyRef("z")]), ["send_body"]],
    ]);
    replay(machine, { ...enabledState(), recordsPolicyRejected: 3 }, [
      [0, tick, ["clear tick", "select_bodies"]],
      [0, found([bodyRef("a", { project: "no" })], { perProject: { no: false } }), ["set tick 60000"]],
    ]);
    replay(machine, askingState(bodyRef("a")), [
      [0, workspace(1, false), ["count_waiting"]],
      [0, counted(0), ["set tick 60000"]],
    ]);
  });

  const questions: readonly [result: CloudResult, effects: readonly string[], status: string][] = [
    [
      { kind: "http", status: 401, retryAfterMs: null },
      ["clear tick", "log cloud.body_uploader.paused"],
      "paused_unauthorised",
    ],
    [
      { kind: "http", status: 403, retryAfterMs: null, code: "machine_blocked" },
      ["clear tick", "log cloud.body_uploader.paused"],
      "paused_forbidden",
    ],
    [
      { kind: "http", status: 404, retryAfterMs: null },
      ["log cloud.body_uploader.failed", "set tick 2000"],
      "active",
    ],
    [
      { kind: "http", status: 503, retryAfterMs: null },
      ["log cloud.body_uploader.failed", "set tick 2000"],
      "active",
    ],
    [{ kind: "transport", reason: "timeout" }, ["log cloud.transport_error", "set tick 2000"], "active"],
  ];
  for (const [result, effects, status] of questions) {
    it(`sends nothing if whoami returns ${result.kind === "http" ? result.status : result.reason}`, () => {
      const step = uploaderTransition(askingState(bodyRef("a")), workspaceFailed(1, result), DAY);
      assert.deepEqual([step.effects.map(effectName), step.state.status], [effects, status]);
      assert.equal(step.state.pausedCode, result.kind === "http" ? (result.code ?? null) : null);
      assert.equal(step.state.run, null);
    });
  }

  it("ignores a whoami result that came too late", () => {
    replay(machine, askingState(bodyRef("a")), [
      [0, workspace(0, true), []],
      [0, confirmed, ["set tick 0"]],
      [0, workspace(1, true), []],
    ]);
    replay(machine, askingState(bodyRef("a")), [
      [0, pause, ["clear tick"]],
      [0, workspace(1, true), []],
    ]);
  });

  it("clears its last error after a success, or when nothing is waiting", () => {
    const failed = { ...enabledState(), lastError: "HTTP 503", lastErrorAt: DAY };
    assert.equal(failed.consecutiveFailures, 2);
    for (const state of [
      uploaderTransition(sendingState(bodyRef("a")), answered(1, http(204)), DAY).state,
      replay(machine, failed, [
        [0, tick, ["clear tick", "select_bodies"]],
        [0, found([]), ["set tick 60000"]],
      ]),
    ]) {
      assert.deepEqual([state.consecutiveFailures, state.lastError, state.lastErrorAt], [0, null, null]);
    }
    // There is nothing after the side that failed, but that side is still pending.
    const behind = replay(machine, { ...failed, cursor: "a" }, [
      [0, tick, ["clear tick", "select_bodies"]],
      [0, found([]), ["set tick 60000"]],
    ]);
    assert.equal(behind.lastError, "HTTP 503");
  });

  it("204 marks exactly that body; 404 quarantines exactly that body with its reason", () => {
    const response = bodyRef("a", { direction: "response" });
    const stored = uploaderTransition(sendingState(response), answered(1, http(204)), DAY + 5);
    assert.deepEqual(stored.effects[0], {
      kind: "mark_uploaded",
      requestId: "a",
      direction: "response",
      at: DAY + 5,
    });
    const orphan = uploaderTransition(sendingState(response), answered(1, http(404)), DAY + 5);
    assert.deepEqual(orphan.effects[0], {
      kind: "quarantine_body",
      requestId: "a",
      direction: "response",
      reason: "HTTP 404",
      httpStatus: 404,
      at: DAY + 5,
    });
  });

  it("a body larger than the cap is sent truncated to the clamped cap, with an info line", () => {
    const selecting = selectingState();
    const large = bodyRef("a", { direction: "response", sizeBytes: 2_000_000 });
    const { effects } = uploaderTransition(selecting, found([large], { maxBodyBytes: 9e9 }), DAY);
    assert.deepEqual(effects, [
      {
        kind: "log",
        level: "info",
        event: "upload_truncated_response",
        fields: { request_id: "a", size_bytes: 2_000_000, max_bytes: UPLOAD_CAP_MAX_BYTES },
      },
      {
        kind: "send_body",
        sendNumber: 1,
        requestId: "a",
        direction: "response",
        maxBytes: UPLOAD_CAP_MAX_BYTES,
      },
    ]);
  });

  it("project rule says no upload: skipped, and the cursor advances", () => {
    const selecting = selectingState();
    const bodies = [bodyRef("a", { project: "no" }), bodyRef("b")];
    const { state, effects } = uploaderTransition(
      selecting,
      found(bodies, { perProject: { no: false } }),
      DAY,
    );
    assert.deepEqual(
      effects.map((effect) => (effect.kind === "send_body" ? effect.requestId : null)),
      ["b"],
    );
    assert.equal(state.cursor, "b");
    const page = Array.from({ length: BODY_PAGE_SIZE }, (_, at) => bodyRef(`n${at}`, { project: "no" }));
    const skipped = uploaderTransition(selecting, found(page, { perProject: { no: false } }), DAY);
    assert.deepEqual(skipped.effects, [
      { kind: "select_bodies", after: `n${BODY_PAGE_SIZE - 1}`, limit: BODY_PAGE_SIZE },
    ]);
  });

  it("body sync switched on: upload_from is set to the current time, and a notice is printed", () => {
    const { state, effects } = uploaderTransition(initialUploaderState, on, DAY);
    assert.deepEqual(effects, [{ kind: "stamp_upload_from", at: DAY }]);
    assert.deepEqual([state.enabled, state.stampDueAt], [true, DAY]);
    const done = uploaderTransition(state, stamped, DAY);
    assert.deepEqual(done.effects.map(effectName), ["print_notice", "set tick 0"]);
  });
});

describe("replays of core/delivery/uploader", () => {
  it("processes all pages, then waits for the configured interval", () => {
    const page = Array.from({ length: BODY_PAGE_SIZE }, (_, at) => bodyRef(`p${at}`, { project: "no" }));
    const rule = { perProject: { no: false }, intervalMs: 5_000 };
    const state = replay(machine, enabledState(), [
      [0, tick, ["clear tick", "select_bodies"]],
      [0, found([...page.slice(1), bodyRef("x")], rule), ["request_workspace"]],
      [0, tick, []],
      [0, workspace(1), ["send_body"]],
      [0, tick, []],
      [1, answered(2, http(204)), ["mark_uploaded", "select_bodies"]],
      [1, found([], rule), ["set tick 5000"]],
      [6, tick, ["clear tick", "select_bodies"]],
    ]);
    assert.deepEqual([state.cursor, state.consecutiveFailures, state.lastTickAt], [null, 0, DAY + 6_000]);
  });

  it("continues after a body that failed, and retries it later", () => {
    const state = replay(machine, enabledState(), [
      [0, tick, ["clear tick", "select_bodies"]],
      [0, found([bodyRef("a"), bodyRef("b")]), ["request_workspace"]],
      [0, workspace(1), ["send_body"]],
      [1, answered(2, http(500)), ["log cloud.body_uploader.failed", "set tick 2000"]],
      [3, tick, ["clear tick", "select_bodies"]],
    ]);
    assert.equal(state.cursor, "a");
    const later = replay(machine, state, [
      [3, found([bodyRef("b")]), ["request_workspace"]],
      [3, workspace(3), ["send_body"]],
      [4, answered(4, http(204)), ["mark_uploaded", "set tick 60000"]],
    ]);
    assert.equal(later.cursor, null);
  });

  it("waits longer after each failure in a row, although whoami succeeds in between", () => {
    const fails = (sendNumber: number, wait: string): ReplayLine<UploaderEvent>[] => [
      [0, tick, ["clear tick", "select_bodies"]],
      [0, found([bodyRef("a")]), ["request_workspace"]],
      [0, workspace(sendNumber), ["send_body"]],
      [0, answered(sendNumber + 1, http(500)), ["log cloud.body_uploader.failed", `set tick ${wait}`]],
    ];
    const state = replay(machine, enabledState(), [
      ...fails(1, "2000"),
      ...fails(3, "4000"),
      ...fails(5, "8000"),
    ]);
    assert.deepEqual([state.consecutiveFailures, state.lastError], [5, "HTTP 500"]);
  });

  it("starts automatically, keeps the rest of a backoff, and does nothing while off or paused", () => {
    const failed = uploaderTransition(sendingState(bodyRef("a")), answered(1, http(503)), DAY).state;
    const rows: readonly [
      name: string,
      state: UploaderState,
      event: UploaderEvent,
      now: number,
      effects: string[],
    ][] = [
      ["fresh", { ...enabledState(), consecutiveFailures: 0 }, start(), DAY, ["set tick 0"]],
      ["only the row was kept", enabledState(), start(), DAY, ["set tick 1000"]],
      ["half a backoff left", failed, start(), DAY + 1_000, ["set tick 1000"]],
      ["clock a day back", failed, start(), DAY - 86_400_000, ["set tick 3600000"]],
      ["off", initialUploaderState, start(false), DAY, []],
      ["paused", enabledState("quota"), start(), DAY, []],
      ["manual", enabledState("paused_manual"), start(), DAY, []],
      ["switched off meanwhile", enabledState(), start(false), DAY, []],
      ["switched on meanwhile", initialUploaderState, start(), DAY, ["stamp_upload_from"]],
      [
        "switched on and paused",
        createUploaderState({ ...enabledState("quota") }),
        start(),
        DAY,
        ["stamp_upload_from"],
      ],
    ];
    for (const [name, state, event, now, effects] of rows) {
      assert.deepEqual(uploaderTransition(state, event, now).effects.map(effectName), effects, name);
    }
  });

  it("sets upload_from again after a crash, to the first instant, and selects nothing before", () => {
    const state = replay(machine, initialUploaderState, [
      [0, on, ["stamp_upload_from"]],
      [1, tick, []],
      [1, confirmed, []],
      [2, start(), ["stamp_upload_from"]],
      [3, stamped, ["print_notice", "set tick 0"]],
      [3, on, []],
      [3, tick, ["clear tick", "select_bodies"]],
    ]);
    assert.equal(state.stampDueAt, null);
    const again = uploaderTransition(
      uploaderTransition(initialUploaderState, on, DAY).state,
      start(),
      DAY + 9,
    );
    assert.deepEqual(again.effects[0], { kind: "stamp_upload_from", at: DAY });
  });

  it("switched off: drops unsent bodies, applies the response in flight, and selects nothing more", () => {
    replay(machine, sendingState(bodyRef("a"), bodyRef("b")), [
      [0, off, ["clear tick"]],
      [1, answered(1, http(204)), ["mark_uploaded", "set tick 60000"]],
      [61, tick, []],
      [61, stamped, []],
    ]);
    replay(machine, enabledState(), [
      [0, tick, ["clear tick", "select_bodies"]],
      [0, off, ["clear tick"]],
      [0, found([bodyRef("a")]), []],
    ]);
  });

  it("runs a requested upload at once, unless Retry-After has not passed", () => {
    replay(machine, enabledState(), [
      [0, { kind: "sync_requested" }, ["clear tick", "select_bodies"]],
      [0, found([bodyRef("a")]), ["request_workspace"]],
      [0, workspace(1), ["send_body"]],
      [0, answered(2, http(429, 60_000)), ["log cloud.body_uploader.failed", "set tick 60000"]],
      [10, { kind: "sync_requested" }, []],
      [10, confirmed, ["set tick 50000"]],
      [60, { kind: "sync_requested" }, ["clear tick", "select_bodies"]],
    ]);
  });

  it("applies the response in flight during a manual pause, and sends nothing more", () => {
    const rows: readonly [result: BodyResult, effects: readonly string[]][] = [
      [http(204), ["mark_uploaded"]],
      [http(404), ["quarantine_body"]],
      [http(425), []],
      [http(401), []],
      [http(503), []],
      [notStored, ["count_waiting"]],
    ];
    for (const [result, effects] of rows) {
      const state: UploaderState = replay(machine, sendingState(bodyRef("a"), bodyRef("b")), [
        [0, pause, ["clear tick"]],
        [0, tick, []],
        [0, answered(9, result), []],
        [1, answered(1, result), effects],
        [1, answered(1, result), []],
        [2, resume, ["set tick 0"]],
      ]);
      assert.equal(state.run, null);
    }
    const waiting = replay(machine, enabledState("paused_manual"), [
      [0, counted(4), ["log cloud.body_uploader.policy_rejected_tick"]],
    ]);
    assert.equal(waiting.recordsPolicyRejected, 4);
    const failed = replay(machine, sendingState(bodyRef("a")), [
      [0, pause, ["clear tick"]],
      [1, answered(1, http(401)), []],
    ]);
    assert.deepEqual([failed.status, failed.lastError], ["paused_manual", "HTTP 401"]);
  });

  it("ends a manual pause at once, with everything cleared", () => {
    const failed = { consecutiveFailures: 4, lastError: "HTTP 503", lastErrorAt: DAY - 1 };
    const state = replay(machine, { ...enabledState("paused_manual"), ...failed }, [
      [0, resume, ["set tick 0"]],
    ]);
    assert.deepEqual(
      [state.status, state.pausedReason, state.consecutiveFailures, state.lastError, state.lastErrorAt],
      ["active", null, 0, null, null],
    );
  });

  it("ends a pause by the cloud only after confirmed credentials, with everything cleared", () => {
    for (const reason of ["paused_unauthorised", "paused_forbidden", "quota", "paused_manual"]) {
      const state: UploaderState = replay(machine, enabledState(reason), [
        [0, tick, []],
        [0, pause, []],
        ...(reason === "paused_manual" ? [] : ([[0, resume, []]] as const)),
        [0, confirmed, ["set tick 0"]],
      ]);
      assert.deepEqual(
        [state.status, state.pausedReason, state.consecutiveFailures, state.lastError, state.lastErrorAt],
        ["active", null, 0, null, null],
      );
    }
  });

  it("applies the switch and upload_from while paused, and starts when active again", () => {
    for (const reason of ["paused_manual", "paused_unauthorised", "paused_forbidden", "quota"]) {
      const paused: UploaderState = { ...enabledState(reason), enabled: false };
      replay(machine, paused, [
        [0, on, ["stamp_upload_from"]],
        [0, stamped, ["print_notice"]],
        [0, off, []],
        [0, on, ["stamp_upload_from"]],
        [0, confirmed, []],
        [0, stamped, ["print_notice", "set tick 0"]],
      ]);
    }
  });

  it("skips the other bodies of a project whose key the cloud can't use, until the next tick", () => {
    const noKey: BodyResult = { ...http(425), code: "body_key_unavailable" };
    const page = [
      bodyRef("a"),
      ...Array.from({ length: BODY_PAGE_SIZE - 2 }, (_, at) => bodyRef(`b${at}`)),
      bodyRef("c", { project: "q" }),
    ];
    const state = replay(machine, sendingState(...page), [
      [0, answered(1, noKey), ["send_body"]],
      [0, answered(2, http(204)), ["mark_uploaded", "select_bodies"]],
      [0, found([bodyRef("d"), bodyRef("e", { project: "r" })]), ["send_body"]],
      [0, answered(3, http(204)), ["mark_uploaded", "set tick 60000"]],
      [60, tick, ["clear tick", "select_bodies"]],
      [60, found([bodyRef("a")]), ["request_workspace"]],
      [60, workspace(4), ["send_body"]],
      [60, answered(5, noKey), ["set tick 60000"]],
    ]);
    assert.deepEqual([state.consecutiveFailures, state.lastError], [0, null]);
  });

  it("ignores responses to anything but the body in flight", () => {
    replay(machine, sendingState(bodyRef("a"), bodyRef("b")), [
      [0, answered(0, http(204)), []],
      [0, answered(1, http(204)), ["mark_uploaded", "send_body"]],
      [0, answered(1, http(401)), []],
      [0, answered(2, http(204)), ["mark_uploaded", "set tick 60000"]],
      [0, answered(2, http(204)), []],
      [0, found([bodyRef("c")]), []],
    ]);
  });
});
