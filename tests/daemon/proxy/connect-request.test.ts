import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { after, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import type { CertificatePair } from "../../../core/ports/certificates.ts";
import {
  collect,
  connectThrough,
  createCleanup,
  dialLocal,
  listenTcp,
  listenTls,
  meterAuthority,
  openProxy,
  providerAuthority,
  providerLeaf,
  providerName,
  testAuthority,
  tlsThrough,
} from "./proxy.rig.ts";

const cleanup = createCleanup();
after(() => cleanup.run());

const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const echoOnce = (socket: Socket) => {
  socket.on("data", (bytes: Buffer) => socket.end(bytes));
  socket.on("end", () => socket.end());
};

describe("serveConnect()", () => {
  const tunnels = [
    ["only HTTP/2 is offered", { ALPNProtocols: ["h2"] }, "http2_only"],
    ["the server name is another one", { servername: "elsewhere.test" }, "sni_mismatch"],
    ["no server name is sent", { servername: "" }, "sni_mismatch"],
  ] as const;
  for (const [name, options, reason] of tunnels) {
    it(`tunnels unread when ${name}`, async () => {
      const port = await listenTls(cleanup, echoOnce, providerLeaf, {
        ALPNProtocols: ["h2", "http/1.1"],
      });
      const proxy = await openProxy(cleanup);
      const client = await tlsThrough(proxy.port, port, {
        ca: [providerAuthority.certificatePem],
        checkServerIdentity: () => undefined,
        ...options,
      });
      assert.equal(client.getPeerCertificate().issuer.CN, providerName);
      const got = collect(client);
      client.write("unread");
      await got.end();
      assert.equal(got.bytes().toString(), "unread");
      client.end();
      const frame = await proxy.seen((each) => each.kind === "tunnelled");
      assert.partialDeepStrictEqual(frame, { kind: "tunnelled", host: "localhost", port, reason });
      await proxy.ping(5_000);
      assert.equal(proxy.counters().tunnelled[reason], 1);
      assert.deepEqual(
        proxy.frames.map((each) => each.kind),
        ["tunnelled"],
      );
    });
  }

  const withoutCertificate: readonly (readonly [string, CertificatePair | null])[] = [
    ["the authority may not sign for the host", testAuthority("narrow CA", ["other.test"])],
    ["there is no authority", null],
  ];
  for (const [name, authority] of withoutCertificate) {
    it(`tunnels unread, and names the host, when ${name}`, async () => {
      const port = await listenTls(cleanup, echoOnce);
      const proxy = await openProxy(cleanup, { authority });
      const client = await tlsThrough(proxy.port, port, { ca: [providerAuthority.certificatePem] });
      assert.equal(client.getPeerCertificate().issuer.CN, providerName);
      const got = collect(client);
      client.write("unread");
      await got.end();
      assert.equal(got.bytes().toString(), "unread");
      client.end();
      const frame = await proxy.seen((each) => each.kind === "tunnelled");
      assert.partialDeepStrictEqual(frame, { host: "localhost", port, reason: "no_certificate" });
    });
  }

  it("tunnels other hosts than a provider's unread", async () => {
    const port = await listenTls(cleanup, (socket) =>
      socket.on("data", (bytes: Buffer) => socket.end(bytes)),
    );
    const proxy = await openProxy(cleanup, { providerHosts: ["api.example:443", `localhost:${port + 1}`] });
    const client = await tlsThrough(proxy.port, port, { ca: [providerAuthority.certificatePem] });
    assert.equal(client.getPeerCertificate().issuer.CN, providerName);
    const got = collect(client);
    client.end("mine");
    await got.end();
    assert.equal(got.bytes().toString(), "mine");
    assert.partialDeepStrictEqual(await proxy.seen((frame) => frame.kind === "tunnelled"), {
      reason: "not_provider",
    });
  });

  it("tunnels plain text to a provider's host", async () => {
    const port = await listenTcp(cleanup, (socket) => {
      socket.write("hello\n");
      socket.on("data", (bytes: Buffer) => socket.end(bytes));
    });
    const proxy = await openProxy(cleanup);
    const talker = await connectThrough(proxy.port, `localhost:${port}`);
    const got = collect(talker.socket);
    talker.socket.write("EHLO\n");
    await got.end();
    assert.equal(got.bytes().toString(), "hello\nEHLO\n");
    await proxy.ping(5_000);
    assert.equal(proxy.counters().tunnelled.not_tls, 1);
  });

  it("logs what passes to a server that speaks plain HTTP, even if the server speaks first", async () => {
    const port = await listenTcp(cleanup, (socket) => {
      socket.write("hi");
      socket.on("data", () => socket.end(answer));
    });
    const proxy = await openProxy(cleanup, { plainHosts: [`localhost:${port}`] });
    const client = await connectThrough(proxy.port, `localhost:${port}`);
    const got = collect(client.socket);
    await got.until((bytes) => bytes.length === 2);
    client.socket.write("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    await got.end();
    client.socket.end();
    await proxy.seen((frame) => frame.kind === "closed");
    assert.equal(got.bytes().toString(), `hi${answer}`);
    const logged = proxy.frames.filter((frame) => frame.kind === "data" && frame.direction === "request");
    assert.match(
      Buffer.concat(
        logged.map((frame) => (frame.kind === "data" ? frame.bytes : Buffer.alloc(0))),
      ).toString(),
      /^POST \/v1\/chat/,
    );
    assert.equal(proxy.counters().tunnelled.not_tls, 0);
  });

  it("closes a connection to a provider whose client sends nothing, and relays none of it", async () => {
    let passed = 0;
    const upstreams: Promise<unknown>[] = [];
    const port = await listenTcp(cleanup, (socket) => {
      socket.write("too early");
      socket.on("data", (bytes: Buffer) => (passed += bytes.length));
      upstreams.push(new Promise((resolve) => socket.once("end", resolve)));
    });
    const proxy = await openProxy(cleanup, { limits: { helloTimeoutMs: 20 } });
    const silent = await connectThrough(proxy.port, `localhost:${port}`);
    const heard = collect(silent.socket);
    await heard.end();
    const begun = await connectThrough(proxy.port, `localhost:${port}`);
    const answered = collect(begun.socket);
    begun.socket.write(Buffer.from([0x16, 3, 1, 2, 0, 1]));
    await answered.end();
    await Promise.all(upstreams);
    assert.deepEqual([heard.bytes().length, answered.bytes().length, passed], [0, 0, 0]);
    await proxy.ping(5_000);
    assert.equal(proxy.counters().tunnelled.not_tls, 0);
    assert.equal(proxy.counters().refused.head_timeout, 2);
  });

  it("closes both sides if the client ends before its first byte", async () => {
    const gone = Promise.withResolvers<void>();
    const port = await listenTcp(cleanup, (socket) => {
      socket.resume();
      socket.once("end", () => gone.resolve());
    });
    const proxy = await openProxy(cleanup);
    const { socket } = await connectThrough(proxy.port, `localhost:${port}`);
    const heard = collect(socket);
    socket.end();
    await gone.promise;
    await heard.end();
    await proxy.ping(5_000);
    assert.equal(proxy.counters().tunnelled.not_tls, 0);
  });

  const hangUps: Readonly<Record<string, (client: Socket) => void>> = {
    "the client resets": (client) => client.resetAndDestroy(),
    "the client ends": (client) => client.end(),
    "the client resets in the middle of its hello": (client) =>
      client.write(Buffer.from([0x16, 3, 1, 2, 0, 1]), () => client.resetAndDestroy()),
  };
  for (const [manner, hangUp] of Object.entries(hangUps)) {
    it(`reports a connection as closed unused if ${manner} before the hello`, async () => {
      const port = await listenTcp(cleanup, (socket) => socket.resume());
      const proxy = await openProxy(cleanup);
      const { socket } = await connectThrough(proxy.port, `localhost:${port}`);
      hangUp(socket);
      const frame = await proxy.seen(({ kind }) => kind === "closed_unused" || kind === "tunnelled");
      assert.partialDeepStrictEqual(frame, { kind: "closed_unused", host: "localhost" });
      await proxy.ping(5_000);
      assert.deepEqual([proxy.counters().closedUnused, proxy.counters().tunnelled.not_tls], [1, 0]);
    });
  }

  it("reports a connection as closed unused if the provider resets it before the hello", async () => {
    const opened = Promise.withResolvers<Socket>();
    const port = await listenTcp(cleanup, (socket) => opened.resolve(socket));
    const proxy = await openProxy(cleanup);
    const { socket } = await connectThrough(proxy.port, `localhost:${port}`);
    const heard = collect(socket);
    (await opened.promise).resetAndDestroy();
    assert.equal((await proxy.seen(({ kind }) => kind !== "opened")).kind, "closed_unused");
    await heard.end();
  });

  it("reads a hello that arrives in single bytes, and one that arrives with the CONNECT", async () => {
    const port = await listenTls(cleanup, (socket) => socket.on("data", () => socket.end(answer)));
    const proxy = await openProxy(cleanup);
    // A relay between client and proxy that splits or joins the client's first bytes.
    for (const joined of [false, true]) {
      const outer = await dialLocal(proxy.port);
      const head = `CONNECT localhost:${port} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
      const relay = createServer();
      relay.listen(0, "127.0.0.1");
      await once(relay, "listening");
      cleanup.add(() => relay.close());
      const accepted = once(relay, "connection");
      const address = relay.address();
      assert.ok(address !== null && typeof address === "object");
      const inner = await dialLocal(address.port);
      const [far] = (await accepted) as [typeof inner];
      cleanup.add(() => far.destroy());
      // The client disconnects before the server's last bytes arrive.
      far.on("error", () => {});
      let first = true;
      let answered = false;
      far.on("data", async (bytes: Buffer) => {
        if (!first) return void outer.write(bytes);
        first = false;
        if (joined) return void outer.write(Buffer.concat([Buffer.from(head), bytes]));
        outer.write(head);
        far.pause();
        for (const byte of bytes) {
          outer.write(Buffer.of(byte));
          await new Promise(setImmediate);
        }
        far.resume();
      });
      outer.on("data", (bytes: Buffer) => {
        const skip = answered ? 0 : bytes.indexOf("\r\n\r\n") + 4;
        answered = true;
        if (bytes.length > skip) far.write(bytes.subarray(skip));
      });
      const client = connectTls({
        socket: inner,
        servername: "localhost",
        ca: [meterAuthority.certificatePem],
      });
      await once(client, "secureConnect");
      const got = collect(client);
      client.write("GET / HTTP/1.1\r\n\r\n");
      await got.until((bytes) => bytes.includes("ok"));
      assert.equal(got.bytes().toString(), answer);
      client.destroy();
    }
    await proxy.ping(5_000);
    assert.equal(proxy.counters().intercepted, 2);
  });

  it("answers 502 for a host that can't be reached, and logs it for a provider", async () => {
    const brief = createCleanup();
    const closedPort = await listenTcp(brief, () => {});
    await brief.run();
    const proxy = await openProxy(cleanup, { limits: { connectTimeoutMs: 3_000 } });
    const { head, socket } = await connectThrough(proxy.port, `localhost:${closedPort}`);
    assert.match(head, /^HTTP\/1.1 502 Bad Gateway\r\nContent-Type: text\/plain/);
    const got = collect(socket);
    socket.resume();
    await got.end();
    assert.match(got.bytes().toString(), /^meter: localhost can't be reached \(ECONNREFUSED\)\n$/);
    const closed = await proxy.seen((frame) => frame.kind === "closed");
    assert.partialDeepStrictEqual(closed, { reason: "upstream_unreachable", code: "ECONNREFUSED" });
    const unknown = await connectThrough(proxy.port, "no-such-host.invalid:443");
    assert.match(unknown.head, /^HTTP\/1.1 502 /);
  });

  it("closes the upstream if the client disconnects during the dial or before its hello", async () => {
    let closedUpstream = 0;
    const gone = Promise.withResolvers<void>();
    const port = await listenTcp(cleanup, (socket) => {
      socket.resume();
      socket.on("close", () => {
        closedUpstream += 1;
        gone.resolve();
      });
    });
    const proxy = await openProxy(cleanup);
    const { socket } = await connectThrough(proxy.port, `localhost:${port}`);
    socket.resetAndDestroy();
    await gone.promise;
    assert.equal(closedUpstream, 1);
  });
});
