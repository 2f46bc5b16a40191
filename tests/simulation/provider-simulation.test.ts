import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect as connectTcp, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { createParentProxy, createProviderSimulation, listen, type ProviderSimulation } from "./mod.ts";

// Raw sockets, because the tests compare bytes that an HTTP client hides.
const onNode = !("Deno" in globalThis) && !("Bun" in globalThis);

describe("createProviderSimulation()", {
  skip: onNode ? false : "the simulation stands on Node's TLS",
}, () => {
  let simulation: ProviderSimulation;
  before(async () => {
    simulation = await createProviderSimulation({ seed: "raw" });
  });
  after(() => simulation.close());

  async function open(host = "api.anthropic.com"): Promise<Socket> {
    const socket = connectTls({
      port: simulation.port,
      host: "127.0.0.1",
      servername: host,
      ca: simulation.caPem,
      ALPNProtocols: ["http/1.1"],
    });
    await once(socket, "secureConnect");
    return socket;
  }

  /** Sends the bytes and reads until the provider closes the connection or has been silent for the settling time. */
  async function exchange(bytes: Buffer, host?: string): Promise<{ received: Buffer; error: string | null }> {
    const socket = await open(host);
    const pieces: Buffer[] = [];
    let error: string | null = null;
    socket.on("data", (piece: Buffer) => pieces.push(piece));
    socket.on("error", (thrown: NodeJS.ErrnoException) => (error = thrown.code ?? thrown.message));
    const closed = new Promise<void>((done) => socket.on("close", () => done()));
    socket.write(bytes);
    await closed;
    return { received: Buffer.concat(pieces), error };
  }

  function message(
    scenario: string,
    fields: object = {},
    headers: readonly string[] = ["Connection: close"],
  ): Buffer {
    const body = Buffer.from(
      JSON.stringify({
        model: "claude-haiku-4-5",
        max_tokens: 9,
        messages: [{ role: "user", content: `Say. scenario: ${scenario}` }],
        ...fields,
      }),
    );
    const head = [
      "POST /v1/messages HTTP/1.1",
      "Host: api.anthropic.com",
      `Content-Length: ${body.length}`,
      ...headers,
    ].join("\r\n");
    return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body]);
  }

  async function lastEntry() {
    await simulation.idle();
    return simulation.calls.at(-1)!;
  }

  const decoders = {
    gzip: gunzipSync,
    br: brotliDecompressSync,
    zstd: zstdDecompressSync,
    deflate: inflateSync,
  };
  for (const [coding, decode] of Object.entries(decoders)) {
    for (const stream of [false, true]) {
      it(`encodes ${stream ? "a stream" : "JSON"} with ${coding} for a client that accepts it`, async () => {
        const accepting = ["Connection: close", "Accept-Encoding: gzip, br, zstd, deflate"];
        const { received } = await exchange(message(`${coding}+chunked`, { stream }, accepting));
        const entry = await lastEntry();
        assert.equal(entry.contentEncoding, coding);
        const body = dechunk(received.subarray(received.indexOf("\r\n\r\n") + 4));
        assert.ok(body.equals(entry.responseEncoded));
        const plain = decode(body);
        assert.ok(plain.equals(entry.responsePlain));
        assert.ok(plain.includes(entry.responseId!));
        await exchange(message(coding));
        assert.equal((await lastEntry()).contentEncoding, null, "not without being asked");
      });
    }
  }

  const framings: readonly [string, RegExp][] = [
    ["ok", /\r\nContent-Length: \d+\r\n/],
    ["length+shredded", /\r\nContent-Length: \d+\r\n/],
    ["chunked+shredded", /\r\nTransfer-Encoding: chunked\r\n/],
    ["chunked+trailers", /\r\nTrailer: x-simulation-end\r\n[\s\S]*\r\n0\r\nx-simulation-end: yes\r\n\r\n$/],
    ["until-close", /\r\nConnection: close\r\n/],
    ["drip", /\r\nContent-Length: \d+\r\n/],
    ["hints", /^HTTP\/1.1 103 Early Hints\r\n[\s\S]*\r\n\r\nHTTP\/1.1 200 OK\r\n/],
  ];
  for (const [scenario, expected] of framings) {
    it(`frames a response as requested: ${scenario}`, async () => {
      const { received } = await exchange(message(scenario));
      const entry = await lastEntry();
      assert.match(received.toString("latin1"), expected);
      const head = received.lastIndexOf(Buffer.from("\r\n\r\n{")) < 0 ? "\r\n\r\n" : "\r\n\r\n{";
      const raw = received.subarray(received.lastIndexOf(Buffer.from(head)) + 4);
      const body = scenario.startsWith("chunked")
        ? dechunk(received.subarray(received.indexOf("\r\n\r\n") + 4))
        : raw;
      assert.ok(body.equals(entry.responsePlain));
      assert.equal(entry.delivery, "whole");
    });
  }

  it("keeps the exact bytes of both directions", async () => {
    const asked = message("thinking+shredded", { stream: true });
    const { received } = await exchange(asked);
    const { connection } = await lastEntry();
    assert.ok(Buffer.concat(simulation.connections[connection]!.received).equals(asked));
    assert.ok(Buffer.concat(simulation.connections[connection]!.sent).equals(received));
    assert.equal(simulation.connections[connection]!.serverName, "api.anthropic.com");
  });

  it("sends Anthropic's events in order, including a ping", async () => {
    const { received } = await exchange(message("thinking+tools+events-2", { stream: true }));
    const events = [...received.toString().matchAll(/^event: (\w+)$/gm)].map((match) => match[1]);
    const block = (deltas: number) => [
      "content_block_start",
      ...Array(deltas).fill("content_block_delta"),
      "content_block_stop",
    ];
    const [start, ...rest] = [...block(4), ...block(2), ...block(4)];
    assert.deepEqual(events, ["message_start", start, "ping", ...rest, "message_delta", "message_stop"]);
  });

  for (const [outcome, error] of [
    ["cut", null],
    ["reset", "ECONNRESET"],
    ["early-fin", null],
  ] as const) {
    it(`ends a stream in the middle: ${outcome}`, async () => {
      const { received, error: seen } = await exchange(message(`${outcome}+events-20`, { stream: true }));
      const entry = await lastEntry();
      assert.equal(entry.delivery, "cut");
      assert.equal(entry.tokensComplete, false);
      assert.equal(typeof entry.tokens.promptTokens, "number");
      assert.equal(entry.tokens.thinkingTokens, null);
      assert.equal(seen, error);
      assert.ok(!received.includes("message_stop"));
      const { connection } = entry;
      assert.ok(Buffer.concat(simulation.connections[connection]!.sent).equals(received), "nothing was lost");
    });
  }

  it("records that a client left before the end", async () => {
    const socket = await open();
    socket.write(message("drip+events-400", { stream: true }));
    await once(socket, "data");
    socket.destroy();
    const entry = await lastEntry();
    assert.equal(entry.delivery, "client_gone");
    assert.equal(entry.tokensComplete, false);
  });

  it("sends nothing in the silence scenario, and records that the client left", async () => {
    const socket = await open();
    const known = simulation.connections.length;
    socket.write(message("silence"));
    const heard: Buffer[] = [];
    socket.on("data", (bytes: Buffer) => heard.push(bytes));
    const before = simulation.calls.length;
    while (simulation.connections.length === known) await new Promise(setImmediate);
    socket.destroy();
    const entry = await lastEntry();
    assert.equal(simulation.calls.length, before + 1);
    assert.equal(entry.status, null);
    assert.equal(heard.length, 0);
  });

  it("answers pipelined requests on one connection in order", async () => {
    const keepAlive = message("events-3", { stream: true }, []);
    const before = simulation.calls.length;
    const { received } = await exchange(Buffer.concat([keepAlive, message("ok", {}, []), message("ok")]));
    await simulation.idle();
    const entries = simulation.calls.slice(before);
    assert.deepEqual(
      entries.map(({ streaming }) => streaming),
      [true, false, false],
    );
    const places = entries.map(({ responseId }) => received.indexOf(responseId!));
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(entries.map(({ connection }) => connection)).size, 1);
    // Two equal requests are separate calls.
    assert.notEqual(entries[1]!.responseId, entries[2]!.responseId);
  });

  it("reads chunked requests, and sends 100 Continue to a client that waits for it", async () => {
    const body = Buffer.from(JSON.stringify({ model: "claude-haiku-4-5", messages: [] }));
    const head =
      "POST /v1/messages HTTP/1.1\r\nHost: api.anthropic.com\r\nConnection: close\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n";
    const framed = `7;note=x\r\n${body.toString("latin1", 0, 7)}\r\n${(body.length - 7).toString(16)}\r\n${body.toString("latin1", 7)}\r\n0\r\nx-end: 1\r\n\r\n`;
    const { received } = await exchange(Buffer.from(head + framed));
    assert.match(received.toString(), /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK\r\n/);
    assert.ok((await lastEntry()).requestBody.equals(body));
  });

  it("accepts a WebSocket and echoes what follows", async () => {
    const socket = await open("api.openai.com");
    // Key and answer as in RFC 6455, section 1.3.
    socket.write(
      "GET /v1/realtime?model=x HTTP/1.1\r\nHost: api.openai.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    const [head] = (await once(socket, "data")) as [Buffer];
    assert.match(
      head.toString(),
      /^HTTP\/1.1 101 .*\r\n[\s\S]*Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/,
    );
    socket.write(Buffer.from([0x81, 0x00, 0xff]));
    const [echo] = (await once(socket, "data")) as [Buffer];
    assert.deepEqual([...echo], [0x81, 0x00, 0xff]);
    socket.destroy();
  });

  it("chooses the same numbers for the same seed and request, regardless of earlier ones", async () => {
    const other = await createProviderSimulation({ seed: "raw" });
    const first = message("search+cached", { metadata: { user_id: "same" } });
    await exchange(message("ok", { metadata: { user_id: "another" } }));
    await exchange(first);
    const mine = await lastEntry();
    const socket = connectTls({
      port: other.port,
      host: "127.0.0.1",
      servername: "api.anthropic.com",
      ca: other.caPem,
    });
    socket.resume().write(first);
    await once(socket, "close");
    await other.idle();
    assert.deepEqual(other.calls[0]!.tokens, mine.tokens);
    await other.close();
  });

  it("responds to an unknown scenario with 400 and records no call", async () => {
    const before = simulation.calls.length;
    const { received } = await exchange(message("overlaoded"));
    assert.match(received.toString(), /^HTTP\/1.1 400 [\s\S]*unknown word in a scenario: overlaoded/);
    assert.equal(simulation.calls.length, before);
  });

  it("separates paths without usage", async () => {
    simulation.otherRequests.length = 0;
    for (const path of ["/v1/models", "/v1/nowhere"]) {
      await exchange(
        Buffer.from(`GET ${path} HTTP/1.1\r\nHost: api.openai.com\r\nConnection: close\r\n\r\n`),
        "api.openai.com",
      );
    }
    assert.deepEqual(
      simulation.otherRequests.map(({ path, status }) => [path, status]),
      [
        ["/v1/models", 200],
        ["/v1/nowhere", 404],
      ],
    );
  });

  it("fails the handshake with a client that does not trust it", async () => {
    const socket = connectTls({ port: simulation.port, host: "127.0.0.1", servername: "api.openai.com" });
    const [error] = (await once(socket, "error")) as [NodeJS.ErrnoException];
    assert.equal(error.code, "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
  });
});

