import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, describe, it } from "node:test";
import { createMessageReader } from "../../../core/metering/exchange/message-reader.ts";
import {
  type CutOrder,
  createResponseCut,
  MAX_CUT_WAIT_MS,
  piecesOf,
} from "../../../daemon/proxy/response-cut.ts";
import { allowed, openHeld, post } from "./call-gate.rig.ts";
import { collect, createCleanup } from "./proxy.rig.ts";

const cleanup = createCleanup();
after(() => cleanup.run());

const RESPONSE = "HTTP/1.1 400 Bad Request\r\ncontent-length: 4\r\nconnection: close\r\n\r\nused";
const EVENT = "event: error\ndata: used\n\n";

const orderOf = (connection: number, request: number, more: Partial<CutOrder> = {}): CutOrder => ({
  ...{ connection, request, budget: "day" },
  response: Buffer.from(RESPONSE),
  event: { mediaType: "text/event-stream", bytes: Buffer.from(EVENT) },
  turn: null,
  ...more,
});

const headOf = (fields: string) => `HTTP/1.1 200 OK\r\n${fields}\r\n\r\n`;
const SSE = "Content-Type: text/event-stream; charset=utf-8";
const CHUNKED = `${SSE}\r\nTransfer-Encoding: chunked`;
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const CUT_CHUNK = `${chunk(EVENT)}0\r\n\r\n`;

for (const form of ["intercepted", "absolute", "gateway"] as const) {
  describe(`a call that a budget ends, ${form}`, () => {
    /** Begins a call whose provider has answered with `first` so far. */
    async function begin(first: string) {
      let provider: Socket | undefined;
      let answered = 0;
      const serve = (seen: string, socket: Socket) => {
        provider = socket;
        const asked = seen.split("\r\n\r\n{}").length - 1;
        for (; answered < asked; answered += 1) if (first !== "") socket.write(first);
      };
      const rig = await openHeld(cleanup, form, () => allowed, {}, serve);
      const got = collect(rig.client);
      rig.send(post(rig.at("/v1/messages")));
      if (first !== "") await got.until((bytes) => bytes.toString() === first);
      while (provider === undefined) await rig.proxy.ping(5_000);
      const [question] = rig.questions;
      const connection = question?.connection ?? 0;
      const cut = (more?: Partial<CutOrder>) => rig.proxy.cut(orderOf(connection, 1, more));
      const { closed } = rig.server.connections[0] ?? assert.fail();
      return { ...rig, got, provider: provider as Socket, cut, closed };
    }
    type Begun = Awaited<ReturnType<typeof begin>>;

    /** Checks that the client got `expected` to the end, the provider was left, and the log has only the provider's bytes. */
    async function endsWith({ got, closed, proxy, client }: Begun, expected: string, relayed: string) {
      await got.end();
      assert.equal(got.bytes().toString(), expected);
      await closed;
      await proxy.seen((frame) => frame.kind === "closed");
      assert.equal(proxy.logged("response").toString(), relayed);
      assert.deepEqual(
        proxy.frames.flatMap((frame) => (frame.kind === "cut" ? [frame.budget] : [])),
        ["day"],
      );
      const end = proxy.frames.find((frame) => frame.kind === "closed");
      assert.deepEqual(end !== undefined && "reason" in end && [end.reason, "code" in end && end.code], [
        "client_aborted",
        "BUDGET_CUT",
      ]);
      client.destroy();
    }

    it("gets an error in the stream at once if its last event is complete", async () => {
      const first = headOf(CHUNKED) + chunk("data: 1\n\n");
      const call = await begin(first);
      call.cut();
      await endsWith(call, first + CUT_CHUNK, first);
    });

    it("gets it after the event that is under way, however the bytes are divided", async () => {
      const first = `${headOf(CHUNKED)}${chunk("data: 1\n\n")}8\r\ndata`;
      const call = await begin(first);
      call.cut();
      await call.proxy.ping(5_000);
      call.provider.write(": 2\n\r\n1\r\n\n\r\n9\r\ndata: 3\n\n\r\n");
      const relayed = `${first}: 2\n\r\n1\r\n\n\r\n`;
      await endsWith(call, relayed + CUT_CHUNK, relayed);
    });

    it("gets it without chunks if the stream runs until the connection closes", async () => {
      const first = `${headOf(SSE)}data: 1\r\n\r\n`;
      const call = await begin(first);
      call.cut();
      await endsWith(call, first + EVENT, first);
    });

    it("gets the whole answer if the provider has sent none", async () => {
      const call = await begin("");
      call.cut();
      await endsWith(call, RESPONSE, "");
    });

    for (const [what, first, more] of [
      ["JSON", `${headOf("Content-Type: application/json\r\nContent-Length: 20")}{"a":1,`, {}],
      ["a compressed stream", headOf(`${CHUNKED}\r\nContent-Encoding: gzip`), {}],
      ["a stream of an API without errors in it", headOf(CHUNKED) + chunk("data: 1\n\n"), { event: null }],
    ] as const) {
      it(`is closed with a reset in ${what}, so that it does not look complete`, async () => {
        const call = await begin(first);
        const errors: string[] = [];
        call.client.on("error", ({ code }: NodeJS.ErrnoException) => errors.push(code ?? ""));
        call.cut(more);
        await endsWith(call, first, first);
        assert.deepEqual(errors.length === 0 ? call.client.readableEnded : false, false);
      });
    }

    it("is not cut after its own end, and neither is the next call on its connection", async () => {
      const first = `${headOf("Content-Length: 2")}ok`;
      const call = await begin(first);
      call.cut();
      call.send(post(call.at("/v1/messages")));
      await call.got.until((bytes) => bytes.toString() === first + first);
      call.client.destroy();
      assert.deepEqual(
        call.proxy.frames.filter(({ kind }) => kind === "cut"),
        [],
      );
    });
  });
}

