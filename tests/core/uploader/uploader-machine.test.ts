import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  BODY_PAGE_SIZE,
  type BodyAnswer,
  createUploaderState,
  initialUploaderState,
  UPLOAD_CAP_MAX_BYTES,
  type UploaderEvent,
  type UploaderState,
  uploaderTransition,
} from "../../../core/uploader/mod.ts";
import { DAY, effectName, replay } from "../machine-checks.ts";
import {
  answered,
  enabledState,
  found,
  http,
  leg,
  machine,
  noAnswer,
  notStored,
  sendingState,
} from "./uploader-helpers.ts";

const tick: UploaderEvent = { kind: "tick_due" };
const pause: UploaderEvent = { kind: "pause_requested" };
const resume: UploaderEvent = { kind: "resume_requested" };
const confirmed: UploaderEvent = { kind: "credentials_confirmed" };
const stamped: UploaderEvent = { kind: "upload_from_stamped" };
const on: UploaderEvent = { kind: "body_sync_switched", enabled: true };
const off: UploaderEvent = { kind: "body_sync_switched", enabled: false };
const start = (enabled = true): UploaderEvent => ({ kind: "started", enabled, random: 0.5 });

describe("the contract's table: Daemon body uploader", () => {
  const next = "send_body";
  const wait = "set tick 60000";
  const backOff = "set tick 2000";
  const rows: readonly [trigger: string, answer: BodyAnswer, effects: readonly string[], status: string][] = [
    ["204", http(204), ["mark_uploaded", next], "active"],
    ["200 with stored=false", notStored, ["log cloud.body_uploader.policy_rejected_tick", wait], "active"],
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
  for (const [trigger, answer, effects, status] of rows) {
    it(`${trigger} -> ${effects.join(", ")}; ${status}`, () => {
      const step = uploaderTransition(sendingState(leg("a"), leg("b")), answered(1, answer), DAY);
      assert.deepEqual(step.effects.map(effectName), effects);
      assert.equal(step.state.status, status);
      assert.equal(step.state.cursor, effects.includes(wait) ? null : effects.includes(next) ? "b" : "a");
    });
  }

  it("200 with stored=false counts, and is neither failure, backoff, pause nor quarantine", () => {
    const { state, effects } = uploaderTransition(sendingState(leg("a")), answered(1, notStored), DAY);
    assert.deepEqual(
      [state.recordsPolicyRejected, state.consecutiveFailures, state.pausedReason, state.lastErrorAt],
      [1, 0, null, 1],
    );
    const [log] = effects;
    assert.ok(log?.kind === "log" && log.level === "warn");
    assert.equal(log.fields.count, 1);
    assert.match(String(log.fields.hint), /offered again/);
  });

  it("204 stamps that very leg; 404 records that very leg with its reason", () => {
    const response = leg("a", { direction: "response" });
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

  it("a leg larger than the cap is sent all the same, cut to the clamped cap, with an info line", () => {
    const selecting = uploaderTransition(enabledState(), tick, DAY).state;
    const large = leg("a", { direction: "response", sizeBytes: 2_000_000 });
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
    const selecting = uploaderTransition(enabledState(), tick, DAY).state;
    const bodies = [leg("a", { project: "no" }), leg("b")];
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
    const page = Array.from({ length: BODY_PAGE_SIZE }, (_, at) => leg(`n${at}`, { project: "no" }));
    const skipped = uploaderTransition(selecting, found(page, { perProject: { no: false } }), DAY);
    assert.deepEqual(skipped.effects, [
      { kind: "select_bodies", after: `n${BODY_PAGE_SIZE - 1}`, limit: BODY_PAGE_SIZE },
    ]);
  });

  it("body sync switched off to on: upload_from is stamped with the current time, and a notice printed", () => {
    const { state, effects } = uploaderTransition(initialUploaderState, on, DAY);
    assert.deepEqual(effects.map(effectName), ["stamp_upload_from", "print_notice"]);
    assert.deepEqual(effects[0], { kind: "stamp_upload_from", at: DAY });
    assert.deepEqual([state.enabled, state.stampDueAt], [true, DAY]);
  });
});

describe("replays of core/uploader", () => {
  it("passes over all pages, then waits for the configured interval", () => {
    const page = Array.from({ length: BODY_PAGE_SIZE }, (_, at) => leg(`p${at}`, { project: "no" }));
    const rule = { perProject: { no: false }, intervalMs: 5_000 };
    const state = replay(machine, enabledState(), [
      [0, tick, ["clear tick", "select_bodies"]],
      [0, found([...page.slice(1), leg("x")], rule), ["send_body"]],
      [0, tick, []],
      [1, answered(1, http(204)), ["mark_uploaded", "select_bodies"]],
      [1, found([], rule), ["set tick 5000"]],
      [6, tick, ["clear tick", "select_bodies"]],
    ]);
    assert.deepEqual([state.cursor, state.consecutiveFailures, state.lastTickAt], [null, 0, DAY + 6_000]);
  });

  it("goes on behind a leg that failed, so that it does not block the others, and comes back to it", () => {
    const state = replay(machine, enabledState(), [
      [0, tick, ["clear tick", "select_bodies"]],
      [0, found([leg("a"), leg("b")]), ["send_body"]],
      [1, answered(1, http(500)), ["log cloud.body_uploader.failed", "set tick 2000"]],
      [3, tick, ["clear tick", "select_bodies"]],
    ]);
    assert.equal(state.cursor, "a");
    const later = replay(machine, state, [
      [3, found([leg("b")]), ["send_body"]],
      [4, answered(2, http(204)), ["mark_uploaded", "set tick 60000"]],
    ]);
    assert.equal(later.cursor, null);
  });

  it("starts by itself, keeps what is left of a backoff, and stays still while off or paused", () => {
    const failed = uploaderTransition(sendingState(leg("a")), answered(1, http(503)), DAY).state;
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
      ["switched on meanwhile", initialUploaderState, start(), DAY, ["stamp_upload_from", "print_notice"]],
      [
        "switched on and paused",
        createUploaderState({ ...enabledState("quota") }),
        start(),
        DAY,
        ["stamp_upload_from", "print_notice"],
      ],
    ];
    for (const [name, state, event, now, effects] of rows) {
      assert.deepEqual(uploaderTransition(state, event, now).effects.map(effectName), effects, name);
    }
  });

  it("stamps upload_from again after a crash, with the first instant, and selects nothing before that", () => {
    const state = replay(machine, initialUploaderState, [
      [0, on, ["stamp_upload_from", "print_notice"]],
      [1, tick, []],
      [1, confirmed, []],
      [2, start(), ["stamp_upload_from", "print_notice"]],
      [3, stamped, ["set tick 0"]],
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

  it("switched off: drops what has not been sent, honours the answer in flight, and selects nothing more", () => {
    replay(machine, sendingState(leg("a"), leg("b")), [
      [0, off, ["clear tick"]],
      [1, answered(1, http(204)), ["mark_uploaded", "set tick 60000"]],
      [61, tick, []],
      [61, stamped, []],
    ]);
    replay(machine, enabledState(), [
      [0, tick, ["clear tick", "select_bodies"]],
      [0, off, ["clear tick"]],
      [0, found([leg("a")]), []],
    ]);
  });

  it("does at once what is asked, unless Retry-After holds", () => {
    replay(machine, enabledState(), [
      [0, { kind: "sync_requested" }, ["clear tick", "select_bodies"]],
      [0, found([leg("a")]), ["send_body"]],
      [0, answered(1, http(429, 60_000)), ["log cloud.body_uploader.failed", "set tick 60000"]],
      [10, { kind: "sync_requested" }, []],
      [10, confirmed, ["set tick 50000"]],
      [60, { kind: "sync_requested" }, ["clear tick", "select_bodies"]],
    ]);
  });

  it("honours the answer in flight under a manual pause, and sends nothing more", () => {
    const rows: readonly [answer: BodyAnswer, effects: readonly string[]][] = [
      [http(204), ["mark_uploaded"]],
      [http(404), ["quarantine_body"]],
      [http(425), []],
      [http(401), []],
      [http(503), []],
      [notStored, ["log cloud.body_uploader.policy_rejected_tick"]],
    ];
    for (const [answer, effects] of rows) {
      const state: UploaderState = replay(machine, sendingState(leg("a"), leg("b")), [
        [0, pause, ["clear tick"]],
        [0, tick, []],
        [0, answered(9, answer), []],
        [1, answered(1, answer), effects],
        [1, answered(1, answer), []],
        [2, resume, ["set tick 0"]],
      ]);
      assert.equal(state.recordsPolicyRejected, answer === notStored ? 1 : 0);
    }
    const failed = replay(machine, sendingState(leg("a")), [
      [0, pause, ["clear tick"]],
      [1, answered(1, http(401)), []],
    ]);
    assert.deepEqual([failed.status, failed.lastError], ["paused_manual", "HTTP 401"]);
  });

  it("leaves the operator's pause at once, with everything cleared", () => {
    const failed = { consecutiveFailures: 4, lastError: "HTTP 503", lastErrorAt: DAY - 1 };
    const state = replay(machine, { ...enabledState("paused_manual"), ...failed }, [
      [0, resume, ["set tick 0"]],
    ]);
    assert.deepEqual(
      [state.status, state.pausedReason, state.consecutiveFailures, state.lastError, state.lastErrorAt],
      ["active", null, 0, null, null],
    );
  });

  it("leaves a cloud's pause only by confirmed credentials, with everything cleared", () => {
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

  it("takes the switch and the stamp while paused, and begins when it is active again", () => {
    for (const reason of ["paused_manual", "paused_unauthorised", "paused_forbidden", "quota"]) {
      const paused: UploaderState = { ...enabledState(reason), enabled: false };
      replay(machine, paused, [
        [0, on, ["stamp_upload_from", "print_notice"]],
        [0, stamped, []],
        [0, off, []],
        [0, on, ["stamp_upload_from", "print_notice"]],
        [0, confirmed, []],
        [0, stamped, ["set tick 0"]],
      ]);
    }
  });

  it("drops answers to what it did not send last, or no longer has in flight", () => {
    replay(machine, sendingState(leg("a"), leg("b")), [
      [0, answered(0, http(204)), []],
      [0, answered(1, http(204)), ["mark_uploaded", "send_body"]],
      [0, answered(1, http(401)), []],
      [0, answered(2, http(204)), ["mark_uploaded", "set tick 60000"]],
      [0, answered(2, http(204)), []],
      [0, found([leg("c")]), []],
    ]);
  });
});
