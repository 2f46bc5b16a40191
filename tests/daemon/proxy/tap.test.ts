import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import fc from "fast-check";
import { collect, createCleanup, listenTls, openProxy, type TestProxy, tlsThrough } from "./proxy.rig.ts";

const cleanup = createCleanup();
after(() => cleanup.run());

/** A provider whose connections `next()` returns in order. */
async function openProvider(): Promise<{ port: number; next(): Promise<TLSSocket> }> {
  const ready: TLSSocket[] = [];
  const wanted: ((socket: TLSSocket) => void)[] = [];
  const port = await listenTls(cleanup, (socket) => {
    const want = wanted.shift();
    if (want) want(socket);
    else ready.push(socket);
  });
  return {
    port,
    next: () =>
      new Promise((resolve) => {
        const socket = ready.shift();
        if (socket) resolve(socket);
        else wanted.push(resolve);
      }),
  };
}

let provider: Awaited<ReturnType<typeof openProvider>>;
let proxy: TestProxy;
before(async () => {
  provider = await openProvider();
  proxy = await openProxy(cleanup);
});

async function openPair(): Promise<{ client: TLSSocket; server: TLSSocket; connection: number }> {
  const before = proxy.frames.length;
  const client = await tlsThrough(proxy.port, provider.port);
  const server = await provider.next();
  const opened = await proxy.seen(
    (frame) => frame.kind === "opened" && frame.connection > connectionsBefore(before),
  );
  return { client, server, connection: opened.connection };
}

function connectionsBefore(frames: number): number {
  return proxy.frames.slice(0, frames).reduce((last, frame) => Math.max(last, frame.connection), 0);
}

async function closing(connection: number) {
  const frame = await proxy.seen((each) => each.kind === "closed" && each.connection === connection);
  return frame.kind === "closed" ? frame.reason : "";
}

/** Writes bytes in chunks, one turn of the event loop apart, so that they are sent separately. */
async function writeCut(socket: Socket, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const to = Math.min(Math.max(cut, from), bytes.length);
    if (to > from) socket.write(bytes.subarray(from, to));
    from = to;
    await new Promise(setImmediate);
  }
  if (from < bytes.length) socket.write(bytes.subarray(from));
}

const latin1 = (text: string) => Buffer.from(text, "latin1");