describe("createResponseCut()", () => {
  function open(first: string) {
    const ended: (string | null)[] = [];
    const pending = [{ number: 1, method: "POST", requestsProtocolSwitch: false }];
    const cut = createResponseCut({
      reader: () => reader,
      pending: () => pending,
      end: (_order, bytes) => ended.push(bytes === null ? null : Buffer.from(bytes).toString()),
    });
    const reader = createMessageReader("response", {
      pendingRequest: () => pending[0] ?? null,
      started: cut.started,
      informational: cut.informational,
      head: cut.head,
      body: cut.body,
      switched() {},
      end() {
        pending.shift();
        cut.ended();
      },
      unreadable() {},
    });
    reader.push(Buffer.from(first));
    return { cut, reader, ended };
  }

  it("stops waiting for the end of an event after a while", (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { cut, ended } = open(`${headOf(CHUNKED)}5\r\ndata:`);
    cut.order(orderOf(1, 1));
    context.mock.timers.tick(MAX_CUT_WAIT_MS - 1);
    assert.deepEqual([ended, cut.isOrdered], [[], true]);
    context.mock.timers.tick(1);
    assert.deepEqual([ended, cut.isOrdered], [[null], false]);
  });

  it("forgets the order if the call ends by itself, or the connection does", (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    for (const end of ["call", "connection"] as const) {
      const { cut, reader, ended } = open(`${headOf(CHUNKED)}5\r\ndata:`);
      cut.order(orderOf(1, 1));
      if (end === "call") reader.push(Buffer.from("\r\n0\r\n\r\n"));
      if (end === "call") cut.relayed();
      else cut.stop();
      context.mock.timers.tick(MAX_CUT_WAIT_MS);
      assert.deepEqual([ended, cut.isOrdered], [[], false], end);
    }
  });

  it("answers after an interim response, and waits within a head", () => {
    const { cut, reader, ended } = open("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200");
    cut.order(orderOf(1, 1));
    assert.deepEqual(ended, []);
    reader.push(Buffer.from(` OK\r\n${CHUNKED}\r\n\r\n`));
    cut.relayed();
    assert.deepEqual(ended, [CUT_CHUNK]);
    const early = open("HTTP/1.1 100 Continue\r\n\r\n");
    early.cut.order(orderOf(1, 1));
    assert.deepEqual(early.ended, [RESPONSE]);
  });

  it("ends lines of JSON after any line", () => {
    const type = "application/x-ndjson";
    const { cut, ended } = open(
      `${headOf(`Content-Type: ${type}\r\nTransfer-Encoding: chunked`)}${chunk('{"a":1}\n')}`,
    );
    cut.order(orderOf(1, 1, { event: { mediaType: type, bytes: Buffer.from("{}\n") } }));
    assert.deepEqual(ended, [`${chunk("{}\n")}0\r\n\r\n`]);
  });

  it("divides bytes after each line", () => {
    const parts = [...piecesOf(Buffer.from("a\n\nb"))].map(String);
    assert.deepEqual(parts, ["a\n", "\n", "b"]);
    assert.deepEqual([...piecesOf(Buffer.alloc(0))], []);
  });
});
