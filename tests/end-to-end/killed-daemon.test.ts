import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import type { BudgetView } from "../../daemon/budgets/budget-views.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS, waitFor } from "./meter-process.rig.ts";
import { dialProvider, type RawCall, rawCalls, writeRequest } from "./raw-client.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

const random = createSeededRandom("killed daemon");

describe("a daemon killed in the middle of a call", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  const rig = useSimulatedMeter("killed daemon");

  async function begin(scenario: string) {
    const call = rawCalls.anthropic?.(scenario, true) as RawCall;
    const socket = await dialProvider(rig.meter, call.host);
    socket.on("error", () => {}).resume();
    socket.write(writeRequest(call, true, random));
    return socket;
  }

  it("leaves only that call in the coverage", async () => {
    await begin("ok");
    await rig.meter.waitForRows(1);
    await waitFor("nothing to be under way", async () => (await rig.meter.counted("unfinished")) === 0);
    await begin("silence");
    await waitFor("the call to be counted", async () => (await rig.meter.counted("unfinished")) === 1);
    process.kill(rig.meter.pid, "SIGKILL");
    await rig.restart();
    assert.equal((await rig.meter.rows()).length, 1);
    assert.equal(await rig.meter.counted("unfinished"), 1);
    const { stdout } = await rig.meter.run(["status"]);
    assert.match(stdout, /Metering coverage: 50 % \(1 of 2 /);
    assert.match(stdout, /not metered: 1 call without a record: in progress/);
  });

  it("differs from a stopped one, which leaves no call in the coverage", async () => {
    const left = await rig.meter.counted("unfinished");
    const socket = await begin("silence");
    await waitFor("the call to be counted", async () => (await rig.meter.counted("unfinished")) === left + 1);
    socket.abort();
    await waitFor("its end to be counted", async () => (await rig.meter.counted("unfinished")) === left);
    await rig.restart();
    assert.equal(await rig.meter.counted("unfinished"), left);
  });

  /** What `meter budget list` states, and the sum of the records that it should be. */
  async function readSpent() {
    const { stdout } = await rig.meter.run(["budget", "list", "--json"]);
    const [budget] = (JSON.parse(stdout) as { budgets: BudgetView[] }).budgets;
    const rows = await rig.meter.rows();
    const stored = rows.reduce((sum, { costPicoUsd }) => sum + (costPicoUsd ?? 0n), 0n);
    return { spent: budget?.spent, inFlight: budget?.in_flight, stored: `${stored}`, count: rows.length };
  }

  async function call(): Promise<void> {
    const answer = await fetch(`http://127.0.0.1:${rig.meter.proxyPort}/anthropic/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": "sk-ant-api03-secret" },
      body: JSON.stringify({
        model: "claude-sonnet-4-5",
        max_tokens: 9,
        messages: [{ role: "user", content: "Hello" }],
      }),
    });
    await answer.text();
  }

  it("has exact sums of budgets, under concurrency and after it was killed, and warns once", async () => {
    const { stdout } = await rig.meter.run(["budget", "set", "tiny", "0.000001 USD", "--period", "total"]);
    assert.match(stdout, /^Set tiny: 0\.000001 USD in total, all calls, warns only\.$/m);
    const before = (await rig.meter.rows()).length;
    await Promise.all(Array.from({ length: 40 }, call));
    await rig.meter.waitForRows(before + 40);
    const sums = await readSpent();
    assert.equal(sums.spent, sums.stored);
    assert.ok(BigInt(sums.stored) > 0n);
    const storm = Promise.allSettled(Array.from({ length: 40 }, call));
    await rig.meter.waitForRows(before + 45);
    process.kill(rig.meter.pid, "SIGKILL");
    await storm;
    await rig.restart();
    const after = await readSpent();
    assert.equal(after.spent, after.stored);
    assert.equal(after.inFlight, "0");
    assert.ok(after.count >= before + 45);
    const warnings = rig.meter.log().filter(({ event }) => String(event).startsWith("budget."));
    assert.deepEqual(
      warnings.map(({ event, budget }) => [event, budget]),
      [["budget.exceeded", "tiny"]],
    );
  });
});
