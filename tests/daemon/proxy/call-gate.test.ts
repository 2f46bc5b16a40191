import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, describe, it } from "node:test";
import { UNLIMITED_ROOM } from "../../../core/budgets/pass-room.ts";
import { createCallGate } from "../../../daemon/proxy/call-gate.ts";
import type { CallQuestion, GateAnswer } from "../../../daemon/proxy/call-question.ts";
import { QUESTION_BODY_BYTES } from "../../../daemon/proxy/long-questions.ts";
import { createPassCounts, createThreadMemory, openThreadMemory } from "../../../daemon/proxy/passes.ts";
import type { ProxyConfig } from "../../../daemon/proxy/proxy-config.ts";
import { allowed, type Decide, type Form, openHeld, post, textOf } from "./call-gate.rig.ts";
import { collect, createCleanup } from "./proxy.rig.ts";

const cleanup = createCleanup();
after(() => cleanup.run());

const REFUSAL = "HTTP/1.1 400 Bad Request\r\ncontent-length: 4\r\nconnection: close\r\n\r\nused";
const refused: GateAnswer = { kind: "refuse", answer: Buffer.from(REFUSAL), budget: "day" };

/** Opens a proxy that holds calls, and a client that uses it in one form. */
const open = (
  form: Form,
  decide: Decide,
  overrides?: Partial<ProxyConfig>,
  serve?: (seen: string, socket: Socket) => void,
) => openHeld(cleanup, form, decide, overrides, serve);

const isRefused = ({ head }: CallQuestion) => textOf(head).includes("/refused");

