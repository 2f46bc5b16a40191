import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { onNodeOnly, SUITE_TIMEOUT_MS } from "./meter-process.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

describe("[usage] estimate_missing, through the whole daemon", {
  skip: onNodeOnly,
  timeout: SUITE_TIMEOUT_MS,
}, () => {
  const rig = useSimulatedMeter("estimates", () => ["[usage]", "estimate_missing = true"]);

  async function chat(includeUsage: boolean): Promise<void> {
    const answer = await fetch(`http://127.0.0.1:${rig.meter.proxyPort}/openai/v1/chat/completions`, {
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
    await rig.meter.waitForRows(1);
    await chat(true);
    const [estimated, stated] = await rig.meter.waitForRows(2);
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
    const [estimated] = await rig.meter.rows();
    const report = await rig.meter.run(["report"]);
    assert.match(report.stdout, /\$[\d.]+ of the cost is estimated\./);
    const explained = await rig.meter.run(["explain", estimated!.requestId]);
    assert.match(explained.stdout, /input, fresh +~\d+/);
    assert.equal((await rig.meter.run(["recompute-costs"])).code, 0);
    assert.deepEqual((await rig.meter.rows())[0]?.costSource, "estimated");
  });

  it("follow `meter estimates` in the running daemon", async () => {
    const before = (await rig.meter.rows()).length;
    assert.equal((await rig.meter.run(["estimates", "off"])).code, 0);
    await chat(false);
    const unstated = (await rig.meter.waitForRows(before + 1)).at(-1);
    assert.deepEqual([unstated?.costSource, unstated?.usageExtras], ["unpriced", null]);
    const report = await rig.meter.run(["report"]);
    assert.match(report.stdout, /1 stream states no tokens, /);
    assert.equal((await rig.meter.run(["estimates", "on"])).code, 0);
    await chat(false);
    assert.equal((await rig.meter.waitForRows(before + 2)).at(-1)?.costSource, "estimated");
  });
});
