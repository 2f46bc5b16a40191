import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decideBatch } from "../../../../core/delivery/sync/batch-verdict.ts";
import type { BatchResult, SyncEvent } from "../../../../core/delivery/sync/sync-events.ts";
import { syncTransition } from "../../../../core/delivery/sync/sync-machine.ts";
import {
  createSyncState,
  initialSyncState,
  type SyncState,
  type SyncStatus,
  statusOfReason,
} from "../../../../core/delivery/sync/sync-state.ts";
import { DRAIN_PAUSE_MS, SYNC_INTERVAL_MS } from "../../../../core/delivery/sync/sync-steps.ts";
import { BATCH_MAX_RECORDS } from "../../../../core/wire/metadata-batch.ts";
import { DAY, effectName, replay } from "../../machine.rig.ts";
import {
  answered,
  found,
  http,
  machine,
  noAnswer,
  ok,
  paired,
  pause,
  pausedState,
  request,
  resume,
  sendingState,
  start,
  tick,
  whoami,
} from "./sync.rig.ts";

describe("the specification's table: Daemon metadata sync", () => {
  const transient: readonly [trigger: string, result: BatchResult][] = [
    ["500", http(500)],
    ["502", http(502)],
    ["503", http(503)],
    ["connection reset", { kind: "transport", reason: "connection_reset" }],
    ["read or connect timeout", { kind: "transport", reason: "timeout" }],
    ["DNS failure", { kind: "transport", reason: "dns_failure" }],
    ["429", http(429)],
    ["400", http(400)],
    ["422", http(422)],
    // The specification does not mention the other statuses; they are transient too.
    ["408", http(408)],
    ["404", http(404)],
    ["a redirect", http(307)],
    ["204", http(204)],
    ["200 without outcomes", http(200)],
  ];
  const rows: readonly (readonly [
    state: SyncStatus,
    trigger: string,
    result: BatchResult,
    next: SyncStatus,
  ])[] = [
    ["active", "401", http(401), "paused_unauthorised"],
    ["active", "403", http(403), "paused_forbidden"],
    ...transient.map(([trigger, result]) => ["active", trigger, result, "active"] as const),
  ];
  for (const [, trigger, result, next] of rows) {
    it(`active, response to /v1/requests/batch: ${trigger} -> ${next}`, () => {
      const { state, effects } = syncTransition(sendingState("a"), answered(1, result), DAY);
      assert.equal(state.status, next);
      assert.equal(state.pausedReason, next === "active" ? null : next);
      assert.equal(state.consecutiveFailures, next === "active" ? 1 : 0);
      assert.equal(state.lastErrorAt, DAY);
      assert.ok(state.lastError?.startsWith(result.kind === "http" ? `HTTP ${result.status}` : "no answer"));
      const timers = effects.map(effectName).filter((name) => / tick/.test(name));
      assert.deepEqual(timers, [next === "active" ? "set tick 500" : "clear tick"]);
    });
  }

  it("keeps the problem code of the response that paused sync until it is active or paused manually", () => {
    const forbidden: BatchResult = {
      kind: "http",
      status: 403,
      retryAfterMs: null,
      code: "workspace_deleted",
      outcomes: null,
    };
    const paused = syncTransition(sendingState("a"), answered(1, forbidden), DAY).state;
    assert.deepEqual(
      [paused.pausedCode, paused.lastError],
      ["workspace_deleted", "HTTP 403 workspace_deleted"],
    );
    const resumed = syncTransition(syncTransition(paused, resume, DAY).state, whoami(200), DAY).state;
    assert.equal(resumed.pausedCode, null);
    assert.equal(
      syncTransition({ ...pausedState(null), pausedCode: "x" }, pause, DAY).state.pausedCode,
      null,
    );
  });

  it("active, meter cloud pause -> paused_manual", () => {
    const { state } = syncTransition(pausedState(null), pause, DAY);
    assert.equal(state.status, "paused_manual");
    assert.equal(state.pausedReason, "paused_manual");
  });

  it("paused_manual, meter cloud resume, always -> active, cleared immediately", () => {
    const { state, effects } = syncTransition(pausedState("paused_manual"), resume, DAY);
    assert.equal(state.status, "active");
    assert.equal(state.pausedReason, null);
    assert.deepEqual([state.consecutiveFailures, state.lastError, state.lastErrorAt], [0, null, null]);
    assert.deepEqual(effects.map(effectName), ["resume_uploader", "report_resume", "set tick 0"]);
  });

  for (const reason of ["paused_unauthorised", "paused_forbidden", "an old reason"]) {
    const asked = syncTransition(pausedState(reason), resume, DAY);

    it(`${reason}, meter cloud resume, whoami 200 -> active, everything cleared in both state tables`, () => {
      assert.deepEqual(asked.effects, [{ kind: "request_whoami" }]);
      const { state, effects } = syncTransition(asked.state, whoami(200), DAY);
      assert.deepEqual(
        [state.status, state.pausedReason, state.consecutiveFailures, state.lastError, state.lastErrorAt],
        ["active", null, 0, null, null],
      );
      assert.deepEqual(effects.map(effectName), ["clear_uploader_state", "report_resume", "set tick 0"]);
    });

    const refusals: readonly [
      event: SyncEvent,
      reason: string,
      httpStatus: number | null,
      message: RegExp,
    ][] = [
      [whoami(401), "key_invalid", 401, /key is invalid: pair this machine again/],
      [whoami(403), "machine_forbidden", 403, /ask the owner to re-invite this machine/],
      [whoami(403, "workspace_deleted"), "workspace_deleted", 403, /the workspace was deleted: pair/],
      [whoami(503), "unconfirmed", 503, /HTTP 503/],
      [whoami(429), "unconfirmed", 429, /HTTP 429/],
      [
        { kind: "whoami_answered", result: { kind: "transport", reason: "timeout" } },
        "unconfirmed",
        null,
        /no answer: timeout/,
      ],
    ];
    for (const [event, why, httpStatus, message] of refusals) {
      it(`${reason}, meter cloud resume, whoami ${httpStatus ?? "no answer"} -> unchanged, non-zero exit`, () => {
        const { state, effects } = syncTransition(asked.state, event, DAY);
        assert.deepEqual(state, pausedState(reason));
        assert.equal(effects.length, 1);
        const [effect] = effects;
        assert.ok(effect?.kind === "report_resume");
        assert.deepEqual(
          [effect.report.ok, effect.report.reason, effect.report.httpStatus],
          [false, why, httpStatus],
        );
        assert.match(effect.report.message, message);
      });
    }
  }
});