/** Bytes of both directions of a connection. The tap must relay each of them unchanged. */
const exchanges: readonly (readonly [name: string, request: string, response: string])[] = [
  [
    "a length",
    "POST /v1/x HTTP/1.1\r\nhOsT: a\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\ncontent-LENGTH: 2\r\n\r\nok",
  ],
  [
    "chunks with extensions and trailers",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n5;a=b\r\nhello\r\n0\r\nx: 1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding:   chunked\r\n\r\n1\r\na\r\n00003\r\nbcd\r\n0\r\nServer-Timing: a\r\n\r\n",
  ],
  ["HEAD", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"],
  ["204", "DELETE / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"],
  [
    "304",
    "GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: x\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
  ],
  [
    "100 Continue",
    "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
  ],
  [
    "pipelined requests",
    "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n3",
  ],
  [
    "an upgrade to WebSocket and its frames",
    "GET /rt HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x85\x01\x02\x03\x04\x69\x67\x6f\x68\x6e",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x05hello\x88\x00",
  ],
  [
    "a head that two parsers read differently",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
  ],
  [
    "folded lines, bare line feeds and bytes above ASCII",
    "GET / HTTP/1.1\nHost: a\n b\nX: \xff\xfe\n\n",
    "HTTP/1.1 200\nX:\n  y\n\n\x00\xff",
  ],
  ["no HTTP at all", "\x00\x01\x02garbage", "\xff\xfe\xfd"],
];

describe("startTap()", () => {
  for (const [name, request, response] of exchanges) {
    it(`passes ${name} on byte for byte, and logs the same`, async () => {
      const { client, server, connection } = await openPair();
      const atServer = collect(server);
      const atClient = collect(client);
      await writeCut(client, latin1(request), [1, 7, request.length - 1]);
      await atServer.until((bytes) => bytes.length >= request.length);
      await writeCut(server, latin1(response), [1, 9, response.length - 1]);
      await atClient.until((bytes) => bytes.length >= response.length);
      client.end();
      await atServer.end();
      server.end();
      assert.equal(await closing(connection), "clean");
      assert.equal(atServer.bytes().toString("latin1"), request);
      assert.equal(atClient.bytes().toString("latin1"), response);
      assert.equal(proxy.logged("request", connection).toString("latin1"), request);
      assert.equal(proxy.logged("response", connection).toString("latin1"), response);
    });
  }

  // Planted bug that this found: logging a view from a wrong offset where a chunk spans two batches.
  it("relays and logs every byte unchanged, in chunks of any size", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 300 }),
        fc.integer({ min: 1, max: 600 }),
        fc.array(fc.nat(180_000), { maxLength: 5 }),
        async (seed, times, cuts) => {
          const { client, server, connection } = await openPair();
          const sent = Buffer.concat(Array.from({ length: times }, () => seed));
          const atServer = collect(server);
          const atClient = collect(client);
          await Promise.all([writeCut(client, sent, cuts), writeCut(server, sent, [...cuts, 100])]);
          client.end();
          server.end();
          await Promise.all([atServer.end(), atClient.end()]);
          assert.equal(await closing(connection), "clean");
          assert.ok(sent.equals(atServer.bytes()));
          assert.ok(sent.equals(atClient.bytes()));
          assert.ok(sent.equals(proxy.logged("request", connection)));
          assert.ok(sent.equals(proxy.logged("response", connection)));
        },
      ),
      { numRuns: 20 },
    );
  });

  it("stops reading one side while the other accepts no bytes", async () => {
    const { client, server, connection } = await openPair();
    client.pause();
    const piece = Buffer.alloc(65_536, "x");
    let sent = 0;
    // More than all buffers hold, so the provider can't send everything.
    const total = 64 * 1_048_576;
    while (sent < total && server.write(piece)) sent += piece.length;
    const stalled = await new Promise<boolean>((resolve) => {
      let quiet = 0;
      let last = -1;
      const look = () => {
        quiet = server.bytesWritten - server.writableLength === last ? quiet + 1 : 0;
        last = server.bytesWritten - server.writableLength;
        if (quiet > 50) return resolve(true);
        if (!server.writableNeedDrain) {
          sent += piece.length;
          server.write(piece);
        }
        if (sent >= total) resolve(false);
        else setImmediate(look);
      };
      look();
    });
    assert.equal(stalled, true);
    const atClient = collect(client);
    client.resume();
    server.end();
    await atClient.end();
    assert.equal(atClient.bytes().length % piece.length, 0);
    assert.ok(atClient.bytes().length >= sent);
    client.end();
    assert.equal(await closing(connection), "clean");
  });

  it("relays a response that arrives before the request is complete", async () => {
    const { client, server, connection } = await openPair();
    const atClient = collect(client);
    const atServer = collect(server);
    client.write("POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\nonly some");
    await atServer.until((bytes) => bytes.includes("some"));
    server.write("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
    await atClient.until((bytes) => bytes.includes("413"));
    client.write(" and the rest");
    await atServer.until((bytes) => bytes.includes("rest"));
    client.end();
    server.end();
    assert.equal(await closing(connection), "clean");
  });

  it("relays the client's half-close, and the response after it", async () => {
    const { client, server, connection } = await openPair();
    const atServer = collect(server);
    const atClient = collect(client);
    client.end("GET / HTTP/1.0\r\n\r\n");
    assert.equal(await atServer.end(), "end");
    server.end("HTTP/1.0 200 OK\r\n\r\nuntil the end");
    assert.equal(await atClient.end(), "end");
    assert.match(atClient.bytes().toString(), /until the end$/);
    assert.equal(await closing(connection), "clean");
  });

  it("resets the client's side if the provider resets, after the earlier bytes", async () => {
    const { client, server, connection } = await openPair();
    const atClient = collect(client);
    server.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    await atClient.until((bytes) => bytes.includes("hello"));
    transportOf(server).resetAndDestroy();
    assert.equal(await atClient.end(), "error");
    assert.equal(await closing(connection), "upstream_reset");
  });

  it("resets the provider's side if the client disconnects", async () => {
    const { client, server, connection } = await openPair();
    const atServer = collect(server);
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await atServer.until((bytes) => bytes.includes("GET"));
    transportOf(client).resetAndDestroy();
    assert.equal(await atServer.end(), "error");
    assert.equal(await closing(connection), "client_aborted");
  });

  it("logs frames with times that never decrease", () => {
    const times = new Map<number, number>();
    for (const frame of proxy.frames) {
      if (!("atMs" in frame)) continue;
      assert.ok(frame.atMs >= (times.get(frame.connection) ?? 0));
      times.set(frame.connection, frame.atMs);
    }
    assert.ok(times.size > 10);
  });

  it("relays simultaneous 1 MB uploads and downloads on many connections completely", async () => {
    const body = Buffer.alloc(1_200_000);
    for (let at = 0; at < body.length; at += 4) body.writeUInt32LE(at, at);
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        const { client, server } = await openPairAny();
        const atServer = collect(server);
        const atClient = collect(client);
        client.end(body);
        server.end(body);
        await Promise.all([atServer.end(), atClient.end()]);
        assert.ok(body.equals(atServer.bytes()));
        assert.ok(body.equals(atClient.bytes()));
      }),
    );
  });
});

/** A client and a server connection. If several are opened at once, the two need not belong together. */
async function openPairAny() {
  const client = await tlsThrough(proxy.port, provider.port);
  return { client, server: await provider.next() };
}

/** Returns the TCP socket below a TLS socket. Only a TCP socket can be reset. */
function transportOf(socket: TLSSocket): Socket {
  return (socket as unknown as { _parent: Socket })._parent;
}
