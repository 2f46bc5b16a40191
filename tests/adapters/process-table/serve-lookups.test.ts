import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import type { LookupResponse } from "../../../adapters/process-table/lookup-port.ts";
import { serveLookups } from "../../../adapters/process-table/serve-lookups.ts";

describe("serveLookups()", () => {
  // Planted: a pause after each batch. Planted: no pause at all.
  it("pauses only after a burst of 100 ms, which idle time offsets", async (t) => {
    let nowMs = 1_000;
    t.mock.timers.enable({ apis: ["setTimeout"] });
    t.mock.method(performance, "now", () => nowMs);
    const { port1, port2 } = new MessageChannel();
    t.after(() => port1.close());
    const taken = { ms: 60 };
    serveLookups(
      port2,
      async (queries) => {
        nowMs += taken.ms;
        return queries.map(() => ({ uid: 1, process: null }));
      },
      () => {},
    );
    const answered: number[] = [];
    port1.on("message", ({ id }: LookupResponse) => answered.push(id));
    const ask = (id: number) =>
      port1.postMessage({
        id,
        queries: [{ clientAddress: null, clientPort: id, serverPort: 1, wantsProcess: false }],
      });
    const turns = async () => {
      for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    for (const id of [1, 2, 3]) {
      ask(id);
      await turns();
    }
    assert.deepEqual(answered, [1, 2]); // 120 ms were taken: a pause of 20 ms
    nowMs += 20;
    t.mock.timers.tick(20);
    await turns();
    assert.deepEqual(answered, [1, 2, 3]);
    nowMs += 1_000;
    t.mock.timers.tick(1_000);
    taken.ms = 90;
    ask(4);
    await turns();
    ask(5);
    await turns();
    assert.deepEqual(answered, [1, 2, 3, 4, 5]);
    taken.ms = 100_000; // however long a batch takes, the pause is 100 ms
    t.mock.timers.tick(100);
    await turns();
    ask(6);
    await turns();
    ask(7);
    await turns();
    assert.equal(answered.includes(7), false);
    t.mock.timers.tick(100);
    await turns();
    assert.equal(answered.includes(7), true);
  });
});
