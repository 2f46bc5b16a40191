import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import type { BudgetView } from "../../daemon/budgets/budget-views.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS, waitFor } from "./meter-process.rig.ts";
import { dialProvider, type RawCall, rawCalls, receive } from "./raw-client.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

describe("a budget that blocks", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  const rig = useSimulatedMeter("budgets");

  async function begin(scenario: string, more: object = {}) {
    const call = rawCalls.anthropic?.(scenario, true) as RawCall;
    const socket = await dialProvider(rig.meter, call.host);
    const { over } = receive(socket);
    const body = JSON.stringify({ ...call.body, ...more });
    socket.write(
      `POST ${call.path} HTTP/1.1\r\nHost: ${call.host}\r\nX-Api-Key: sk-ant-api03-x\r\nConnection: close\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    return { over, socket };
  }

  const send = async (scenario: string, more?: object) =>
    (await (await begin(scenario, more)).over).bytes.toString("latin1");

  async function run(...words: string[]) {
    const { code, stdout, stderr } = await rig.meter.run(words);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  const budget = async (name: string): Promise<BudgetView> => {
    const { budgets } = JSON.parse(await run("budget", "list", "--json")) as { budgets: BudgetView[] };
    return budgets.find((each) => each.name === name) as BudgetView;
  };

  it("refuses the calls beyond it, which are records of their own, until it is lifted", async () => {
    await run("budget", "set", "few", "1 requests", "--period", "day", "--block");
    const sentBefore = rig.simulation.calls.length;
    assert.match(await send("ok"), /^HTTP\/1\.1 200/);
    await rig.meter.waitForRows(1);
    // A busy machine may decide too late; such calls are sent.
    let answer = "";
    let went = 0;
    await waitFor("a refusal", async () => {
      answer = await send("ok");
      if (answer.startsWith("HTTP/1.1 200")) went += 1;
      return !answer.startsWith("HTTP/1.1 200");
    });
    assert.match(
      answer,
      /^HTTP\/1\.1 429 .*\r\n[\s\S]*x-should-retry: false[\s\S]*"billing_error"[\s\S]*meter budget lift few --for 1h/,
    );
    assert.equal(rig.simulation.calls.length, sentBefore + 1 + went);
    const blocked = (await rig.meter.waitForRows(2 + went)).at(-1);
    assert.deepEqual(
      [blocked?.blockedBy, blocked?.costPicoUsd, blocked?.errorClass, blocked?.httpStatus, blocked?.model],
      ["few", 0n, null, null, "claude-sonnet-4-5"],
    );
    assert.equal(await rig.meter.counted("blocked"), 1);
    assert.match(await run("requests"), /blocked/);
    await run("budget", "lift", "few", "--for", "1h", "--reason", "test");
    assert.match(await send("ok"), /^HTTP\/1\.1 200/);
    await run("budget", "remove", "few");
  });

  it("refuses calls in time whatever their size is", async () => {
    await run("budget", "set", "none", "0 USD", "--block");
    for (const bytes of [100_000, 1_000_000, 2_000_000]) {
      const content = "é".repeat(bytes / 2);
      // A busy machine may decide too late; such calls are sent.
      await waitFor(`a refusal of ${bytes} bytes`, async () =>
        (await send("ok", { messages: [{ role: "user", content }] })).startsWith("HTTP/1.1 429"),
      );
    }
    await run("budget", "remove", "none");
  });

  it("of a period session refuses the calls of a program that states no session", async () => {
    const before = (await rig.meter.rows()).length;
    await run("budget", "set", "each", "1 requests", "--period", "session", "--block");
    let made = 0;
    // All calls are those of this process. A busy machine may decide too late; such calls are sent.
    const answer = await waitFor("a refusal", async () => {
      const text = await send("ok");
      await rig.meter.waitForRows(before + ++made);
      return made > 1 && !text.startsWith("HTTP/1.1 200") && text;
    });
    assert.match(answer, /^HTTP\/1\.1 429 .*\r\n[\s\S]*meter budget lift each --for 1h/);
    const rows = (await rig.meter.rows()).slice(before);
    assert.equal(new Set(rows.map(({ sessionId }) => sessionId)).size, 1);
    assert.deepEqual([rows[0]?.sessionSource, rows.at(-1)?.blockedBy], ["inferred", "each"]);
    await run("budget", "remove", "each");
  });

  it("with on_exceed = cut, ends calls in flight as each API allows once it is used up, and keeps their records", async () => {
    const set = (amount: string) =>
      run("budget", "set", "cuts", amount, "--period", "day", "--block", "--on-exceed", "cut");
    await set("1000000 USD");
    const before = (await rig.meter.rows()).length;
    const metered = await rig.meter.counted("metered");
    const open = async (api: string, scenario: string, stream: boolean) => {
      const call = rawCalls[api]?.(scenario, stream) as RawCall;
      const socket = await dialProvider(rig.meter, call.host);
      const received = receive(socket);
      const body = JSON.stringify(call.body);
      socket.write(
        `POST ${call.path} HTTP/1.1\r\nHost: ${call.host}\r\nX-Api-Key: k\r\nAuthorization: Bearer sk-x\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
      return received;
    };
    const long = "drip+events-5000";
    const calls = {
      anthropic: await open("anthropic", long, true),
      chat: await open("chat", long, true),
      responses: await open("responses", long, true),
      gemini: await open("gemini events", long, true),
      array: await open("gemini array", long, true),
      silent: await open("anthropic", "silence", false),
    };
    const count = Object.keys(calls).length;
    const streams = [calls.anthropic, calls.chat, calls.responses, calls.gemini, calls.array];
    await waitFor("all calls to be under way", async () => {
      const { calls_in_flight } = await budget("cuts");
      return calls_in_flight === count && streams.every(({ bytes }) => bytes().length > 2_000);
    });
    await set("0 USD");
    const ended = await Promise.all(Object.values(calls).map(({ over }) => over));
    const [anthropic, chat, responses, gemini, array, silent] = ended.map(({ bytes }) =>
      bytes.toString("latin1"),
    );
    const message =
      'meter: the budget \\\\?"cuts\\\\?" \\(USD 0.00\\) is used up, so this answer was cut off';
    const tail = (event: string) =>
      new RegExp(`\\n\\r?\\n.*${event}.*${message}[^\\n]*\\n\\n\\r\\n0\\r\\n\\r\\n$`, "s");
    assert.match(
      anthropic ?? "",
      tail('event: error\\ndata: {"type":"error","error":{"type":"billing_error"'),
    );
    assert.match(chat ?? "", tail('data: {"error":'));
    assert.match(responses ?? "", tail("event: response.failed"));
    assert.match(gemini ?? "", tail('data: {"error":{"code":400'));
    assert.doesNotMatch(array ?? "", /cut off|\r\n0\r\n/);
    assert.match(silent ?? "", new RegExp(`^HTTP/1.1 429 .*${message}`, "s"));
    const rows = (await rig.meter.waitForRows(before + count)).slice(before);
    assert.deepEqual(
      rows.map(({ errorClass, retryable, blockedBy }) => [errorClass, retryable, blockedBy]),
      Array.from({ length: count }, () => ["network", false, null]),
    );
    // What was used until then is known where the provider states it before the end.
    const known = rows.filter(
      ({ tokens, costPicoUsd }) => tokens.promptTokens !== null && costPicoUsd !== null,
    );
    assert.deepEqual(known.map(({ provider }) => provider).sort(), ["anthropic", "gemini", "gemini"]);
    assert.equal(await rig.meter.counted("metered"), metered + count);
    assert.match(await run("budget", "show", "cuts"), new RegExp(`ended ${count} calls in flight`));
    await run("budget", "remove", "cuts");
  });

  it("has exactly the sum of the records after the daemon was killed, and nothing in flight", async () => {
    await run("budget", "set", "wide", "1000 USD", "--period", "total", "--block");
    for (let round = 0; round < 3; round += 1) {
      const calls = await Promise.all(["ok", "ok", "silence", "silence"].map((scenario) => begin(scenario)));
      await Promise.race(calls.map(({ over }) => over));
      process.kill(rig.meter.pid, "SIGKILL");
      await rig.restart();
      for (const { socket } of calls) socket.destroy();
      await waitFor("the sum to be read", async () => (await budget("wide")).spent !== null);
      const spent = (await rig.meter.rows()).reduce((sum, { costPicoUsd }) => sum + (costPicoUsd ?? 0n), 0n);
      const view = await budget("wide");
      assert.deepEqual([view.spent, view.calls_in_flight], [`${spent}`, 0]);
      assert.match(await send("ok"), /^HTTP\/1\.1 200/);
    }
  });
});
