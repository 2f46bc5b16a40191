import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, it } from "node:test";
import { createRedact } from "../../../core/privacy/redaction/redact.ts";
import type { CallAttribution } from "../../../daemon/capture/ports.ts";
import { frameBytes } from "../../core/metering/exchange/websocket-frames.rig.ts";
import { type CaptureRig, createCaptureRig, rigStart } from "./capture.rig.ts";

const host = "api.anthropic.com";
const SESSION = "5e550001-0000-4000-8000-000000000000";
const answer = JSON.stringify({
  type: "message",
  model: "claude-sonnet-4-5",
  usage: { input_tokens: 1, output_tokens: 1 },
});

const known: CallAttribution = {
  project: "rig",
  tier: "git_root",
  workdir: "/w",
  client: "node",
  bodyCaptureRefused: true,
};

/** Makes one call on a connection of its own. */
function callOnce(rig: CaptureRig, headers: string, body: object = {}, atMs = 0): void {
  const sent = JSON.stringify({ model: "claude-sonnet-4-5", messages: [], ...body });
  const connection = rig.connect(host);
  connection.pass(
    "request",
    `POST /v1/messages HTTP/1.1\r\nHost: ${host}\r\n${headers}Content-Length: ${Buffer.byteLength(sent)}\r\n\r\n${sent}`,
    atMs,
  );
  connection.pass(
    "response",
    `HTTP/1.1 200 OK\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`,
    atMs + 10,
  );
}

const ids = (rig: CaptureRig) =>
  rig.records.map(({ sessionId, sessionSource, agentId, parentAgentId }) => [
    sessionId,
    sessionSource,
    agentId,
    parentAgentId,
  ]);

