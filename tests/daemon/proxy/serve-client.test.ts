import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { after, describe, it } from "node:test";
import {
  answerEach,
  collect,
  createCleanup,
  dialLocal,
  listenTcp,
  openProxy,
  openServer,
} from "./proxy.rig.ts";

const cleanup = createCleanup();
after(() => cleanup.run());

const refusals: readonly (readonly [name: string, request: string, status: number])[] = [
  [
    "two lengths that differ",
    "POST http://h.test/ HTTP/1.1\r\nHost: h.test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    400,
  ],
  [
    "a length and chunks",
    "POST http://h.test/ HTTP/1.1\r\nHost: h.test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    400,
  ],
  ["a folded line", "GET http://h.test/ HTTP/1.1\r\nHost: h.test\r\nX: a\r\n b\r\n\r\n", 400],
  ["bare line feeds", "GET http://h.test/ HTTP/1.1\nHost: h.test\n\n", 400],
  ["two hosts", "GET http://h.test/ HTTP/1.1\r\nHost: h.test\r\nHost: i.test\r\n\r\n", 400],
  ["no host", "GET http://h.test/ HTTP/1.1\r\n\r\n", 400],
  ["a user in the target", "GET http://me@h.test/ HTTP/1.1\r\nHost: h.test\r\n\r\n", 400],
  ["https in absolute form", "GET https://h.test/ HTTP/1.1\r\nHost: h.test\r\n\r\n", 400],
  ["a path of no gateway", "GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400],
  ["the root", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400],
  ["HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
  ["a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400],
  ["garbage", "\x00\x01\x02\x03", 400],
  ["CONNECT without a port", "CONNECT h.test HTTP/1.1\r\nHost: h.test\r\n\r\n", 400],
  ["CONNECT with a path", "CONNECT h.test:443/x HTTP/1.1\r\nHost: h.test\r\n\r\n", 400],
  ["CONNECT with a user", "CONNECT me@h.test:443 HTTP/1.1\r\nHost: h.test\r\n\r\n", 400],
  ["CONNECT with port 0", "CONNECT h.test:0 HTTP/1.1\r\nHost: h.test\r\n\r\n", 400],
  ["CONNECT with a large port", "CONNECT h.test:65536 HTTP/1.1\r\nHost: h.test\r\n\r\n", 400],
  ["CONNECT with a body", "CONNECT h.test:443 HTTP/1.1\r\nHost: h.test\r\nContent-Length: 3\r\n\r\nabc", 400],
  ["CONNECT to a zone", "CONNECT [fe80::1%25lo]:443 HTTP/1.1\r\nHost: h.test\r\n\r\n", 400],
  ["an endless head", `GET http://h.test/ HTTP/1.1\r\nX: ${"x".repeat(70_000)}`, 431],
  ["half a CONNECT", "CONNECT h.test:44", 408],
];

describe("serveClient()", () => {
  it("refuses invalid requests with a plain text, closes, and dials no upstream", async () => {
    const proxy = await openProxy(cleanup, { limits: { headTimeoutMs: 300 } });
    await Promise.all(
      refusals.map(async ([name, request, status]) => {
        const client = await dialLocal(proxy.port);
        const got = collect(client);
        client.write(request, "latin1");
        await got.end();
        assert.match(
          got.bytes().toString(),
          new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*\r\n\r\nmeter: .+\n$`),
          name,
        );
        client.destroy();
      }),
    );
    await proxy.ping(5_000);
    assert.equal(proxy.counters().accepted, refusals.length);
    assert.equal(proxy.counters().refused.malformed, refusals.length - 2);
    assert.equal(proxy.counters().refused.head_too_large, 1);
    assert.equal(proxy.counters().refused.head_timeout, 1);
    assert.deepEqual(proxy.frames, []);
  });

  it("refuses an ambiguous request after it has answered the earlier ones", async () => {
    const server = openServer(answerEach());
    const port = await listenTcp(cleanup, server.serve);
    const proxy = await openProxy(cleanup);
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    client.write(
      `GET http://localhost:${port}/ HTTP/1.1\r\nHost: localhost:${port}\r\n\r\nGET http://localhost:${port}/ HTTP/1.1\r\nHost : x\r\n\r\n`,
    );
    await got.end();
    assert.match(got.bytes().toString(), /^HTTP\/1.1 200 OK[\s\S]*ok 1HTTP\/1.1 400 Bad Request/);
    assert.doesNotMatch(server.connections[0]?.seen ?? "", /Host :/);
    client.destroy();
  });

  it("resets the upstream that was receiving a broken body", async () => {
    const server = openServer(() => {});
    const port = await listenTcp(cleanup, server.serve);
    const proxy = await openProxy(cleanup);
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    client.write(
      `POST http://localhost:${port}/ HTTP/1.1\r\nHost: localhost:${port}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
    );
    await proxy.seen((frame) => frame.kind === "data");
    const gone = once(server.connections[0]?.socket as Socket, "error");
    client.write("zz\r\n");
    await got.end();
    await gone;
    assert.match(got.bytes().toString(), /^HTTP\/1.1 400 /);
    client.destroy();
  });

  it("requires the password, if one is set, in every mode", async () => {
    const server = openServer(answerEach());
    const port = await listenTcp(cleanup, server.serve);
    const proxy = await openProxy(cleanup, {
      proxyPassword: "sesame",
      gatewayRoutes: [{ prefix: "/ollama", host: "localhost", port, tls: false, basePath: "" }],
    });
    const basic = (text: string) => `Proxy-Authorization: Basic ${Buffer.from(text).toString("base64")}\r\n`;
    const ways = (line: string) => [
      `CONNECT localhost:${port} HTTP/1.1\r\nHost: localhost\r\n${line}\r\n`,
      `GET http://localhost:${port}/ HTTP/1.1\r\nHost: localhost\r\n${line}\r\n`,
      `GET /ollama/ HTTP/1.1\r\nHost: localhost:${proxy.port}\r\n${line}\r\n`,
    ];
    for (const line of ["", basic("shop:wrong"), basic("sesame"), "Proxy-Authorization: Bearer sesame\r\n"]) {
      for (const request of ways(line)) {
        const client = await dialLocal(proxy.port);
        const got = collect(client);
        client.write(request);
        await got.end();
        assert.match(got.bytes().toString(), /^HTTP\/1.1 407 [\s\S]*Proxy-Authenticate: Basic realm="meter"/);
        client.destroy();
      }
    }
    assert.equal(server.connections.length, 0);
    for (const request of ways(basic("shop:sesame"))) {
      const client = await dialLocal(proxy.port);
      const got = collect(client);
      client.write(request);
      await got.until((bytes) => bytes.length > 10);
      assert.match(got.bytes().toString(), /^HTTP\/1.1 200 /);
      client.destroy();
    }
    for (const { seen } of server.connections) assert.doesNotMatch(seen, /proxy-authorization/i);
    await proxy.seen(
      (frame) => frame.kind === "opened" && frame.mode === "gateway" && frame.proxyUser === "shop",
    );
  });
});
