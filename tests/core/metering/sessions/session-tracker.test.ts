import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readCallIdentity } from "../../../../core/metering/sessions/call-identity.ts";
import {
  createSessionTracker,
  MAX_TRACKED,
  SESSION_GAP_MS,
} from "../../../../core/metering/sessions/session-tracker.ts";

const child = (own: string, parent: string) =>
  readCallIdentity({
    headers: [
      ["x-session-id", own],
      ["x-parent-session-id", parent],
    ],
    body: null,
  });

describe("createSessionTracker().resolve()", () => {
  it("finds the session of a sub-agent's sub-agents", () => {
    const tracker = createSessionTracker();
    const ids = ([own, parent]: readonly [string, string]) => {
      const { sessionId, agentId, parentAgentId } = tracker.resolve(child(own, parent));
      return [sessionId, agentId, parentAgentId];
    };
    assert.deepEqual(ids(["b", "a"]), ["a", "b", null]);
    assert.deepEqual(ids(["c", "b"]), ["a", "c", "b"]);
    assert.deepEqual(ids(["d", "c"]), ["a", "d", "c"]);
    assert.deepEqual(ids(["b", "a"]), ["a", "b", null]);
    assert.deepEqual(ids(["y", "x"]), ["x", "y", null]);
  });

  it("does not change an identity without a parent session, or whose sessions name each other", () => {
    const tracker = createSessionTracker();
    const main = readCallIdentity({ headers: [["x-session-id", "a"]], body: null });
    assert.equal(tracker.resolve(main), main);
    tracker.resolve(child("b", "a"));
    const circular = child("a", "b");
    assert.equal(tracker.resolve(circular), circular);
  });
});

describe("createSessionTracker().infer()", () => {
  const call = (process: string, requestId: string, startedAt: number, tookMs = 1_000) => ({
    process,
    requestId,
    startedAt,
    endedAt: startedAt + tookMs,
  });

  it("continues a process's session until a pause, and names it after its first call", () => {
    const { infer } = createSessionTracker();
    assert.equal(infer(call("40", "r1", 0)), "r1");
    assert.equal(infer(call("40", "r2", 1_000 + SESSION_GAP_MS)), "r1");
    assert.equal(infer(call("41", "r3", 5_000)), "r3");
    assert.equal(infer(call("40", "r4", 2_001 + 2 * SESSION_GAP_MS)), "r4");
    assert.equal(infer(call("41", "r5", 6_000)), "r3");
  });

  it("measures the pause from the end of the longest call", () => {
    const { infer } = createSessionTracker();
    infer(call("40", "r1", 0, SESSION_GAP_MS));
    assert.equal(infer(call("40", "r2", 10, 10)), "r1");
    assert.equal(infer(call("40", "r3", 2 * SESSION_GAP_MS)), "r1");
  });

  it("forgets the process that called least recently if there are too many", () => {
    const { infer } = createSessionTracker();
    infer(call("first", "r-first", 0));
    infer(call("second", "r-second", 0));
    infer(call("first", "r-again", 1));
    for (let at = 0; at < MAX_TRACKED - 1; at += 1) infer(call(`p${at}`, `r${at}`, 2));
    assert.equal(infer(call("first", "r-new", 3)), "r-first");
    assert.equal(infer(call("second", "r-new", 3)), "r-new");
  });
});

describe("createSessionTracker().begin()", () => {
  it("returns the session that the records of the process get, and creates an id only for a new one", () => {
    const { begin, infer } = createSessionTracker();
    const none = (): string => assert.fail("an id was created");
    assert.equal(
      begin({ process: "40", startedAt: 0 }, () => "new"),
      "new",
    );
    assert.equal(begin({ process: "40", startedAt: 1 }, none), "new");
    assert.equal(infer({ process: "40", requestId: "r1", startedAt: 0, endedAt: 5_000 }), "new");
    assert.equal(begin({ process: "40", startedAt: 5_000 + SESSION_GAP_MS }, none), "new");
    const later = 5_001 + 2 * SESSION_GAP_MS;
    assert.equal(
      begin({ process: "40", startedAt: later }, () => "later"),
      "later",
    );
  });
});
