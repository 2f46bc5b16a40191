import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../adapters/clock/mod.ts";
import { createDriver } from "../../adapters/driver/mod.ts";
import { createLog } from "../../adapters/log/mod.ts";
import { PROBE_INTERVAL_MS } from "../../core/watchdog/mod.ts";
import { startWatchdog } from "../../daemon/watchdog.ts";

/** A watchdog over a proxy that answers as told, and a clock that the test moves. */
function watch(answers: (probe: number) => boolean) {
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const lines: string[] = [];
  const proxy = { probes: 0, restarts: 0 };
  const watchdog = startWatchdog({
    createDriver,
    clock,
    log: createLog({ write: (line) => lines.push(line) }, "info", () => 0),
    proxy: {
      probe: () => Promise.resolve(answers((proxy.probes += 1))),
      restart: () => void (proxy.restarts += 1),
    },
  });
  return {
    watchdog,
    proxy,
    events: () =>
      lines.map((line) => {
        const { event, consecutive_failures, action } = JSON.parse(line);
        return [event, consecutive_failures, action];
      }),
    async pass(probes: number) {
      for (let probe = 0; probe < probes; probe += 1) {
        // The answer of one probe sets the timer of the next.
        for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
        clock.advance(PROBE_INTERVAL_MS);
      }
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    },
  };
}

describe("startWatchdog()", () => {
  it("probes every 1.5 s and leaves a proxy alone that answers", async () => {
    const { watchdog, proxy, events, pass } = watch(() => true);
    await pass(40);
    assert.deepEqual([proxy.probes, proxy.restarts, watchdog.status], [40, 0, "healthy"]);
    assert.deepEqual(events(), []);
    watchdog.stop();
    await pass(3);
    assert.equal(proxy.probes, 40);
  });

  it("logs the third failure in a row, restarts at the fifth, three times an hour, and says that it gave up", async () => {
    const { watchdog, proxy, events, pass } = watch(() => false);
    await pass(40);
    assert.deepEqual([proxy.restarts, watchdog.status], [3, "exhausted"]);
    const round = [
      ["watchdog.mitm_unhealthy", 3, "watch"],
      ["watchdog.mitm_unhealthy", 5, "restart"],
    ];
    const last = [
      ["watchdog.mitm_unhealthy", 3, "watch"],
      ["watchdog.mitm_unhealthy", 5, "restarts_exhausted"],
    ];
    assert.deepEqual(events(), [...round, ...round, ...round, ...last]);
    watchdog.stop();
  });

  it("forgives failures that an answer interrupts", async () => {
    const { watchdog, proxy, events, pass } = watch((probe) => probe % 3 === 0);
    await pass(60);
    assert.deepEqual([proxy.restarts, events()], [0, []]);
    watchdog.stop();
  });
});
