import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SyncEffect, SyncEvent, SyncReport } from "../../../../core/delivery/sync/sync-events.ts";
import { syncTransition } from "../../../../core/delivery/sync/sync-machine.ts";
import { initialSyncState, type SyncState } from "../../../../core/delivery/sync/sync-state.ts";
import { DRAIN_PAUSE_MS } from "../../../../core/delivery/sync/sync-steps.ts";
import { DAY, replay } from "../../machine.rig.ts";
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

const after = (state: SyncState, ...events: SyncEvent[]): SyncState =>
  events.reduce((now, event) => syncTransition(now, event, DAY).state, state);

const failure = (reason: SyncReport["reason"], message: string): SyncEffect => ({
  kind: "report_sync",
  report: { ok: false, reason, message, accepted: 0, duplicates: 0, quarantined: 0 },
});

const log = (event: string, fields: Record<string, string | number | null>): SyncEffect => ({
  kind: "log",
  level: "warn",
  event,
  fields,
});

describe("the reports of core/delivery/sync", () => {
  const requested = after(sendingState("a", "b", "c"), request);
  const waiting = { ...sendingState("a"), notBefore: DAY + 1_001 };
  const clear: SyncEffect = { kind: "clear_timer", timer: "tick" };
  const tickIn = (delayMs: number): SyncEffect => ({ kind: "set_timer", timer: "tick", delayMs });
  const failed = { consecutive_failures: 1, retry_in_ms: 500 };
  const rows: readonly [name: string, state: SyncState, event: SyncEvent, effects: readonly SyncEffect[]][] =
    [
      [
        "a batch that failed",
        requested,
        answered(1, http(503)),
        [
          log("sync.batch_failed", { error: "HTTP 503", records: 3, ...failed }),
          tickIn(500),
          failure("failed", "HTTP 503"),
        ],
      ],
      [
        "a batch without an answer",
        sendingState("a"),
        answered(1, noAnswer),
        [
          log("cloud.transport_error", { error: "no answer: connection_reset", records: 1, ...failed }),
          tickIn(500),
        ],
      ],
      [
        "a pause by the cloud",
        requested,
        answered(1, http(403)),
        [
          clear,
          log("sync.paused", { reason: "paused_forbidden", http_status: 403, last_request_id: "c" }),
          failure("paused", "sync is paused: paused_forbidden"),
        ],
      ],
      [
        "a pause by the operator",
        requested,
        pause,
        [
          clear,
          { kind: "pause_uploader" },
          log("sync.paused", { reason: "paused_manual", http_status: null, last_request_id: "c" }),
          failure("paused", "sync is paused: paused_manual"),
        ],
      ],
      [
        "the start of a paused worker",
        pausedState("quota"),
        start,
        [log("cloud.worker.sync_paused", { reason: "quota" })],
      ],
      [
        "a request under a pause",
        pausedState("quota"),
        request,
        [failure("paused", "sync is paused: quota")],
      ],
      [
        "a request before the cloud allows one",
        waiting,
        request,
        [failure("retry_after", "the cloud asked to wait 2 s")],
      ],
      [
        "the end of the operator's pause",
        pausedState("paused_manual"),
        resume,
        [
          { kind: "resume_uploader" },
          {
            kind: "report_resume",
            report: { ok: true, reason: "resumed", httpStatus: null, message: "sync is active" },
          },
          tickIn(0),
        ],
      ],
      [
        "new credentials in the middle of a run",
        requested,
        paired,
        [{ kind: "clear_uploader_state" }, failure("failed", "the credentials were replaced"), tickIn(0)],
      ],
    ];
  for (const [name, state, event, effects] of rows) {
    it(name, () => {
      assert.deepEqual(syncTransition(state, event, DAY).effects, effects);
    });
  }

  it("report a 200 whose outcomes are missing or do not match the batch", () => {
    const errors = [{ ...http(200) }, ok(2)].map(
      (result) => after(sendingState("a"), answered(1, result)).lastError,
    );
    assert.deepEqual(errors, [
      "HTTP 200 without outcomes",
      "HTTP 200 with outcomes that do not match the batch",
    ]);
  });

  it("name no last record if none was in flight", () => {
    const selecting = after(initialSyncState, tick);
    const halved = after(sendingState("a", "b"), answered(1, http(422)));
    for (const state of [selecting, halved]) {
      assert.deepEqual(
        syncTransition(state, pause, DAY).effects.at(-1),
        log("sync.paused", { reason: "paused_manual", http_status: null, last_request_id: null }),
      );
    }
  });

  it("count each record once in a run that checked a suspect", () => {
    const events = [
      answered(1, http(422)),
      tick,
      answered(2, ok(2)),
      answered(3, http(422)),
      tick,
      answered(4, ok(0, 1)),
    ];
    const before = after(sendingState("a", "b", "poison"), request, ...events.slice(0, -1));
    const { effects } = syncTransition(before, events.at(-1)!, DAY);
    assert.deepEqual(effects.at(-1), {
      kind: "report_sync",
      report: { ok: true, reason: "done", message: "synced", accepted: 2, duplicates: 0, quarantined: 1 },
    });
  });
});

