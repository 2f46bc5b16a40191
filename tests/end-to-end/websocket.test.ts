import assert from "node:assert/strict";
import { once } from "node:events";
import process from "node:process";
import { describe, it } from "node:test";
import { WebSocket } from "ws";
import { expectedRow, inOrder, toComparable } from "./expected-rows.rig.ts";
import { meterWords, onNodeOnly, runProgram, SUITE_TIMEOUT_MS } from "./meter-process.rig.ts";
import { dialProvider } from "./raw-client.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

/** Makes two requests over Node's own WebSocket, which offers compression, and exits. */
const nodeClient = `
const socket = new WebSocket(process.argv[1]);
let answers = 0;
socket.onerror = (event) => { console.error(event.message ?? event); process.exit(1); };
socket.onopen = () => socket.send(JSON.stringify({ type: "response.create", response: { instructions: "scenario: cached" } }));
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.type !== "response.done") return;
  if (++answers === 1) socket.send(JSON.stringify({ type: "response.create", response: { instructions: "again" } }));
  else socket.close(1000);
};
socket.onclose = ({ code }) => { console.log(socket.extensions, code); process.exit(0); };
`;

describe("WebSocket sessions through the whole daemon", {
  skip: onNodeOnly,
  timeout: SUITE_TIMEOUT_MS,
}, () => {
  const rig = useSimulatedMeter("sessions");
  let seen = 0;

  /** Opens a session through the proxy, as an application does. */
  async function open(path: string): Promise<WebSocket> {
    const socket = await dialProvider(rig.meter, "api.openai.com");
    const client = new WebSocket(`ws://api.openai.com${path}`, { createConnection: () => socket });
    await once(client, "open");
    return client;
  }

  /** Sends a request and returns the types of the events up to the last one. */
  function ask(client: WebSocket, message: object, ends: RegExp): Promise<string[]> {
    const types: string[] = [];
    return new Promise((resolve, reject) => {
      const take = (data: unknown) => {
        const { type } = JSON.parse(String(data)) as { type: string };
        types.push(type);
        if (!ends.test(type)) return;
        client.off("message", take).off("close", reject);
        resolve(types);
      };
      client.on("message", take).on("close", reject);
      client.send(JSON.stringify({ type: "response.create", ...message }));
    });
  }

  /** Returns the rows since the last call after comparing them with the provider's calls since then. */
  async function assertRows() {
    const entries = rig.simulation.calls.slice(seen);
    const rows = (await rig.meter.waitForRows(rig.simulation.calls.length)).slice(seen);
    seen += rows.length;
    assert.deepEqual(inOrder(rows.map(toComparable)), inOrder(entries.map(expectedRow)));
    return rows;
  }

  for (const deflate of ["none", "shared", "apart"]) {
    const query = deflate === "none" ? "" : `&deflate=${deflate}`;

    it(`meters each response of Realtime, with compression: ${deflate}`, async () => {
      const client = await open(`/v1/realtime?model=gpt-realtime${query}`);
      assert.equal(client.extensions.includes("permessage-deflate"), deflate !== "none");
      for (const scenario of ["cached", "ok", "cached", "events-40"]) {
        const types = await ask(
          client,
          { response: { instructions: `scenario: ${scenario}` } },
          /^response\.done$/,
        );
        assert.ok(types.includes("response.created"));
      }
      client.close();
      await once(client, "close");
      const rows = await assertRows();
      assert.equal(rows.length, 4);
      for (const row of rows) {
        assert.deepEqual([row.provider, row.model, row.streaming], ["openai", "gpt-realtime", true]);
        assert.equal(row.costSource, "computed");
        assert.ok(row.ttfbMs !== null && row.ttfbMs <= row.latencyMs);
      }
    });

    it(`meters each response of Responses, with compression: ${deflate}`, async () => {
      const client = await open(`/v1/responses?x=1${query}`);
      for (const scenario of ["thinking", "cached+tools", "incomplete", "flex"]) {
        await ask(
          client,
          { model: "gpt-5", input: `scenario: ${scenario}` },
          /^response\.(completed|incomplete)$/,
        );
      }
      client.close();
      await once(client, "close");
      const rows = await assertRows();
      assert.equal(rows.length, 4);
      assert.ok(rows.every(({ promptHash }) => /^[0-9a-f]{64}$/.test(promptHash ?? "")));
      assert.ok(rows.every(({ requestedModel }) => requestedModel === "gpt-5"));
    });
  }

  it("classifies a refusal, and continues the session", async () => {
    const client = await open("/v1/responses");
    await ask(client, { model: "gpt-5", input: "scenario: rate-limit" }, /^error$/);
    await ask(client, { model: "gpt-5", input: "scenario: ok" }, /^response\.completed$/);
    client.close();
    const [refused, answered] = await assertRows();
    assert.deepEqual([refused?.errorClass, refused?.retryable], ["rate_limit", true]);
    assert.equal(answered?.errorClass, null);
  });

  it("records a response that the provider broke off", async () => {
    const client = await open("/v1/responses");
    client.on("error", () => {});
    client.send(JSON.stringify({ type: "response.create", model: "gpt-5", input: "scenario: cut" }));
    await once(client, "close");
    const [row] = (await rig.meter.waitForRows(seen + 1)).slice(seen);
    seen += 1;
    assert.deepEqual(
      [row?.httpStatus, row?.errorClass, row?.tokensComplete, row?.tokens.promptTokens, row?.costPicoUsd],
      [101, "network", false, null, null],
    );
    assert.equal(row?.requestedModel, "gpt-5");
  });

  it("meters Node's WebSocket under meter run", async () => {
    const url = "wss://api.openai.com/v1/realtime?model=gpt-realtime&deflate=shared";
    const client = [process.execPath, "--input-type=module", "-e", nodeClient, url];
    const { code, stdout, stderr } = await runProgram(
      [...meterWords, "run", "--project", "voice", "--", ...client],
      {
        env: { METER_HOME: rig.meter.home },
      },
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^permessage-deflate.* 1000\n$/);
    const rows = await assertRows();
    assert.deepEqual(
      rows.map(({ project, client }) => [project, client]),
      [
        ["voice", "node"],
        ["voice", "node"],
      ],
    );
  });

  it("counts each response once, and no session as unread", async () => {
    assert.equal(await rig.meter.counted("metered"), seen);
    for (const kind of ["websocket", "unreadable", "free", "capture_failed", "repeated"] as const) {
      assert.equal(await rig.meter.counted(kind), 0, kind);
    }
  });
});
