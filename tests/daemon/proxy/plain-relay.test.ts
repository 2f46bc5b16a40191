import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { after, describe, it } from "node:test";
import type { GatewayRoute } from "../../../daemon/proxy/proxy-config.ts";
import {
  answerEach,
  collect,
  createCleanup,
  dialLocal,
  listenTcp,
  listenTls,
  openProxy,
  openServer,
  providerName,
  type TestProxy,
  testAuthority,
} from "./proxy.rig.ts";

const cleanup = createCleanup();
after(() => cleanup.run());

describe("createPlainRelay() in absolute form", () => {
  it("rewrites the target to origin form, removes Proxy-* headers and changes nothing else", async () => {
    const server = openServer((seen, socket) => {
      if (seen.endsWith("0\r\nX-T: 1\r\n\r\n"))
        socket.write("HTTP/1.1 200 OK\r\nX-Odd:  a\r\nContent-Length: 2\r\n\r\nok");
    });
    const port = await listenTcp(cleanup, server.serve);
    const proxy = await openProxy(cleanup);
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    client.write(
      `POST http://localhost:${port}/api/chat?a=%20b HTTP/1.1\r\nx-FIRST: 1\r\nhOST:\tlocalhost:${port}\r\nProxy-Connection: keep-alive\r\n` +
        "proxy-authorization: Basic c2hvcDo=\r\nUser-Agent: \xe9\r\nTransfer-Encoding: chunked\r\n\r\n" +
        "3;x=y\r\nabc\r\n0\r\nX-T: 1\r\n\r\n",
      "latin1",
    );
    await got.until((bytes) => bytes.includes("ok"));
    const sent =
      `POST /api/chat?a=%20b HTTP/1.1\r\nx-FIRST: 1\r\nhOST:\tlocalhost:${port}\r\nUser-Agent: \xe9\r\n` +
      "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX-T: 1\r\n\r\n";
    assert.equal(server.connections[0]?.seen, sent);
    assert.equal(got.bytes().toString(), "HTTP/1.1 200 OK\r\nX-Odd:  a\r\nContent-Length: 2\r\n\r\nok");
    client.end();
    await proxy.seen((frame) => frame.kind === "closed");
    assert.equal(proxy.logged("request").toString("latin1"), sent);
    assert.equal(proxy.logged("response").toString(), got.bytes().toString());
    assert.partialDeepStrictEqual(proxy.frames[0], {
      kind: "opened",
      mode: "absolute",
      host: "localhost",
      port,
      proxyUser: "shop",
    });
  });

  it("uses one upstream connection per target, one after the other, and keeps the order of responses", async () => {
    const one = openServer(answerEach());
    const two = openServer(answerEach());
    const first = await listenTcp(cleanup, one.serve);
    const second = await listenTcp(cleanup, two.serve);
    const proxy = await openProxy(cleanup);
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    const ask = (port: number, path: string) =>
      `GET http://localhost:${port}/${path} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`;
    client.write([ask(first, "a"), ask(first, "b"), ask(second, "c"), ask(second, "d")].join(""));
    await got.until((bytes) => bytes.toString().split("ok").length === 5);
    assert.deepEqual(got.bytes().toString().match(/ok \d/g), ["ok 1", "ok 2", "ok 1", "ok 2"]);
    assert.equal(one.connections.length, 1);
    assert.equal(two.connections.length, 1);
    assert.deepEqual(two.connections[0]?.seen.match(/GET \S+/g), ["GET /c", "GET /d"]);
    await one.connections[0]?.closed;
    client.end();
    await got.end();
  });

  it("waits for the rest of a response before it connects to another target", async () => {
    const one = openServer((_, socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsl");
    });
    const two = openServer(answerEach());
    const first = await listenTcp(cleanup, one.serve);
    const second = await listenTcp(cleanup, two.serve);
    const proxy = await openProxy(cleanup);
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    client.write(
      `GET http://localhost:${first}/ HTTP/1.1\r\nHost: localhost:${first}\r\n\r\nGET http://localhost:${second}/ HTTP/1.1\r\nHost: localhost:${second}\r\n\r\n`,
    );
    await got.until((bytes) => bytes.includes("sl"));
    await proxy.ping(5_000);
    assert.equal(two.connections.length, 0);
    one.connections[0]?.socket.write("ow");
    await got.until((bytes) => bytes.includes("ok 1"));
    assert.match(got.bytes().toString(), /slowHTTP/);
    client.destroy();
  });

  it("relays other hosts than a provider's unlogged and counts them once", async () => {
    const server = openServer(answerEach());
    const port = await listenTcp(cleanup, server.serve);
    const proxy = await openProxy(cleanup, { providerHosts: ["localhost:1"] });
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    const ask = `GET http://localhost:${port}/ HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`;
    client.write(ask);
    await got.until((bytes) => bytes.includes("ok 1"));
    client.write(ask);
    await got.until((bytes) => bytes.includes("ok 2"));
    client.end();
    await got.end();
    await proxy.ping(5_000);
    assert.deepEqual(
      proxy.frames.map((frame) => frame.kind),
      ["tunnelled"],
    );
  });

  it("notes an answer of an unlisted host that looks like a language model API's, and nothing else", async () => {
    const port = await listenTcp(cleanup, (socket) => {
      socket.on("data", (bytes: Buffer) => {
        const path = /^POST (\S+)/.exec(bytes.toString())?.[1] ?? "";
        const status = path.startsWith("/missing") ? "404 Not Found" : "200 OK";
        const type = path.startsWith("/page") ? "text/html" : "application/json; charset=utf-8";
        socket.write(`HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: 2\r\n\r\n{}`);
      });
      socket.on("end", () => socket.end());
    });
    const proxy = await openProxy(cleanup, { providerHosts: ["localhost:1"] });
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    const requests: [path: string, more: string][] = [
      ["/missing/v1/chat/completions", ""],
      ["/page/v1/chat/completions", ""],
      ["/v1/orders", ""],
      ["/v1/chat/completions", "Origin: http://evil.test\r\n"],
      ["/team/v1/chat/completions?x=1", ""],
      ["/v1/messages", ""],
    ];
    for (const [index, [path, more]] of requests.entries()) {
      client.write(
        `POST http://localhost:${port}${path} HTTP/1.1\r\nHost: localhost:${port}\r\n${more}Content-Length: 0\r\n\r\n`,
      );
      await got.until((bytes) => bytes.toString().split("HTTP/1.1").length === index + 2);
    }
    client.end();
    await got.end();
    await proxy.ping(5_000);
    assert.partialDeepStrictEqual(
      proxy.frames.filter(({ kind }) => kind === "unlisted"),
      [
        { host: "localhost", port, api: "openai" },
        { host: "localhost", port, api: "anthropic" },
      ],
    );
  });

  it("relays a request that was queued behind an upgrade request, and before a FIN", async () => {
    const server = openServer(answerEach());
    const port = await listenTcp(cleanup, server.serve);
    const proxy = await openProxy(cleanup);
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    const head = (more: string) =>
      `GET http://localhost:${port}/ HTTP/1.1\r\nHost: localhost:${port}\r\n${more}\r\n`;
    client.end(head("Upgrade: h2c\r\nConnection: Upgrade\r\n") + head(""));
    assert.equal(await got.end(), "end");
    assert.match(got.bytes().toString(), /ok 1.*ok 2$/s);
    assert.equal(server.connections.length, 1);
  });

  it("relays an upgrade, and the bytes that the client sends before the 101", async () => {
    const server = openServer((seen, socket) => {
      if (seen.endsWith("\r\n\r\nearly"))
        socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nframe");
      if (seen.endsWith("late")) socket.end("bye");
    });
    const port = await listenTcp(cleanup, (socket) => {
      server.serve(socket);
      // The server answers 101 to the head alone, without the early bytes.
      socket.once("data", () =>
        socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
      );
    });
    const proxy = await openProxy(cleanup);
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    client.write(
      `GET http://localhost:${port}/ HTTP/1.1\r\nHost: localhost:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nGET`,
    );
    await got.until((bytes) => bytes.includes("101"));
    client.write("\x00\xff\r\n\r\nlate", "latin1");
    await got.end();
    assert.match(server.connections[0]?.seen ?? "", /Connection: Upgrade\r\n\r\nGET\x00\xff\r\n\r\nlate$/);
    assert.match(got.bytes().toString(), /bye$/);
    client.end();
  });

  it("relays a response that ends with the connection", async () => {
    const server = openServer((_, socket) => socket.end("HTTP/1.1 200 OK\r\n\r\nall of it"));
    const port = await listenTcp(cleanup, server.serve);
    const proxy = await openProxy(cleanup);
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    client.write(`GET http://localhost:${port}/ HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`);
    assert.equal(await got.end(), "end");
    assert.match(got.bytes().toString(), /all of it$/);
    client.end();
    assert.partialDeepStrictEqual(await proxy.seen((frame) => frame.kind === "closed"), { reason: "clean" });
  });

  it("relays a reset in both directions", async () => {
    const server = openServer((_, socket) =>
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart"),
    );
    const port = await listenTcp(cleanup, server.serve);
    const proxy = await openProxy(cleanup);
    for (const fromServer of [true, false]) {
      const client = await dialLocal(proxy.port);
      const got = collect(client);
      client.write(`GET http://localhost:${port}/ HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`);
      await got.until((bytes) => bytes.includes("part"));
      const far = server.connections.at(-1)?.socket as Socket;
      if (fromServer) {
        far.resetAndDestroy();
        assert.equal(await got.end(), "error");
      } else {
        const gone = once(far, "error");
        client.resetAndDestroy();
        assert.equal(((await gone) as [NodeJS.ErrnoException])[0].code, "ECONNRESET");
      }
    }
    await proxy.seen((frame) => frame.kind === "closed" && frame.reason === "upstream_reset");
    await proxy.seen((frame) => frame.kind === "closed" && frame.reason === "client_aborted");
  });

  it("logs the available part of a request whose server can't be reached", async () => {
    const brief = createCleanup();
    const port = await listenTcp(brief, () => {});
    await brief.run();
    const proxy = await openProxy(cleanup);
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    client.write(
      `POST http://localhost:${port}/x HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 2\r\n\r\nab`,
    );
    await got.end();
    assert.match(got.bytes().toString(), /^HTTP\/1.1 502 [\s\S]*ECONNREFUSED/);
    const closed = await proxy.seen((frame) => frame.kind === "closed");
    assert.partialDeepStrictEqual(closed, { reason: "upstream_unreachable", code: "ECONNREFUSED" });
    assert.match(proxy.logged("request").toString(), /^POST \/x HTTP\/1.1\r\n[\s\S]*\r\n\r\nab$/);
  });

  it("stops reading the client while the server accepts no bytes, and loses none", async () => {
    let received = 0;
    const far = Promise.withResolvers<Socket>();
    const port = await listenTcp(cleanup, (socket) => {
      socket.pause();
      far.resolve(socket);
    });
    const proxy = await openProxy(cleanup);
    const client = await dialLocal(proxy.port);
    const total = 24 * 1_048_576;
    client.write(
      `POST http://localhost:${port}/ HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: ${total}\r\n\r\n`,
    );
    client.write(Buffer.alloc(total, "x"));
    const socket = await far.promise;
    await proxy.ping(5_000);
    const enough = Promise.withResolvers<void>();
    socket.on("data", (bytes: Buffer) => {
      received += bytes.length;
      if (received > total) enough.resolve();
    });
    socket.resume();
    await enough.promise;
    client.destroy();
  });
});