describe("the saved state of core/delivery/sync", () => {
  it("ignores a whoami result from before a restart, a pause, another result or another key", () => {
    const asked = after(sendingState("a"), resume);
    const rows: readonly [name: string, state: SyncState][] = [
      ["restart", after(asked, start)],
      ["pause by the operator", after(asked, pause)],
      ["pause by the cloud", after(asked, answered(1, http(401)))],
      ["first answer", after(asked, whoami(200))],
      ["another key", after(asked, paired)],
    ];
    for (const [name, state] of rows) {
      assert.deepEqual(syncTransition(state, whoami(200), DAY), { state, effects: [] }, name);
    }
  });

  it("clears the uploader's state after new credentials until that is confirmed", () => {
    assert.equal(after(sendingState("a"), paired).uploaderClearDue, true);
  });

  it("has no Retry-After after a failure without one", () => {
    const state = after({ ...sendingState("a"), notBefore: DAY + 9 }, answered(1, http(503)));
    assert.equal(state.notBefore, null);
  });
});

describe("the order of a run", () => {
  const many = Array.from({ length: 500 }, (_, at) => `r${at}`);

  it("halves a full batch, and selects the newest records before it continues", () => {
    replay(machine, sendingState(...many), [
      [1, answered(1, http(413)), ["log sync.batch_failed", "set tick 100"]],
      [2, tick, ["select_records"]],
      [2, found("r499", "newest"), ["send_batch"]],
    ]);
  });

  it("starts the next run soon after a full one, whatever its outcomes", () => {
    for (const result of [ok(500), ok(0, 500), ok(0, 0, many), ok(100, 200, many.slice(300))]) {
      const { effects } = syncTransition(sendingState(...many), answered(1, result), DAY);
      assert.deepEqual(effects.at(-1), { kind: "set_timer", timer: "tick", delayMs: DRAIN_PAUSE_MS });
    }
    const { effects } = syncTransition(sendingState(...many), answered(1, ok(0, 0, [], many)), DAY);
    assert.deepEqual(effects, [{ kind: "set_timer", timer: "tick", delayMs: 30_000 }]);
  });

  it("tries a suspect again once, and only after another record was accepted", () => {
    let state = after(
      sendingState("suspect", "refused", "taken", "last"),
      answered(1, http(422)),
      tick,
      answered(2, http(422)),
      tick,
      answered(3, http(422)),
      tick,
      answered(4, http(422)),
      tick,
    );
    const sent: (readonly string[])[] = [];
    for (const result of [ok(0, 0, ["last"]), ok(0, 0, ["refused"]), ok(1), ok(1)]) {
      const step = syncTransition(state, answered(state.batchNumber, result), DAY);
      for (const effect of step.effects) if (effect.kind === "send_batch") sent.push(effect.requestIds);
      state = step.state;
    }
    assert.deepEqual([sent, state.run], [[["refused"], ["taken"], ["suspect"]], null]);
  });

  it("postpones a suspect to a later run if nothing else was accepted", () => {
    const state = after(sendingState("suspect", "refused"), answered(1, http(422)), tick);
    const { effects } = syncTransition(
      after(state, answered(2, http(422)), tick),
      answered(3, ok(0, 0, ["refused"])),
      DAY,
    );
    assert.deepEqual(
      effects.map(({ kind }) => kind),
      ["quarantine_records", "set_timer"],
    );
  });
});