describe("statusOfReason()", () => {
  it("maps an unknown reason to paused_other", () => {
    assert.deepEqual(
      [null, "paused_unauthorised", "paused_forbidden", "paused_manual", "active", "", "quota"].map(
        statusOfReason,
      ),
      [
        "active",
        "paused_unauthorised",
        "paused_forbidden",
        "paused_manual",
        "paused_other",
        "paused_other",
        "paused_other",
      ],
    );
    assert.equal(createSyncState({ ...initialSyncState, pausedReason: "quota" }).pausedReason, "quota");
  });
});

describe("decideBatch()", () => {
  const ids = ["a", "b", "c"];
  const rows: readonly [name: string, result: BatchResult, kind: string][] = [
    ["all accepted", ok(3), "settled"],
    ["accepted, duplicate, rejected", ok(1, 1, ["c"]), "settled"],
    ["held back by the sender", ok(2, 0, [], ["a"]), "settled"],
    ["one outcome too few", ok(2), "transient"],
    ["one outcome too many", ok(3, 0, ["c"]), "transient"],
    ["a stranger among the rejected", ok(2, 0, ["x"]), "transient"],
    ["the same one rejected twice", ok(1, 0, ["a", "a"]), "transient"],
    ["rejected and held back at once", ok(1, 0, ["a"], ["a"]), "transient"],
    ["413", http(413), "refused"],
  ];
  for (const [name, result, kind] of rows) {
    it(`returns ${kind} for ${name}`, () => assert.equal(decideBatch(result, ids).kind, kind));
  }

  it("reports as delivered what is neither rejected nor withheld", () => {
    const verdict = decideBatch(ok(0, 1, ["c"], ["a"]), ids);
    assert.deepEqual(verdict.kind === "settled" && verdict.delivered, ["b"]);
  });
});

