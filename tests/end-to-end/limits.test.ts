import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readToken } from "../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../cli/daemon/loopback-client.ts";
import type { LimitView } from "../../daemon/limits/limit-views.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS } from "./meter-process.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

describe("limits, through the whole daemon", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  const rig = useSimulatedMeter("limits");

  async function call(usedPercent: number): Promise<void> {
    const answer = await fetch(`http://127.0.0.1:${rig.meter.proxyPort}/anthropic/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer sk-ant-oat01-secret" },
      body: JSON.stringify({
        model: "claude-sonnet-4-5",
        max_tokens: 9,
        messages: [{ role: "user", content: `Hello. scenario: used-${usedPercent}` }],
      }),
    });
    await answer.text();
  }

  const readLimits = async () => {
    const answer = await requestDaemon(rig.meter.apiPort, "/v1/limits", readToken(rig.meter.home));
    return (JSON.parse(answer.body) as { limits: LimitView[] }).limits;
  };

  it("shows what the responses of a subscription state, and warns", async () => {
    await call(62);
    await call(81);
    await rig.meter.waitForRows(2);
    const windows = (await readLimits()).filter(({ unit }) => unit === "share");
    assert.deepEqual(
      windows.map(({ provider, window, used_percent, level, status }) => [
        ...[provider, window, used_percent, level, status],
      ]),
      [
        ["anthropic", "5h", 81, "warning", "warning"],
        ["anthropic", "7d", 25, "ok", "allowed"],
      ],
    );
    const [{ account, resets_at }] = windows as [LimitView];
    assert.match(account ?? "", /^[0-9a-f]{16}$/);
    assert.ok(Date.parse(resets_at ?? "") > Date.now());
    const warnings = rig.meter.log().filter(({ event }) => event === "limit.warning");
    assert.deepEqual(
      warnings.map(({ severity, window, used_percent, provider }) => [
        severity,
        window,
        used_percent,
        provider,
      ]),
      [["warning", "5h", 81, "anthropic"]],
    );
    assert.ok(!JSON.stringify(rig.meter.log()).includes("secret"));
    const listed = await rig.meter.run(["limits"]);
    assert.match(listed.stdout, /^anthropic [0-9a-f]{6} +5h +▓{8}░{2} +81 % /m);
    const top = await rig.meter.run(["top"]);
    assert.match(
      top.stdout,
      /2 calls today[\s\S]* 0 in flight[\s\S]*\nanthropic [0-9a-f]{6} +5h +▓{8}░{2} +81 % /,
    );
    const statusline = await rig.meter.run(["statusline"]);
    assert.match(statusline.stdout, /^today \$[0-9.<]+ plan · .*5h 81% → \d\d:\d\d · 7d 25% → [^\n]*\n$/);
    await rig.meter.stop();
    const neutral = await rig.meter.run(["statusline"]);
    assert.deepEqual([neutral.code, neutral.stdout], [0, "meter is not running\n"]);
    const stored = await rig.meter.run(["limits", "--json"]);
    assert.match(stored.stdout, /"used_percent": 81,/);
  });
});
