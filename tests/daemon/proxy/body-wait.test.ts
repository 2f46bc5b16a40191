import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import {
  type BodyWait,
  MAX_BODY_PAUSE_MS,
  MAX_BODY_WAIT_MS,
  startBodyWait,
} from "../../../daemon/proxy/body-wait.ts";

describe("startBodyWait()", () => {
  beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
  afterEach(() => mock.timers.reset());

  const turn = () => new Promise((resolve) => setImmediate(resolve));

  function start() {
    let calls = 0;
    const wait: BodyWait = startBodyWait(() => {
      calls += 1;
    });
    return { wait, calls: () => calls };
  }

  it("ends when the body pauses", async () => {
    const { calls } = start();
    mock.timers.tick(MAX_BODY_PAUSE_MS - 1);
    await turn();
    assert.equal(calls(), 0);
    mock.timers.tick(1);
    await turn();
    assert.equal(calls(), 1);
    mock.timers.tick(MAX_BODY_WAIT_MS);
    assert.equal(calls(), 1);
  });

  it("continues while bytes arrive, up to a limit", () => {
    const { wait, calls } = start();
    for (
      let waitedMs = 0;
      waitedMs + MAX_BODY_PAUSE_MS - 1 < MAX_BODY_WAIT_MS;
      waitedMs += MAX_BODY_PAUSE_MS - 1
    ) {
      mock.timers.tick(MAX_BODY_PAUSE_MS - 1);
      assert.equal(calls(), 0);
      wait.arrived();
    }
    mock.timers.tick(MAX_BODY_PAUSE_MS - 1);
    assert.equal(calls(), 1);
    wait.arrived();
    mock.timers.tick(MAX_BODY_WAIT_MS);
    assert.equal(calls(), 1);
  });

  it("does not end if bytes are read in the turn in which the timer ends", async () => {
    const { wait, calls } = start();
    mock.timers.tick(MAX_BODY_PAUSE_MS);
    wait.arrived();
    await turn();
    assert.equal(calls(), 0);
    mock.timers.tick(MAX_BODY_PAUSE_MS);
    await turn();
    assert.equal(calls(), 1);
  });

  it("never ends once it was ended", () => {
    const { wait, calls } = start();
    wait.end();
    wait.arrived();
    mock.timers.tick(MAX_BODY_WAIT_MS);
    assert.equal(calls(), 0);
  });
});