describe("replays of core/delivery/sync", () => {
  it("ticks every 30 s, and drains a backlog with short pauses", () => {
    const full = Array.from({ length: BATCH_MAX_RECORDS }, (_, at) => `r${at}`);
    const state = replay(machine, initialSyncState, [
      [0, start, ["resume_uploader", "set tick 0"]],
      [0, tick, ["clear tick", "select_records"]],
      [0, found(...full), ["send_batch"]],
      [1, answered(1, ok(BATCH_MAX_RECORDS)), ["mark_synced", `set tick ${DRAIN_PAUSE_MS}`]],
      [1, tick, ["clear tick", "select_records"]],
      [1, found("z"), ["send_batch"]],
      [2, answered(2, ok(1)), ["mark_synced", "set tick 30000"]],
      [32, tick, ["clear tick", "select_records"]],
      [32, found(), ["set tick 30000"]],
    ]);
    assert.equal(state.lastTickAt, DAY + 32_000);
    assert.equal(state.nextTickAt, DAY + 62_000);
  });

  it("splits the records into batches of 500", () => {
    const many = Array.from({ length: BATCH_MAX_RECORDS + 1 }, (_, at) => `r${at}`);
    replay(machine, initialSyncState, [
      [0, tick, ["clear tick", "select_records"]],
      [0, found(...many), ["send_batch"]],
      [1, answered(1, ok(BATCH_MAX_RECORDS)), ["mark_synced", "send_batch"]],
      [1, answered(2, ok(1)), ["mark_synced", `set tick ${DRAIN_PAUSE_MS}`]],
    ]);
  });

  it("does not repeat at once after a full page without a settled record", () => {
    const full = Array.from({ length: BATCH_MAX_RECORDS }, (_, at) => `r${at}`);
    replay(machine, initialSyncState, [
      [0, tick, ["clear tick", "select_records"]],
      [0, found(...full), ["send_batch"]],
      [1, answered(1, ok(0, 0, [], full)), ["set tick 30000"]],
    ]);
  });

  it("quarantines the records that a 200 rejects, and marks the others as synced", () => {
    const { state, effects } = syncTransition(sendingState("a", "b", "c"), answered(1, ok(1, 1, ["b"])), DAY);
    assert.deepEqual(effects.slice(0, 2), [
      { kind: "mark_synced", requestIds: ["a", "c"], at: DAY },
      { kind: "quarantine_records", records: [{ requestId: "b", code: "invalid", message: "no" }], at: DAY },
    ]);
    assert.equal(state.consecutiveFailures, 0);
  });

  it("halves batches around a refused record, checks with an accepted one, and quarantines only the refused one", () => {
    let state = replay(machine, initialSyncState, [
      [0, tick, ["clear tick", "select_records"]],
      [0, found("a", "b", "poison"), ["send_batch"]],
      [1, answered(1, http(422)), ["log sync.batch_failed", "set tick 100"]],
      [2, tick, ["send_batch"]],
      [2, answered(2, ok(2)), ["mark_synced", "send_batch"]],
      [3, answered(3, http(422)), ["log sync.batch_failed", "set tick 100"]],
    ]);
    const check = syncTransition(state, tick, DAY + 4_000);
    assert.deepEqual(check.effects, [{ kind: "send_batch", batchNumber: 4, requestIds: ["a"] }]);
    const settled = syncTransition(check.state, answered(4, ok(0, 1)), DAY + 5_000);
    state = settled.state;
    assert.deepEqual(
      settled.effects.find((effect) => effect.kind === "quarantine_records"),
      {
        kind: "quarantine_records",
        records: [
          {
            requestId: "poison",
            code: "http_422",
            message: "HTTP 422, refused alone while another record was taken",
          },
        ],
        at: DAY + 5_000,
      },
    );
    assert.deepEqual([state.run, state.consecutiveFailures], [null, 0]);
  });

  it("tries a record again that was refused before anything was accepted", () => {
    replay(machine, initialSyncState, [
      [0, tick, ["clear tick", "select_records"]],
      [0, found("poison", "b"), ["send_batch"]],
      [1, answered(1, http(413)), ["log sync.batch_failed", "set tick 100"]],
      [2, tick, ["send_batch"]],
      [2, answered(2, http(413)), ["log sync.batch_failed", "set tick 100"]],
      [3, tick, ["send_batch"]],
      [3, answered(3, ok(1)), ["mark_synced", "send_batch"]],
      [4, answered(4, http(413)), ["log sync.batch_failed", "set tick 100"]],
      [5, tick, ["send_batch"]],
      [5, answered(5, ok(0, 1)), ["mark_synced", "quarantine_records", "set tick 30000"]],
    ]);
  });

  it("keeps all records pending if the cloud refuses everything", () => {
    const state = replay(machine, initialSyncState, [
      [0, tick, ["clear tick", "select_records"]],
      [0, found("a", "b"), ["send_batch"]],
      [1, answered(1, http(400)), ["log sync.batch_failed", "set tick 100"]],
      [2, tick, ["send_batch"]],
      [2, answered(2, http(400)), ["log sync.batch_failed", "set tick 100"]],
      [3, tick, ["send_batch"]],
      [3, answered(3, http(400)), ["log sync.batch_failed", "set tick 2000"]],
      [5, tick, ["clear tick", "select_records"]],
    ]);
    assert.equal(state.consecutiveFailures, 3);
  });

  it("keeps all records pending if the cloud fails during a run, so that the check is refused too", () => {
    const state = replay(machine, initialSyncState, [
      [0, tick, ["clear tick", "select_records"]],
      [0, found("a", "b", "c"), ["send_batch"]],
      [1, answered(1, http(422)), ["log sync.batch_failed", "set tick 100"]],
      [2, tick, ["send_batch"]],
      [2, answered(2, ok(2)), ["mark_synced", "send_batch"]],
      [3, answered(3, http(422)), ["log sync.batch_failed", "set tick 100"]],
      [4, tick, ["send_batch"]],
      [4, answered(4, http(422)), ["log sync.batch_failed", "set tick 1000"]],
    ]);
    assert.equal(state.run, null);
  });

  it("keeps the suspect pending if the check gets a 200 that does not accept the record", () => {
    replay(machine, initialSyncState, [
      [0, tick, ["clear tick", "select_records"]],
      [0, found("a", "b"), ["send_batch"]],
      [1, answered(1, http(422)), ["log sync.batch_failed", "set tick 100"]],
      [2, tick, ["send_batch"]],
      [2, answered(2, ok(1)), ["mark_synced", "send_batch"]],
      [3, answered(3, http(422)), ["log sync.batch_failed", "set tick 100"]],
      [4, tick, ["send_batch"]],
      [4, answered(4, ok(0, 0, [], ["a"])), ["set tick 30000"]],
    ]);
  });

  it("delays a requested run by Retry-After but not by its own backoff", () => {
    let state = replay(machine, initialSyncState, [
      [0, tick, ["clear tick", "select_records"]],
      [0, found("a"), ["send_batch"]],
      [0, answered(1, http(429, 60_000)), ["log sync.batch_failed", "set tick 60000"]],
      [10, request, ["report_sync"]],
      [60, request, ["clear tick", "select_records"]],
      [60, found("a"), ["send_batch"]],
      [61, answered(2, noAnswer), ["log cloud.transport_error", "set tick 1000", "report_sync"]],
      [61, request, ["clear tick", "select_records"]],
    ]);
    assert.equal(state.run?.requested, true);
    state = syncTransition(sendingState("a"), answered(1, http(429, 1e12)), DAY).state;
    assert.equal(state.nextTickAt, DAY + 3_600_000);
    const [told] = syncTransition(state, request, DAY + 1_500).effects;
    assert.ok(told?.kind === "report_sync" && told.report.reason === "retry_after");
    assert.match(told.report.message, /3599 s/);
  });

  it("reports a requested run with its counts, whether it was started or already running", () => {
    for (const early of [true, false]) {
      const ticked = early ? request : tick;
      replay(machine, initialSyncState, [
        [0, ticked, ["clear tick", "select_records"]],
        [0, request, []],
        [0, found("a", "b"), ["send_batch"]],
        [0, request, []],
        [1, answered(1, http(422)), ["log sync.batch_failed", "set tick 100"]],
        [1, request, ["clear tick", "send_batch"]],
        [1, answered(2, ok(0, 0, ["a"])), ["quarantine_records", "send_batch"]],
        [1, answered(3, ok(0, 1)), ["mark_synced", "set tick 30000", "report_sync"]],
      ]);
    }
    const requested = syncTransition(sendingState("a", "b", "c"), request, DAY).state;
    const { effects } = syncTransition(requested, answered(1, ok(1, 1, ["c"])), DAY);
    assert.deepEqual(effects.at(-1), {
      kind: "report_sync",
      report: { ok: true, reason: "done", message: "synced", accepted: 1, duplicates: 1, quarantined: 1 },
    });
  });

  it("pauses on 401 with the specified log line, and stays paused after a restart", () => {
    const { state, effects } = syncTransition(sendingState("a", "b"), answered(1, http(401)), DAY);
    assert.deepEqual(effects.at(-1), {
      kind: "log",
      level: "warn",
      event: "sync.paused",
      fields: { reason: "paused_unauthorised", http_status: 401, last_request_id: "b" },
    });
    replay(machine, state, [
      [1, tick, []],
      [1, request, ["report_sync"]],
      [1, pause, []],
      [2, start, ["log cloud.worker.sync_paused"]],
      [2, tick, []],
      [3, whoami(200), []],
      [3, resume, ["request_whoami"]],
      [4, start, ["log cloud.worker.sync_paused"]],
      [4, whoami(200), []],
    ]);
  });

  it("applies the response in flight during a manual pause, and sends nothing else", () => {
    const state = replay(machine, initialSyncState, [
      [0, tick, ["clear tick", "select_records"]],
      [0, found("a", "b"), ["send_batch"]],
      [1, answered(1, http(422)), ["log sync.batch_failed", "set tick 100"]],
      [2, tick, ["send_batch"]],
      [2, request, []],
      [3, pause, ["clear tick", "pause_uploader", "log sync.paused", "report_sync"]],
      [3, answered(9, ok(1)), []],
      [4, answered(2, ok(0, 0, ["a"])), ["quarantine_records"]],
      [4, answered(2, ok(1)), []],
      [5, tick, []],
      [6, start, ["log cloud.worker.sync_paused", "pause_uploader"]],
    ]);
    assert.equal(state.run, null);
  });

  it("records an error that arrives during a manual pause, and stays paused_manual for any status", () => {
    for (const result of [http(401), http(403), http(503), noAnswer]) {
      const paused = syncTransition(sendingState("a"), pause, DAY).state;
      const { state, effects } = syncTransition(paused, answered(1, result), DAY);
      assert.deepEqual([state.status, effects, state.lastErrorAt], ["paused_manual", [], DAY]);
    }
  });

  it("waits for the batch in flight when resumed before its response", () => {
    replay(machine, syncTransition(sendingState("a"), pause, DAY).state, [
      [1, resume, ["resume_uploader", "report_resume", "set tick 0"]],
      [1, tick, []],
      [2, answered(1, ok(1)), ["mark_synced", "set tick 30000"]],
    ]);
  });

  it("drops a run on a pause if it has sent nothing", () => {
    const selecting = syncTransition(initialSyncState, tick, DAY).state;
    assert.equal(syncTransition(selecting, pause, DAY).state.run, null);
    replay(machine, selecting, [
      [0, pause, ["clear tick", "pause_uploader", "log sync.paused"]],
      [0, found("a"), []],
      [0, resume, ["resume_uploader", "report_resume", "set tick 0"]],
      [0, found("a"), []],
    ]);
  });

  it("requests whoami on a resume while active too, and clears the counters on 200", () => {
    let state: SyncState = { ...pausedState(null), notBefore: DAY + 90_000 };
    state = replay(machine, state, [
      [0, resume, ["request_whoami"]],
      [1, whoami(200), ["clear_uploader_state", "report_resume", "set tick 89000"]],
      [2, { kind: "uploader_cleared" }, []],
    ]);
    assert.deepEqual([state.consecutiveFailures, state.lastError, state.uploaderClearDue], [0, null, false]);
    replay(machine, state, [
      [3, resume, ["request_whoami"]],
      [4, whoami(401), ["report_resume"]],
    ]);
  });

  it("clears the uploader's state again after a crash in between", () => {
    const asked = syncTransition(pausedState("paused_forbidden"), resume, DAY).state;
    const cleared = syncTransition(asked, whoami(200), DAY).state;
    replay(machine, cleared, [
      [1, start, ["clear_uploader_state", "resume_uploader", "set tick 0"]],
      [2, { kind: "uploader_cleared" }, []],
      [3, start, ["resume_uploader", "set tick 0"]],
    ]);
    const other = { ...pausedState("quota"), uploaderClearDue: true };
    replay(machine, other, [
      [0, start, ["log cloud.worker.sync_paused", "clear_uploader_state"]],
      [0, { kind: "uploader_cleared" }, []],
      [0, start, ["log cloud.worker.sync_paused"]],
    ]);
  });

  it("continues after a new pairing unless paused manually, and ignores the result of the old key", () => {
    for (const reason of ["paused_unauthorised", "paused_forbidden", "quota"]) {
      const state: SyncState = replay(machine, pausedState(reason), [
        [0, paired, ["clear_uploader_state", "set tick 0"]],
      ]);
      assert.deepEqual([state.status, state.consecutiveFailures], ["active", 0]);
    }
    replay(machine, syncTransition(sendingState("a"), request, DAY).state, [
      [0, paired, ["clear_uploader_state", "report_sync", "set tick 0"]],
      [0, answered(1, http(401)), []],
      [0, tick, ["clear tick", "select_records"]],
      [0, found("a"), ["send_batch"]],
      [0, answered(1, http(401)), []],
      [0, answered(2, ok(1)), ["mark_synced", "set tick 30000"]],
    ]);
    const manual = replay(machine, pausedState("paused_manual"), [
      [0, paired, []],
      [0, start, ["log cloud.worker.sync_paused", "pause_uploader"]],
      [0, resume, ["clear_uploader_state", "resume_uploader", "report_resume", "set tick 0"]],
      [0, { kind: "uploader_cleared" }, []],
    ]);
    assert.equal(manual.consecutiveFailures, 0);
  });

  it("keeps the rest of a backoff across a restart, even if the clock was set", () => {
    const failed = syncTransition(sendingState("a"), answered(1, http(503)), DAY).state;
    const rows: readonly [name: string, state: SyncState, now: number, timer: string][] = [
      ["half of it", failed, DAY + 250, "set tick 250"],
      ["none of it", failed, DAY + 86_400_000, "set tick 0"],
      ["clock a day back", failed, DAY - 86_400_000, "set tick 3600000"],
      ["only the row was kept", createSyncState(failed), DAY, "set tick 500"],
    ];
    for (const [name, state, now, timer] of rows) {
      assert.equal(syncTransition(state, start, now).effects.map(effectName).at(-1), timer, name);
    }
  });

  it("notes uploader_cleared in every state", () => {
    for (const reason of [null, "paused_manual", "paused_unauthorised", "paused_forbidden", "quota"]) {
      const state = { ...pausedState(reason), uploaderClearDue: true };
      assert.equal(syncTransition(state, { kind: "uploader_cleared" }, DAY).state.uploaderClearDue, false);
    }
  });
});

describe("the numbers of core/delivery/sync", () => {
  it("are the specification's", () => {
    assert.deepEqual(
      { SYNC_INTERVAL_MS, BATCH_MAX_RECORDS },
      { SYNC_INTERVAL_MS: 30_000, BATCH_MAX_RECORDS: 500 },
    );
  });
});
