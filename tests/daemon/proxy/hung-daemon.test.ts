import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { watchHungDaemon } from "../../../daemon/proxy/hung-daemon.ts";

/** A watch of a daemon that may hang for ten seconds. Each check comes a second after the one before, unless it is late. */
function createWatch() {
  const facts = { now: 0, canRun: true, ends: 0 };
  const watch = watchHungDaemon({
    mayHangMs: 10_000,
    now: () => facts.now,
    canRun: () => facts.canRun,
    end: () => void (facts.ends += 1),
  });
  const check = (times: number, afterMs = 1_000) => {
    for (let n = 0; n < times; n += 1) {
      facts.now += afterMs;
      watch.check();
    }
  };
  return { facts, watch, check };
}

describe("watchHungDaemon()", () => {
  it("ends a daemon that was silent for the time", () => {
    const { facts, watch, check } = createWatch();
    assert.equal(watch.checkEveryMs, 1_000);
    check(10);
    assert.equal(facts.ends, 0);
    check(1);
    assert.equal(facts.ends, 1);
  });

  it("begins again with each message, and while the daemon could not run", () => {
    const { facts, watch, check } = createWatch();
    check(10);
    watch.heard();
    check(10);
    facts.canRun = false;
    check(20);
    facts.canRun = true;
    check(10);
    assert.equal(facts.ends, 0);
    check(1);
    assert.equal(facts.ends, 1);
  });

  it("begins again if its own check is late", () => {
    const { facts, check } = createWatch();
    check(10);
    check(1, 2_001);
    check(10);
    assert.equal(facts.ends, 0);
  });
});