for (const form of ["intercepted", "absolute", "gateway"] as const) {
  describe(`a held call, ${form}`, () => {
    it("is sent upstream unchanged when it is allowed, after its head and body were passed to the decision", async () => {
      const { client, proxy, questions, server, at, send } = await open(form, () => allowed);
      const got = collect(client);
      send(post(at("/v1/messages"), '{"model":"m"}'));
      await got.until((bytes) => bytes.includes("ok 1"));
      assert.equal(questions.length, 1);
      const [question] = questions as [CallQuestion];
      assert.match(textOf(question.head), /^POST \/v1\/messages HTTP\/1\.1\r\nHost: /);
      assert.deepEqual(
        [textOf(question.body), question.isWhole, question.request],
        ['{"model":"m"}', true, 1],
      );
      // The provider answers a head before it has all of the body.
      while (!server.connections[0]?.seen.endsWith('\r\n\r\n{"model":"m"}')) await proxy.ping(5_000);
      client.destroy();
      await proxy.seen((frame) => frame.kind === "closed");
      assert.equal(proxy.logged("request").toString(), server.connections[0]?.seen);
    });

    it("is answered by the proxy when it is refused, and sends nothing upstream", async () => {
      const { client, proxy, server, at, send } = await open(form, () => refused);
      const got = collect(client);
      send(post(at("/v1/messages"), "x".repeat(500_000)));
      await got.end();
      assert.equal(got.bytes().toString(), REFUSAL);
      assert.deepEqual(server.connections.map(({ seen }) => seen).join(""), "");
      client.destroy();
      await proxy.seen((frame) => frame.kind === "closed");
      assert.deepEqual(
        proxy.frames
          .filter(({ kind }) => kind === "blocked")
          .map((frame) => "budget" in frame && frame.budget),
        ["day"],
      );
      assert.match(proxy.logged("request").toString(), /^POST \/v1\/messages /);
      assert.equal(proxy.logged("response").toString(), REFUSAL);
      await proxy.ping(2_000);
      assert.deepEqual(proxy.counters().gate, { asked: 1, refused: 1, undecided: 0, early: 0 });
    });

    it("is decided with a long body that follows the question, whose start comes first", async () => {
      const starts: number[] = [];
      const rests: Buffer[] = [];
      const body = Buffer.from("abcdefgh".repeat(50_000));
      const { client, proxy, questions, server, at, send } = await open(form, (_, rest, answer) => {
        rest?.(
          (bytes) => {
            rests.push(Buffer.from(bytes));
            answer(allowed);
          },
          (start) => void starts.push(start.length, rests.length),
        );
        return null;
      });
      const got = collect(client);
      send(post(at("/v1/messages"), body.toString()));
      await got.until((bytes) => bytes.includes("ok 1"));
      const [{ body: sent, isWhole } = assert.fail()] = questions;
      assert.deepEqual([sent.length, isWhole, starts, rests.length], [0, true, [QUESTION_BODY_BYTES, 0], 1]);
      assert.deepEqual(Buffer.concat(rests), body);
      while (!server.connections[0]?.seen.endsWith(`\r\n\r\n${body}`)) await proxy.ping(5_000);
      client.destroy();
    });

    it("does not wait for requests that send nothing", async () => {
      const { client, questions, at, send } = await open(form, () => refused);
      const got = collect(client);
      send(`GET ${at("/v1/models")} HTTP/1.1\r\nHost: HOST\r\n\r\n`);
      await got.until((bytes) => bytes.includes("ok 1"));
      assert.deepEqual(questions, []);
      client.destroy();
    });

    it("is decided for each request of a connection, in order, also if they are sent at once", async () => {
      const { client, questions, server, at, send } = await open(form, (question) =>
        isRefused(question) ? refused : allowed,
      );
      const got = collect(client);
      send(post(at("/1")));
      await got.until((bytes) => bytes.includes("ok 1"));
      send(post(at("/2")) + post(at("/3"), "") + post(at("/refused")) + post(at("/5")));
      await got.end();
      const answers = got.bytes().toString();
      assert.ok(answers.endsWith(`ok 3${REFUSAL}`), answers);
      assert.deepEqual(
        questions.map(({ request }) => request),
        [1, 2, 3, 4],
      );
      assert.doesNotMatch(server.connections[0]?.seen ?? "", /refused|\/5/);
      client.destroy();
    });

    it("passes a chunked body to the decision without its chunks, and sends it with them", async () => {
      const { client, proxy, questions, server, at, send } = await open(form, () => allowed);
      const got = collect(client);
      send(`POST ${at("/c")} HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n`);
      await new Promise((resolve) => setImmediate(resolve));
      send("2\r\nde\r\n0\r\nA: b\r\n\r\n");
      await got.until((bytes) => bytes.includes("ok 1"));
      assert.equal(textOf((questions[0] as CallQuestion).body), "abcde");
      // The provider answers a head before it has all of the body.
      while (!server.connections[0]?.seen.endsWith("3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n"))
        await proxy.ping(5_000);
      client.destroy();
    });

    it("is decided without its body if the client waits for 100 Continue", async () => {
      const { client, questions, at, send } = await open(form, () => allowed);
      const got = collect(client);
      send(`POST ${at("/c")} HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`);
      await got.until((bytes) => bytes.includes("ok 1"));
      assert.deepEqual(
        questions.map(({ isWhole, body }) => [isWhole, body.length]),
        [[false, 0]],
      );
      client.destroy();
    });

    it("is sent, and counted, if there is no decision in time", async () => {
      const gate = { fail: "open", timeoutMs: 5 } as const;
      const { client, proxy, questions, at, send } = await open(form, () => null, { gate });
      const got = collect(client);
      send(post(at("/v1/messages")));
      await got.until((bytes) => bytes.includes("ok 1"));
      await proxy.ping(2_000);
      assert.deepEqual(proxy.counters().gate, { asked: 1, refused: 0, undecided: 1, early: 0 });
      assert.deepEqual(proxy.sentLate, [[questions[0]?.connection, 1]]);
      client.destroy();
    });

    it("is refused if there is no decision in time and the budgets fail closed", async () => {
      const gate = { fail: "closed", timeoutMs: 5 } as const;
      const { client, server, at, send } = await open(form, () => null, { gate });
      const got = collect(client);
      send(post(at("/v1/messages")));
      await got.end();
      assert.match(
        got.bytes().toString(),
        /^HTTP\/1\.1 429 [\s\S]*billing_error[\s\S]*no budget decision was possible/,
      );
      assert.equal(server.connections.map(({ seen }) => seen).join(""), "");
      client.destroy();
    });

    it("passes a body that is too long to be held, byte for byte", async () => {
      const body = "abcdefgh".repeat(300_000);
      const { client, questions, server, at, send } = await open(
        form,
        () => allowed,
        {},
        (seen, socket) => {
          if (seen.length > body.length && seen.endsWith(body.slice(-1_000)))
            socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        },
      );
      const got = collect(client);
      send(post(at("/long"), body));
      await got.until((bytes) => bytes.includes("ok"));
      assert.equal((questions[0] as CallQuestion).isWhole, false);
      assert.ok(server.connections[0]?.seen.endsWith(`\r\n\r\n${body}`));
      client.destroy();
    });
  });
}

