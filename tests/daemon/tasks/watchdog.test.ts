import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createDriver } from "../../../adapters/driver/create-driver.ts";
import { createLog } from "../../../adapters/log/create-log.ts";
import { PROBE_INTERVAL_MS } from "../../../core/operations/watchdog/watchdog-machine.ts";
import { startWatchdog } from "../../../daemon/tasks/watchdog.ts";

/** A watchdog over a proxy that answers as told, at once or at the probe's time limit, and a clock that the test moves. */
function watch(answers: (probe: number) => boolean, { hangs = false } = {}) {
  const start = Date.UTC(2026, 10, 21);
  const clock = createManualClock(start);
  const probedAt: number[] = [];
  const lines: string[] = [];
  const proxy = { probes: 0, restarts: 0, replacements: 0 };
  const restartedAt: number[] = [];
  const watchdog = startWatchdog({
    createDriver,
    clock,
    log: createLog({ write: (line) => lines.push(line) }, "info", () => 0),
    proxy: {
      probe: (timeoutMs) => {
        const answer = answers((proxy.probes += 1));
        probedAt.push(clock.now() - start);
        return hangs
          ? new Promise((resolve) => clock.setTimer(timeoutMs, () => resolve(answer)))
          : Promise.resolve(answer);
      },
      restart() {
        proxy.restarts += 1;
        restartedAt.push(clock.now() - start);
      },
      replace() {
        proxy.replacements += 1;
      },
    },
  });
  return {
    watchdog,
    proxy,
    probedAt,
    restartedAt,
    events: () =>
      lines.map((line) => {
        const { event, consecutive_failures, action } = JSON.parse(line);
        return [event, consecutive_failures, action];
      }),
    async pass(probes: number) {
      const settle = async () => {
        for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      };
      await settle();
      // In steps of half a second, since an answer counts when its promise has settled.
      for (let step = 0; step < probes * 3; step += 1) {
        clock.advance(PROBE_INTERVAL_MS / 3);
        await settle();
      }
    },
  };
}

describe("startWatchdog()", () => {
  it("probes every 1.5 s and does not restart a proxy that answers", async () => {
    const { watchdog, proxy, events, pass } = watch(() => true);
    await pass(40);
    assert.deepEqual([proxy.probes, proxy.restarts, watchdog.status], [40, 0, "healthy"]);
    assert.deepEqual(events(), []);
    watchdog.stop();
    await pass(3);
    assert.equal(proxy.probes, 40);
  });

  it("logs the third consecutive failure, restarts at the fifth, three times an hour, and then replaces it", async () => {
    const { watchdog, proxy, events, pass } = watch(() => false);
    await pass(40);
    assert.deepEqual([proxy.restarts, proxy.replacements, watchdog.status], [3, 5, "exhausted"]);
    const round = [
      ["watchdog.mitm_unhealthy", 3, "watch"],
      ["watchdog.mitm_unhealthy", 5, "restart"],
    ];
    const replaced = ["watchdog.mitm_unhealthy", 5, "restarts_exhausted"];
    const watched = ["watchdog.mitm_unhealthy", 3, "watch"];
    assert.deepEqual(events(), [...round, ...round, ...round, watched, ...Array(5).fill(replaced)]);
    watchdog.stop();
  });

  it("probes a hanging proxy every 1.5 s, and restarts it after 8.5 s", async () => {
    const { watchdog, probedAt, restartedAt, pass } = watch(() => false, { hangs: true });
    await pass(6);
    assert.deepEqual(probedAt, [1_500, 3_000, 4_500, 6_000, 7_500, 9_000]);
    assert.deepEqual(restartedAt, [8_500]);
    watchdog.stop();
  });

  it("resets the failures after an answer", async () => {
    const { watchdog, proxy, events, pass } = watch((probe) => probe % 3 === 0);
    await pass(60);
    assert.deepEqual([proxy.restarts, events()], [0, []]);
    watchdog.stop();
  });
});
