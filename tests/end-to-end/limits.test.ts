import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readToken } from "../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../cli/daemon/loopback-client.ts";
import type { LimitView } from "../../daemon/limits/limit-views.ts";
import { onNodeOnly, readStore, SUITE_TIMEOUT_MS } from "./meter-process.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";
import { createClaude } from "./witnesses.rig.ts";

describe("limits and witnesses, through the whole daemon", {
  skip: onNodeOnly,
  timeout: SUITE_TIMEOUT_MS,
}, () => {
  const rig = useSimulatedMeter("limits", () => ["[telemetry]", "receive = true"]);
  const user = mkdtempSync(join(tmpdir(), "meter-user-"));
  after(() => rmSync(user, { recursive: true, force: true }));

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
  });

  it("compares what the proxy, the log and the client say, and explains each difference", async () => {
    const before = (await rig.meter.rows()).length;
    const claude = createClaude(() => rig.meter, user);
    const call = async (session: string, text: string) => {
      const answer = await claude.call(session, text);
      assert.ok(answer !== null, text);
      return answer;
    };
    const sessions = [1, 2, 3, 4, 5].map((n) => `5e55000${n}-0000-4000-8000-000000000000`);
    const [all, bypass, counter, quiet, early] = sessions as [string, string, string, string, string];

    const json = await call(all, "one");
    claude.log(all, json);
    await claude.report(all, json);
    const protobuf = await call(all, "two. scenario: cached");
    claude.log(all, protobuf);
    await claude.report(all, protobuf, { isProtobuf: true });
    await claude.report(all, await call(all, "a title"), { source: "generate_session_title" });
    assert.equal(await claude.call(all, "three. scenario: rate-limit+once"), null);
    const repeated = await call(all, "three. scenario: rate-limit+once");
    claude.log(all, repeated);
    await claude.report(all, repeated);
    await claude.abort(all, "scenario: drip+events-2000");
    // A version that wrote counts from before the response ended: a line without counts, and one with too few.
    claude.log(all, { id: "msg_01placeholder", model: "claude-sonnet-4-5", usage: {} });
    const faulty = await call(all, "four. scenario: thinking");
    claude.log(all, faulty, { output: 1 });
    await claude.report(all, faulty);

    const around = { ...json, id: "msg_01bypass", usage: { input_tokens: 77, output_tokens: 5 } };
    claude.log(bypass, around);
    await claude.report(bypass, around);
    claude.log(early, { ...around, id: "msg_01early" }, { at: Date.now() - 86_400_000 });
    claude.log(quiet, await call(quiet, "five"));
    const counted = await call(counter, "six");
    claude.log(counter, counted);
    await claude.reportTotal(counter, counted.model, 123_456, Date.now() - 3 * 86_400_000);
    await rig.meter.waitForRows(before + 9);

    const compared = await rig.meter.run(["reconcile", "logs", "--json"], { env: { HOME: user } });
    const { days, unexplained } = JSON.parse(compared.stdout) as {
      readonly unexplained: number;
      readonly days: readonly {
        readonly session: string;
        readonly agreed: number;
        readonly differences: readonly Record<string, unknown>[];
      }[];
    };
    const found = days.map(({ session, agreed, differences }) => [
      session,
      agreed,
      ...differences
        .map(({ witness, kind, reason, calls }) => `${witness} ${kind} ${reason} ${calls ?? "sum"}`)
        .sort(),
    ]);
    assert.deepEqual(found.sort(), [
      [
        all,
        3,
        "client missing aborted 1",
        "client missing retry 1",
        "log differs log_fault 1",
        "log missing aborted 1",
        "log missing helper_call 1",
        "log missing retry 1",
      ],
      [bypass, 0, "wire missing bypass 1"],
      [counter, 1, "client differs cumulative_counter sum"],
      [quiet, 0, "client missing not_exported 1"],
      [early, 0, "client missing not_exported 1", "wire missing before_install 1"],
    ]);
    assert.deepEqual([unexplained, compared.code], [0, 0]);
    const shown = await rig.meter.run(["reconcile", "logs"], { env: { HOME: user } });
    assert.match(
      shown.stdout,
      /^4 of 11 calls agree\. 5 of 5 sessions differ, and every difference has a known reason\.\n/,
    );
    const csv = await rig.meter.run(["reconcile", "logs", "--csv", "--session", "5e550004"], {
      env: { HOME: user },
    });
    assert.match(
      csv.stdout,
      /^day,session_id,[^\n]+\r\n[\d-]+,5e550004-0000-4000-8000-0{12},claude,client,missing,not_exported,wire log,1,/,
    );
    const status = await rig.meter.run(["status"]);
    assert.match(
      status.stdout,
      /^telemetry http:\/\/127\.0\.0\.1:\d+\/otlp {2}\(last report just now from claude\)$/m,
    );
    // An import in between changes nothing: what it matched and stored is the same evidence.
    assert.equal((await rig.meter.run(["import", "claude"], { env: { HOME: user } })).code, 0);
    const again = await rig.meter.run(["reconcile", "logs", "--json"], { env: { HOME: user } });
    assert.deepEqual((JSON.parse(again.stdout) as { days: unknown }).days, days);
    await readStore(rig.meter.home, ({ clientReports }) => {
      const reports = clientReports.read({ from: null, to: null });
      assert.equal(reports.length, 7);
      assert.ok(
        !reports.some((report) => Object.values(report).some((value) => `${value}`.includes("prompt"))),
      );
    });
  });

  it("still shows the stored limits after the daemon has stopped", async () => {
    await rig.meter.stop();
    const neutral = await rig.meter.run(["statusline"]);
    assert.deepEqual([neutral.code, neutral.stdout], [0, "meter is not running\n"]);
    const stored = await rig.meter.run(["limits", "--json"]);
    assert.match(stored.stdout, /"used_percent": 81,/);
  });
});
