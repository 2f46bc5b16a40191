import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  DRAIN_PAUSE_MS,
  initialSyncState,
  type SyncEffect,
  type SyncEvent,
  type SyncReport,
  type SyncState,
  syncTransition,
} from "../../../core/sync/mod.ts";
import { DAY, replay } from "../machine-checks.ts";
import { answered, http, machine, noAnswer, ok, pausedState, sendingState, whoami } from "./sync-helpers.ts";

const tick: SyncEvent = { kind: "tick_due" };
const request: SyncEvent = { kind: "sync_requested" };
const pause: SyncEvent = { kind: "pause_requested" };
const resume: SyncEvent = { kind: "resume_requested" };
const start: SyncEvent = { kind: "started", random: 0.5 };
const paired: SyncEvent = { kind: "credentials_replaced" };

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

describe("what core/sync tells", () => {
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

  it("a 200 whose outcomes are missing or not the batch's", () => {
    const errors = [{ ...http(200) }, ok(2)].map(
      (answer) => after(sendingState("a"), answered(1, answer)).lastError,
    );
    assert.deepEqual(errors, [
      "HTTP 200 without outcomes",
      "HTTP 200 with outcomes that do not match the batch",
    ]);
  });

  it("names no last record where none was in flight", () => {
    const selecting = after(initialSyncState, tick);
    const halved = after(sendingState("a", "b"), answered(1, http(422)));
    for (const state of [selecting, halved]) {
      assert.deepEqual(
        syncTransition(state, pause, DAY).effects.at(-1),
        log("sync.paused", { reason: "paused_manual", http_status: null, last_request_id: null }),
      );
    }
  });

  it("counts each record once in a run that had to check a suspect", () => {
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

describe("what core/sync remembers", () => {
  it("takes no whoami that was asked before a restart, a pause, another answer or another key", () => {
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

  it("owes the uploader a clearing after new credentials, until that is noted", () => {
    assert.equal(after(sendingState("a"), paired).uploaderClearDue, true);
  });

  it("waits for nobody after a failure without Retry-After", () => {
    const state = after({ ...sendingState("a"), notBefore: DAY + 9 }, answered(1, http(503)));
    assert.equal(state.notBefore, null);
  });
});

describe("the order of a run", () => {
  const many = Array.from({ length: 500 }, (_, at) => `r${at}`);

  it("halves a full batch and goes on", () => {
    replay(machine, sendingState(...many), [
      [1, answered(1, http(413)), ["log sync.batch_failed", "set tick 500"]],
      [2, tick, ["send_batch"]],
    ]);
  });

  it("begins the next run soon after a full one, whatever became of its records", () => {
    for (const answer of [ok(500), ok(0, 500), ok(0, 0, many), ok(100, 200, many.slice(300))]) {
      const { effects } = syncTransition(sendingState(...many), answered(1, answer), DAY);
      assert.deepEqual(effects.at(-1), { kind: "set_timer", timer: "tick", delayMs: DRAIN_PAUSE_MS });
    }
    const { effects } = syncTransition(sendingState(...many), answered(1, ok(0, 0, [], many)), DAY);
    assert.deepEqual(effects, [{ kind: "set_timer", timer: "tick", delayMs: 30_000 }]);
  });

  it("tries a suspect again once, and only after another record was taken", () => {
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
    for (const answer of [ok(0, 0, ["refused"]), ok(1), ok(1), ok(1)]) {
      const step = syncTransition(state, answered(state.batchNumber, answer), DAY);
      for (const effect of step.effects) if (effect.kind === "send_batch") sent.push(effect.requestIds);
      state = step.state;
    }
    assert.deepEqual([sent, state.run], [[["taken"], ["last"], ["suspect"]], null]);
  });

  it("gives a suspect up for this run where nothing else was taken", () => {
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