describe("createPlainRelay() as gateway", () => {
  async function openGateway(route: Partial<GatewayRoute>, serve: (socket: Socket) => void, tls: boolean) {
    const port = tls ? await listenTls(cleanup, serve) : await listenTcp(cleanup, serve);
    const proxy = await openProxy(cleanup, {
      gatewayRoutes: [{ prefix: "/anthropic", host: "localhost", port, tls, basePath: "", ...route }],
    });
    return { port, proxy };
  }

  it("rewrites path and Host, removes the project header and changes nothing else", async () => {
    const server = openServer((seen, socket) => {
      if (seen.endsWith("}")) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
    const { port, proxy } = await openGateway({ basePath: "/base" }, server.serve, true);
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    client.write(
      `POST /anthropic/v1/messages?beta=true HTTP/1.1\r\nX-API-key: k\r\nHOST: localhost:${proxy.port}\r\nx-meter-project: shop\r\ncontent-length: 2\r\n\r\n{}`,
    );
    await got.until((bytes) => bytes.includes("ok"));
    const sent = `POST /base/v1/messages?beta=true HTTP/1.1\r\nX-API-key: k\r\nHOST: localhost:${port}\r\ncontent-length: 2\r\n\r\n{}`;
    assert.equal(server.connections[0]?.seen, sent);
    client.end();
    await proxy.seen((frame) => frame.kind === "closed");
    assert.equal(proxy.logged("request").toString(), sent);
    assert.deepEqual(
      proxy.frames.map((frame) => frame.kind),
      ["opened", "labelled", "data", "data", "data", "ended", "ended", "closed"],
    );
    assert.partialDeepStrictEqual(proxy.frames[0], { mode: "gateway", host: "localhost", port });
    assert.partialDeepStrictEqual(proxy.frames[1], { kind: "labelled", project: "shop" });
  });

  for (const [path, upstream] of [
    ["/anthropic", "/"],
    ["/anthropic?x=1", "/?x=1"],
    ["/anthropic/", "/"],
    ["/anthropic/a/../b", "/a/../b"],
  ] as const) {
    it(`sends ${path} to ${upstream}`, async () => {
      const server = openServer(answerEach());
      const { proxy } = await openGateway({}, server.serve, false);
      const client = await dialLocal(proxy.port);
      const got = collect(client);
      client.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${proxy.port}\r\n\r\n`);
      await got.until((bytes) => bytes.includes("ok"));
      assert.ok(server.connections[0]?.seen.startsWith(`GET ${upstream} HTTP/1.1\r\n`));
      client.destroy();
    });
  }

  it("refuses web pages, other names for this machine and other paths", async () => {
    const server = openServer(() => {});
    const { proxy } = await openGateway({}, server.serve, false);
    const own = `127.0.0.1:${proxy.port}`;
    const requests = [
      `GET /anthropic/x HTTP/1.1\r\nHost: rebind.test:${proxy.port}\r\n\r\n`,
      `GET /anthropic/x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
      `GET /anthropic/x HTTP/1.1\r\nHost: 0.0.0.0:${proxy.port}\r\n\r\n`,
      `GET /anthropic/x HTTP/1.1\r\nHost: ${own}.\r\n\r\n`,
      "GET /anthropic/x HTTP/1.0\r\n\r\n",
      `GET /anthropic/x HTTP/1.1\r\nHost: ${own}\r\nOrigin: null\r\n\r\n`,
      `GET /anthropic/x HTTP/1.1\r\nHost: ${own}\r\noRIGIN: http://${own}\r\n\r\n`,
      `GET /anthropic/x HTTP/1.1\r\nHost: ${own}\r\nSec-Fetch-Site: none\r\n\r\n`,
      `POST /anthropic/x HTTP/1.1\r\nHost: ${own}\r\nsec-fetch-mode: navigate\r\nContent-Length: 1\r\n\r\nx`,
    ];
    for (const request of requests) {
      const client = await dialLocal(proxy.port);
      const got = collect(client);
      client.write(request);
      await got.end();
      assert.match(got.bytes().toString(), /^HTTP\/1.1 403 Forbidden/, request);
      client.destroy();
    }
    for (const path of ["/anthropicx/", "/", "/Anthropic/", "//anthropic/", "/openai/"]) {
      const client = await dialLocal(proxy.port);
      const got = collect(client);
      client.write(`GET ${path} HTTP/1.1\r\nHost: ${own}\r\n\r\n`);
      await got.end();
      assert.match(got.bytes().toString(), /^HTTP\/1.1 400 /, path);
      client.destroy();
    }
    assert.equal(server.connections.length, 0);
    await proxy.ping(5_000);
    assert.equal(proxy.counters().refused.gateway_refused, requests.length);
  });

  it("allows the loopback names with the proxy's port", async () => {
    const server = openServer(answerEach());
    const { proxy } = await openGateway({}, server.serve, false);
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    for (const [turn, host] of ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"].entries()) {
      client.write(`GET /anthropic/x HTTP/1.1\r\nHost: ${host}:${proxy.port}\r\n\r\n`);
      await got.until((bytes) => bytes.includes(`ok ${turn + 1}`));
    }
    assert.equal(server.connections.length, 1);
    client.destroy();
  });

  it("serves Node's fetch, which sends Sec-Fetch-Mode: cors and no other header of a page", async () => {
    const server = openServer(answerEach());
    const { proxy } = await openGateway({}, server.serve, false);
    const response = await fetch(`http://127.0.0.1:${proxy.port}/anthropic/x`);
    assert.equal(await response.text(), "ok 1");
    assert.match(server.connections[0]?.seen ?? "", /sec-fetch-mode: cors/i);
  });

  it("answers 502 if the upstream's certificate can't be trusted, and sends it nothing", async () => {
    let received = 0;
    const leaf = testAuthority(providerName, ["localhost"]);
    const port = await listenTls(
      cleanup,
      (socket) => socket.on("data", (bytes: Buffer) => (received += bytes.length)),
      leaf,
    );
    const proxy = await openProxy(cleanup, {
      gatewayRoutes: [{ prefix: "/anthropic", host: "localhost", port, tls: true, basePath: "" }],
    });
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    client.write(
      `POST /anthropic/v1 HTTP/1.1\r\nHost: localhost:${proxy.port}\r\nContent-Length: 6\r\n\r\nsecret`,
    );
    await got.end();
    assert.match(got.bytes().toString(), /^HTTP\/1.1 502 /);
    assert.partialDeepStrictEqual(await proxy.seen((frame) => frame.kind === "closed"), {
      reason: "upstream_tls",
    });
    assert.equal(received, 0);
    client.destroy();
  });

  /** Aborts a call that the proxy can't send yet, and returns how its connection closed in the log. */
  async function abortWhileConnecting(proxy: TestProxy, upstreamTried: Promise<unknown>) {
    const client = await dialLocal(proxy.port);
    client.write(
      `POST /anthropic/v1/messages HTTP/1.1\r\nHost: localhost:${proxy.port}\r\nX-Meter-Project: shop\r\nContent-Length: 9\r\n\r\n{"a"`,
    );
    await upstreamTried;
    await proxy.ping(5_000);
    client.resetAndDestroy();
    return await proxy.seen((frame) => frame.kind === "closed");
  }

  it("logs a request whose client aborts during the TLS handshake with the upstream", async () => {
    const tried = Promise.withResolvers<void>();
    const port = await listenTcp(cleanup, () => tried.resolve());
    const proxy = await openProxy(cleanup, {
      gatewayRoutes: [{ prefix: "/anthropic", host: "localhost", port, tls: true, basePath: "" }],
    });
    const closed = await abortWhileConnecting(proxy, tried.promise);
    assert.partialDeepStrictEqual(closed, { reason: "client_aborted", code: "ECONNRESET" });
    assert.equal(
      proxy.logged("request").toString(),
      `POST /v1/messages HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 9\r\n\r\n{"a"`,
    );
    assert.deepEqual(
      proxy.frames.map((frame) => frame.kind),
      ["opened", "labelled", "data", "data", "closed"],
    );
  });

  it("logs a request whose client aborts while a parent proxy opens the tunnel", async () => {
    const tried = Promise.withResolvers<void>();
    const parentPort = await listenTcp(cleanup, (socket) => socket.on("data", () => tried.resolve()));
    const parent = { host: "127.0.0.1", port: parentPort, tls: false, authorization: null };
    const proxy = await openProxy(cleanup, {
      gatewayRoutes: [
        { prefix: "/anthropic", host: "api.provider.test", port: 443, tls: true, basePath: "" },
      ],
      parentProxies: { https: parent, http: null, noProxy: [] },
    });
    const closed = await abortWhileConnecting(proxy, tried.promise);
    assert.partialDeepStrictEqual(closed, { reason: "client_aborted", code: "ECONNRESET" });
    assert.match(
      proxy.logged("request").toString(),
      /^POST \/v1\/messages HTTP\/1.1\r\nHost: api\.provider\.test\r\n/,
    );
  });
});