/** A client's text message in one frame. The mask is zero, so that the text is readable. */
const frame = (text: string, opcode = 0x81) =>
  Buffer.from([opcode, 0x80 | text.length, 0, 0, 0, 0, ...Buffer.from(text)]);

describe("a WebSocket whose turns are held", () => {
  const upgrade = (extensions: string) => (seen: string, socket: Socket) => {
    if (seen.endsWith("\r\n\r\n"))
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${extensions}\r\n`,
      );
    else if (seen.endsWith("!")) socket.write(Buffer.from([0x81, 2, ...Buffer.from("ok")]));
  };
  const handshake = (target: string) =>
    `GET ${target} HTTP/1.1\r\nHost: HOST\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`;
  const decideTurn = ({ isTurn, body }: CallQuestion): GateAnswer => {
    if (!isTurn) return { kind: "allow", holdsTurns: true };
    return textOf(body).includes("refused")
      ? { kind: "refuse", answer: Buffer.from("used"), budget: "day" }
      : allowed;
  };
  const turnOf = (name: string) => frame(`{"type":"response.create","name":"${name}"}`);

  it("gets an error message for a refused turn, and stays open for the next", async () => {
    const { client, proxy, questions, server, at, send } = await open(
      "intercepted",
      decideTurn,
      {},
      upgrade(""),
    );
    const got = collect(client);
    send(handshake(at("/v1/responses")));
    await got.until((bytes) => bytes.includes("\r\n\r\n"));
    client.write(frame("hello!"));
    await got.until((bytes) => bytes.includes("ok"));
    // In two fragments, with a ping in between.
    const text = '{"type":"response.create","name":"refused"}';
    client.write(Buffer.concat([frame(text.slice(0, 9), 0x01), frame("", 0x89), frame(text.slice(9), 0x80)]));
    await got.until((bytes) => bytes.includes("used"));
    client.write(Buffer.concat([turnOf("second"), frame("bye!")]));
    await got.until((bytes) => bytes.toString().split("ok").length === 3);
    assert.deepEqual(
      questions.map(({ request }) => request),
      [1, -1, -2],
    );
    const seen = server.connections[0]?.seen ?? "";
    assert.ok(seen.includes("hello!") && seen.includes("second") && seen.includes("bye!"));
    assert.doesNotMatch(seen, /refused/);
    client.destroy();
    await proxy.seen(({ kind }) => kind === "closed");
    assert.equal(proxy.frames.filter(({ kind }) => kind === "blocked").length, 1);
  });

  it("is closed after the error message if later messages depend on the refused one", async () => {
    const { client, at, send } = await open(
      "intercepted",
      decideTurn,
      {},
      upgrade("Sec-WebSocket-Extensions: permessage-deflate\r\n"),
    );
    const got = collect(client);
    send(handshake(at("/v1/responses")));
    await got.until((bytes) => bytes.includes("\r\n\r\n"));
    client.write(turnOf("refused"));
    await got.end();
    assert.ok(got.bytes().includes("used"));
    assert.deepEqual([...got.bytes().subarray(-4)], [0x88, 2, 0x03, 0xe8]);
    client.destroy();
  });

  it("is closed after an error message and a whole message of the provider if a budget ends a turn", async () => {
    const part = Buffer.from([0x01, 2, ...Buffer.from("ab")]);
    const serve = (seen: string, socket: Socket) => {
      upgrade("")(seen, socket);
      if (seen.includes("response.create")) socket.write(part);
    };
    const { client, proxy, questions, server, at, send } = await open("intercepted", decideTurn, {}, serve);
    const got = collect(client);
    send(handshake(at("/v1/responses")));
    await got.until((bytes) => bytes.includes("\r\n\r\n"));
    client.write(turnOf("first"));
    await got.until((bytes) => bytes.includes("ab"));
    const event = { mediaType: "text/event-stream", bytes: Buffer.from("e") };
    const answers = { response: Buffer.from("r"), event, turn: Buffer.from("cut off") };
    proxy.cut({ connection: questions[1]?.connection ?? 0, request: -1, budget: "day", ...answers });
    await proxy.ping(2_000);
    assert.doesNotMatch(got.bytes().toString(), /cut off/);
    server.connections[0]?.socket.write(Buffer.from([0x80, 1, ...Buffer.from("c")]));
    await got.end();
    const end = [0x80, 1, ...Buffer.from("c"), 0x81, 7, ...Buffer.from("cut off"), 0x88, 2, 0x03, 0xe8];
    assert.deepEqual([...got.bytes().subarray(-end.length)], end);
    client.destroy();
    const closed = await proxy.seen(({ kind }) => kind === "closed");
    assert.equal("code" in closed && closed.code, "BUDGET_CUT");
  });

  it("relays every byte of messages that are allowed", async () => {
    const { client, server, at, send } = await open("intercepted", decideTurn, {}, upgrade(""));
    const got = collect(client);
    send(handshake(at("/v1/responses")));
    await got.until((bytes) => bytes.includes("\r\n\r\n"));
    const bytes = Buffer.concat([
      frame("a", 0x01),
      frame("b", 0x80),
      frame("", 0x89),
      turnOf("first"),
      frame("x".repeat(100)),
      frame("end!"),
    ]);
    for (const byte of bytes) client.write(Buffer.from([byte]));
    await got.until((received) => received.includes("ok"));
    assert.ok(server.connections[0]?.seen.endsWith(bytes.toString("latin1")));
    client.destroy();
  });
});

describe("setGate()", () => {
  for (const form of ["intercepted", "absolute", "gateway"] as const) {
    it(`holds the next request of a connection that is open already, ${form}`, async () => {
      const { client, proxy, questions, at, send } = await open(form, () => refused, { gate: null });
      const got = collect(client);
      send(post(at("/1")));
      await got.until((bytes) => bytes.includes("ok 1"));
      assert.equal(questions.length, 0);
      proxy.setGate({ fail: "open", timeoutMs: 2_000 });
      await proxy.ping(2_000);
      send(post(at("/2")));
      await got.end();
      assert.ok(got.bytes().toString().endsWith(REFUSAL));
      client.destroy();
    });
  }

  it("lets the rest of a body pass that began before", async () => {
    const { client, proxy, questions, server, send } = await open("intercepted", () => refused, {
      gate: null,
    });
    const got = collect(client);
    send("POST /1 HTTP/1.1\r\nHost: HOST\r\nContent-Length: 46\r\n\r\n");
    await got.until((bytes) => bytes.includes("ok 1"));
    proxy.setGate({ fail: "open", timeoutMs: 2_000 });
    await proxy.ping(2_000);
    client.write('{"model":"m"} POST is a word in this text too.');
    while (!server.connections[0]?.seen.endsWith("text too.")) await proxy.ping(5_000);
    assert.deepEqual(questions, []);
    client.destroy();
  });
});

describe("a provisional gate", () => {
  const provisional = (fail: "open" | "closed", timeoutMs: number) =>
    ({ gate: { fail, timeoutMs, isProvisional: true } }) as const;

  it("asks about the calls that wait once it is configured", async () => {
    const { client, proxy, questions, at, send } = await open(
      "intercepted",
      () => refused,
      provisional("open", 60_000),
    );
    const got = collect(client);
    send(post(at("/1")));
    await proxy.ping(2_000);
    assert.deepEqual(questions, []);
    proxy.setGate({ fail: "open", timeoutMs: 60_000 });
    await got.end();
    assert.equal(got.bytes().toString(), REFUSAL);
    await proxy.ping(2_000);
    assert.deepEqual(proxy.counters().gate, { asked: 1, refused: 1, undecided: 0, early: 0 });
    client.destroy();
  });

  it("sends the calls that wait once no budget blocks", async () => {
    const { client, proxy, questions, at, send } = await open(
      "intercepted",
      () => refused,
      provisional("open", 60_000),
    );
    const got = collect(client);
    send(post(at("/1")));
    await proxy.ping(2_000);
    proxy.setGate(null);
    await got.until((bytes) => bytes.includes("ok 1"));
    assert.deepEqual(questions, []);
    client.destroy();
  });

  for (const gate of [null, { fail: "open", timeoutMs: 60_000 }] as const) {
    const isCounted = gate !== null;
    it(`counts the calls that were sent before, ${isCounted ? "if a budget blocks" : "unless no budget blocks"}`, async () => {
      const { client, proxy, at, send } = await open("intercepted", () => refused, provisional("open", 5));
      const got = collect(client);
      send(post(at("/1")));
      await got.until((bytes) => bytes.includes("ok 1"));
      proxy.setGate(gate);
      await proxy.ping(2_000);
      const early = isCounted ? 1 : 0;
      assert.deepEqual(proxy.counters().gate, { asked: 0, refused: 0, undecided: early, early });
      client.destroy();
    });
  }

  it("refuses the calls that waited too long if a budget fails closed", async () => {
    const { client, server, at, send } = await open("intercepted", () => refused, provisional("closed", 5));
    const got = collect(client);
    send(post(at("/1")));
    await got.end();
    assert.match(got.bytes().toString(), /no budget decision was possible/);
    assert.equal(server.connections.map(({ seen }) => seen).join(""), "");
    client.destroy();
  });
});

describe("a question", () => {
  it("states once what each call uses that passed, and whether any of them is not counted", () => {
    const passes = createThreadMemory();
    const counts = createPassCounts(openThreadMemory(passes));
    const room = { calls: UNLIMITED_ROOM, microUsd: UNLIMITED_ROOM, tokens: UNLIMITED_ROOM };
    counts.update(room);
    const sent: unknown[] = [];
    const gate = createCallGate(
      { fail: "open", timeoutMs: 600_000, passes },
      { asked: 0, refused: 0, undecided: 0, early: 0 },
      (id, _, passed) => {
        sent.push(passed && [[...passed.bounds], [...passed.bodies].map(([at, body]) => [at, textOf(body)])]);
        gate.answered(id, allowed);
      },
    );
    const question: CallQuestion = {
      ...{ connection: 1, request: 9, host: "localhost", port: 1, clientPort: 1, proxyUser: null },
      ...{ project: null, caller: null, isWhole: true, isTurn: false },
      ...{ head: Buffer.from("head"), body: Buffer.from("body") },
    };
    const pass = (microUsd: number, tokens: number | null) =>
      gate.pass({ keptBytes: 4, bound: () => ({ microUsd, tokens }), body: () => Buffer.from("kept") });
    const ask = () => void gate.ask(question, () => {});
    ask();
    assert.deepEqual([pass(5, 6), pass(7, null)], [1, 2]);
    ask();
    ask();
    assert.equal(pass(8, 9), 3);
    ask();
    counts.update(room, [3]);
    ask();
    counts.update(room, [1, 2]);
    ask();
    const first = [[1, 5, 6, 2, 7, Number.NaN], [[2, "kept"]]];
    assert.deepEqual(sent, [null, first, [[], []], [[3, 8, 9], []], [[], []], null]);
  });
});
