import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import type { Log } from "../../../core/ports/log.ts";
import { startHeartbeat } from "../../../daemon/tasks/heartbeat.ts";

describe("startHeartbeat()", () => {
  it("logs every 30 s, continues after a failure to read the fields, and stops", () => {
    const clock = createManualClock(0);
    const logged: [string, Readonly<Record<string, unknown>>][] = [];
    const write = (event: string, fields: object) => void logged.push([event, { ...fields }]);
    const log: Log = { debug: write, info: write, warn: write, error: write };
    let beats = 0;
    const stop = startHeartbeat({ clock, log }, () => {
      beats += 1;
      if (beats === 2) throw new RangeError("no pulse");
      return { records: 5, pending: 1, connections: 2 };
    });
    clock.advance(29_999);
    assert.equal(logged.length, 0);
    clock.advance(1 + 60_000);
    assert.deepEqual(
      logged.map(([event]) => event),
      ["daemon.heartbeat", "daemon.task_crashed", "daemon.heartbeat"],
    );
    const [, fields] = logged[0] ?? [];
    assert.deepEqual({ ...fields, uptime_ms: 0 }, { uptime_ms: 0, records: 5, pending: 1, connections: 2 });
    assert.deepEqual(logged[1]?.[1], {
      ...{ task: "heartbeat", error: "RangeError", message: "no pulse" },
      restart_delay_ms: 30_000,
    });
    stop();
    clock.advance(90_000);
    assert.equal(logged.length, 3);
  });
});
