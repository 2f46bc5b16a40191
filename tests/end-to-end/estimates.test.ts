import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  createParentProxy,
  createProviderSimulation,
  type ParentProxy,
  type ProviderSimulation,
} from "../simulation/mod.ts";
import {
  createHome,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  startMeter,
} from "./meter-process.rig.ts";

describe("[usage] estimate_missing, through the whole daemon", {
  skip: onNodeOnly,
  timeout: SUITE_TIMEOUT_MS,
}, () => {
  let simulation: ProviderSimulation;
  let parent: ParentProxy;
  let meter: MeterProcess;

  before(async () => {
    simulation = await createProviderSimulation({ seed: "estimates" });
    parent = await createParentProxy(simulation);
    const more = ["[usage]", "estimate_missing = true"];
    meter = await startMeter(createHome([...simulationConfig(parent, simulation), ...more]));
  });
  after(async () => {
    await meter?.stop();
    await parent?.close();
    await simulation?.close();
    if (meter !== undefined) removeHome(meter.home);
  });

  async function chat(includeUsage: boolean): Promise<void> {
    const answer = await fetch(`http://127.0.0.1:${meter.proxyPort}/openai/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: "gpt-5-mini",
        stream: true,
        ...(includeUsage && { stream_options: { include_usage: true } }),
        messages: [{ role: "user", content: "Say it again, Sam. scenario: events-50" }],
      }),
    });
    await answer.text();
  }

  it("adds marked estimates to a stream without usage, and changes no reported usage", async () => {
    await chat(false);
    await meter.waitForRows(1);
    await chat(true);
    const [estimated, stated] = await meter.waitForRows(2);
    assert.deepEqual([estimated?.costSource, estimated?.tokensComplete], ["estimated", false]);
    assert.deepEqual(estimated?.usageExtras, { estimated_input: 1, estimated_output: 1 });
    const { promptTokens, completionTokens } = estimated!.tokens;
    assert.ok(promptTokens !== null && promptTokens > 8 && promptTokens < 25, `${promptTokens}`);
    assert.ok(
      completionTokens !== null && completionTokens > 45 && completionTokens < 150,
      `${completionTokens}`,
    );
    assert.deepEqual([stated?.costSource, stated?.tokensComplete], ["computed", true]);
  });

  it("shows estimates separately, and recomputing keeps them as estimates", async () => {
    const [estimated] = await meter.rows();
    const report = await meter.run(["report"]);
    assert.match(report.stdout, /\$[\d.]+ of the cost is estimated\./);
    const explained = await meter.run(["explain", estimated!.requestId]);
    assert.match(explained.stdout, /input, fresh +~\d+/);
    assert.equal((await meter.run(["recompute-costs"])).code, 0);
    assert.deepEqual((await meter.rows())[0]?.costSource, "estimated");
  });

  it("follow `meter estimates` in the running daemon", async () => {
    const before = (await meter.rows()).length;
    assert.equal((await meter.run(["estimates", "off"])).code, 0);
    await chat(false);
    const unstated = (await meter.waitForRows(before + 1)).at(-1);
    assert.deepEqual([unstated?.costSource, unstated?.usageExtras], ["unpriced", null]);
    const report = await meter.run(["report"]);
    assert.match(report.stdout, /1 stream states no tokens, /);
    assert.equal((await meter.run(["estimates", "on"])).code, 0);
    await chat(false);
    assert.equal((await meter.waitForRows(before + 2)).at(-1)?.costSource, "estimated");
  });
});