describe("the session of a record", () => {
  it("is what the client states in its headers and its body", async () => {
    const rig = createCaptureRig();
    const agent = `X-Claude-Code-Session-Id: ${SESSION}\r\nx-claude-code-agent-id: a1\r\nx-claude-code-agent-type: Explore\r\n`;
    callOnce(rig, `${agent}User-Agent: claude-cli/2.1.240 (external, cli)\r\n`);
    callOnce(rig, "", { metadata: { user_id: `user_0f_account__session_${SESSION}` } });
    callOnce(rig, "User-Agent: claude-cli/2.1.70\r\n", {
      metadata: { user_id: `user_0f_account__session_${SESSION}` },
    });
    await rig.capture.settled();
    assert.deepEqual(ids(rig), [
      [SESSION, "stated", "a1", null],
      [null, null, null, null],
      [SESSION, "stated", null, null],
    ]);
    assert.deepEqual(
      rig.records.map(({ agentKind, clientVersion }) => [agentKind, clientVersion]),
      [
        ["Explore", "2.1.240"],
        [null, null],
        [null, "2.1.70"],
      ],
    );
  });

  it("is read from a body that is too large to be kept", async () => {
    const rig = createCaptureRig({ limits: { maxHeldBodyBytes: 1_000 } });
    const text = "x".repeat(100_000);
    callOnce(rig, "User-Agent: claude-cli/2.1.240\r\n", {
      messages: [{ role: "user", content: text }],
      metadata: { user_id: JSON.stringify({ session_id: SESSION }) },
    });
    await rig.capture.settled();
    assert.equal(rig.records[0]?.promptHash, null);
    assert.deepEqual(ids(rig), [[SESSION, "stated", null, null]]);
  });

  it("is the one that the user started, also for a sub-agent of a sub-agent", async () => {
    const rig = createCaptureRig();
    callOnce(rig, "x-session-id: b\r\nx-parent-session-id: a\r\n");
    callOnce(rig, "x-session-id: c\r\nx-parent-session-id: b\r\n");
    await rig.capture.settled();
    assert.deepEqual(ids(rig), [
      ["a", "stated", "b", null],
      ["a", "stated", "c", "b"],
    ]);
  });

  it("is unknown if the stated one contains a secret", async () => {
    const rig = createCaptureRig();
    const secret = createCaptureRig({
      ports: {
        bodies: {
          isEnabledAnywhere: () => false,
          isEnabledFor: () => false,
          maxBytes: 0,
          redact: createRedact(),
          add() {},
        },
      },
    });
    for (const each of [rig, secret]) {
      callOnce(each, `x-session-id: sk-proj-${"a1B2".repeat(8)}\r\n`);
      await each.capture.settled();
    }
    assert.equal(rig.records[0]?.sessionSource, "stated");
    assert.equal(secret.records[0]?.sessionId, null);
  });

  it("is inferred from the process if the client states none, until a pause", async () => {
    let processId = 40;
    let now = rigStart;
    const attribution = () => {
      const found = { ...known, processId };
      return { attribute: async () => found };
    };
    const rig = createCaptureRig({ ports: { attribution, wallClockMs: () => now } });
    for (const [process, minutes] of [
      [40, 0],
      [40, 20],
      [41, 21],
      [40, 60],
    ] as const) {
      processId = process;
      now = rigStart + minutes * 60_000;
      callOnce(rig, "");
      await rig.capture.settled();
    }
    const [first, , third, fourth] = rig.records;
    assert.deepEqual(
      rig.records.map(({ sessionId, sessionSource }) => [sessionId, sessionSource]),
      [first, first, third, fourth].map((record) => [record?.requestId, "inferred"]),
    );
  });

  it("is inferred once the caller is known, in a record that was stored before", async () => {
    const found = Promise.withResolvers<CallAttribution>();
    const attribution = () => ({
      attribute: () => found.promise,
      provisional: () => ({ ...known, workdir: null, client: null }),
    });
    const rig = createCaptureRig({ ports: { attribution } });
    callOnce(rig, "");
    callOnce(rig, "x-session-id: s1\r\n");
    await new Promise(setImmediate);
    assert.deepEqual(
      rig.records.map(({ sessionId }) => sessionId),
      [null, "s1"],
    );
    found.resolve({ ...known, processId: 40 });
    await rig.capture.settled();
    const [first] = rig.records;
    assert.deepEqual(
      [...rig.stored.values()].map(({ sessionId, sessionSource }) => [sessionId, sessionSource]),
      [
        [first?.requestId, "inferred"],
        ["s1", "stated"],
      ],
    );
  });

  it("is read from each message of a WebSocket", async () => {
    const rig = createCaptureRig();
    const connection = rig.connect("api.openai.com");
    connection.pass(
      "request",
      "GET /v1/responses HTTP/1.1\r\nHost: api.openai.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
        'User-Agent: codex_cli_rs/0.60.1 (x)\r\nsession-id: thr-1\r\nthread-id: thr-1\r\nx-codex-turn-metadata: {"turn_id":"t1"}\r\n\r\n',
    );
    connection.pass(
      "response",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    const send = (direction: "request" | "response", message: object) =>
      connection.pass(
        direction,
        frameBytes({
          opcode: 1,
          payload: Buffer.from(JSON.stringify(message)),
          ...(direction === "request" && { mask: Uint8Array.of(1, 2, 3, 4) }),
        }),
      );
    const metadata = [
      { thread_id: "thr-1", turn_id: "t1", session_id: "thr-1" },
      { thread_id: "thr-2", turn_id: "t2", session_id: "thr-1" },
      undefined,
    ];
    for (const [at, client_metadata] of metadata.entries()) {
      const response = { id: `resp_${at}`, model: "gpt-5-mini", status: "completed" };
      send("request", { type: "response.create", model: "gpt-5-mini", input: "hi", client_metadata });
      send("response", { type: "response.created", response });
      send("response", {
        type: "response.completed",
        response: { ...response, usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } },
      });
    }
    await rig.capture.settled();
    assert.deepEqual(
      rig.records.map(({ sessionId, turnId, agentId, clientVersion }) => [
        sessionId,
        turnId,
        agentId,
        clientVersion,
      ]),
      [
        ["thr-1", "t1", null, "0.60.1"],
        ["thr-1", "t2", "thr-2", "0.60.1"],
        ["thr-1", null, null, "0.60.1"],
      ],
    );
  });
});