describe("createParentProxy()", { skip: onNode ? false : "the simulation stands on Node's TLS" }, () => {
  async function ask(port: number, text: string): Promise<string> {
    const socket = connectTcp(port, "127.0.0.1");
    let heard = "";
    socket.on("data", (bytes: Buffer) => (heard += bytes.toString()));
    socket.write(text);
    await once(socket, "close");
    return heard;
  }

  it("requires credentials if they are configured", async () => {
    const simulation = await createProviderSimulation();
    const parent = await createParentProxy(simulation, { credentials: "me:secret" });
    const connect = "CONNECT api.openai.com:443 HTTP/1.1\r\nHost: api.openai.com:443\r\n";
    assert.match(await ask(parent.port, `${connect}\r\n`), /^HTTP\/1.1 407 /);
    const socket = connectTcp(parent.port, "127.0.0.1");
    socket.write(`${connect}Proxy-Authorization: Basic ${btoa("me:secret")}\r\n\r\n`);
    const [head] = (await once(socket, "data")) as [Buffer];
    assert.match(head.toString(), /^HTTP\/1.1 200 /);
    socket.destroy();
    await parent.close();
    await simulation.close();
  });

  it("forwards absolute-form requests to the plain port only", async () => {
    const simulation = await createProviderSimulation();
    const parent = await createParentProxy(simulation);
    const answer = await ask(
      parent.port,
      "GET http://api.x.ai/v1/models HTTP/1.1\r\nHost: api.x.ai\r\nConnection: close\r\n\r\n",
    );
    assert.match(answer, /^HTTP\/1.1 200 [\s\S]*"object":"list"/);
    assert.match(
      await ask(
        parent.port,
        "GET http://example.test/ HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n",
      ),
      /^HTTP\/1.1 502 /,
    );
    assert.match(
      await ask(parent.port, "CONNECT example.test:443 HTTP/1.1\r\nHost: example.test\r\n\r\n"),
      /^HTTP\/1.1 502 /,
    );
    assert.deepEqual(parent.asked, [
      "GET http://api.x.ai/v1/models",
      "GET http://example.test/",
      "CONNECT example.test:443",
    ]);
    await parent.close();
    await simulation.close();
  });

  it("reaches other hosts at their configured ports", async () => {
    const simulation = await createProviderSimulation();
    const other = createServer((_, response) => response.end("other"));
    const port = await listen(other);
    const parent = await createParentProxy(simulation, { others: { "example.test:80": port } });
    const answer = await ask(
      parent.port,
      "GET http://example.test/ HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n",
    );
    assert.match(answer, /other/);
    await parent.close();
    await simulation.close();
    other.close();
  });
});

/** Decodes the chunked coding; throws on anything unusual. */
function dechunk(bytes: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.toString("latin1", at, end), 16);
    assert.ok(size >= 0, `no chunk size at ${at}`);
    if (size === 0) return Buffer.concat(pieces);
    pieces.push(bytes.subarray(end + 2, end + 2 + size));
    assert.equal(bytes.toString("latin1", end + 2 + size, end + 4 + size), "\r\n");
    at = end + 4 + size;
  }
}
