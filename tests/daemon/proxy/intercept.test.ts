import assert from "node:assert/strict";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import {
  collect,
  connectThrough,
  createCleanup,
  listenTcp,
  listenTls,
  openProxy,
  providerAuthority,
  providerName,
  testAuthority,
  testLeaf,
  tlsThrough,
} from "./proxy.rig.ts";

const cleanup = createCleanup();
after(() => cleanup.run());

const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const untrustedAuthority = testAuthority("nobody", ["localhost"]);

describe("intercept()", () => {
  const untrusted = [
    ["expired", testLeaf(providerAuthority, providerName, "localhost", true), "CERT_HAS_EXPIRED"],
    ["an authority's own", untrustedAuthority, "INVALID_PURPOSE"],
    [
      "signed by a untrustedAuthority",
      testLeaf(untrustedAuthority, "nobody", "localhost"),
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    ],
    [
      "for another host",
      testLeaf(providerAuthority, providerName, "other.localhost"),
      "ERR_TLS_CERT_ALTNAME_INVALID",
    ],
  ] as const;
  for (const [name, leaf, code] of untrusted) {
    it(`answers 502 and sends no byte of the request to a server whose certificate is ${name}`, async () => {
      let received = 0;
      const port = await listenTls(
        cleanup,
        (socket) => socket.on("data", (bytes: Buffer) => (received += bytes.length)),
        leaf,
      );
      const proxy = await openProxy(cleanup);
      const client = await tlsThrough(proxy.port, port);
      const got = collect(client);
      client.write("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\nsecret");
      assert.equal(await got.end(), "end");
      assert.match(got.bytes().toString(), new RegExp(`^HTTP/1.1 502 Bad Gateway\r\n[^]*${code}`));
      client.end();
      const closed = await proxy.seen((frame) => frame.kind === "closed");
      assert.partialDeepStrictEqual(closed, { reason: "upstream_tls", code });
      assert.match(proxy.logged("request").toString(), /secret$/);
      assert.equal(received, 0);
      await proxy.ping(5_000);
      assert.equal(proxy.counters().refused.upstream_tls, 1);
    });
  }

  it("verifies the upstream even if NODE_TLS_REJECT_UNAUTHORIZED is 0", async () => {
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      const port = await listenTls(cleanup, (socket) => socket.end(answer), untrustedAuthority);
      const proxy = await openProxy(cleanup);
      const client = await tlsThrough(proxy.port, port);
      const got = collect(client);
      client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await got.end();
      assert.match(got.bytes().toString(), /^HTTP\/1.1 502 /);
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });

  it("answers 502 if the upstream does not speak TLS or hangs in the handshake", async () => {
    const proxy = await openProxy(cleanup, { limits: { handshakeTimeoutMs: 150 } });
    const talker = await listenTcp(cleanup, (socket) => socket.end("220 smtp ready\r\n"));
    const mute = await listenTcp(cleanup, () => {});
    for (const port of [talker, mute]) {
      const client = await tlsThrough(proxy.port, port);
      const got = collect(client);
      client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await got.end();
      assert.match(got.bytes().toString(), /^HTTP\/1.1 502 /);
    }
    assert.ok(await proxy.seen((frame) => frame.kind === "closed" && frame.reason === "upstream_timeout"));
  });

  it("presents a certificate of its own authority and offers only HTTP/1.1", async () => {
    const port = await listenTls(cleanup, () => {});
    const proxy = await openProxy(cleanup);
    const client = await tlsThrough(proxy.port, port, { ALPNProtocols: ["h2", "http/1.1"] });
    assert.equal(client.alpnProtocol, "http/1.1");
    assert.equal(client.getPeerCertificate().issuer.CN, "test meter CA");
    assert.equal(client.authorized, true);
    client.destroy();
    const silent = await tlsThrough(proxy.port, port, { ALPNProtocols: undefined });
    assert.equal(silent.alpnProtocol, false);
    silent.destroy();
  });

  it("prefers the cipher that costs least, and takes what an older client has", async () => {
    const port = await listenTls(cleanup, () => {});
    const proxy = await openProxy(cleanup);
    const ciphers = [{}, { maxVersion: "TLSv1.2" }, { ciphers: "TLS_CHACHA20_POLY1305_SHA256" }].map(
      async (options) => {
        const client = await tlsThrough(proxy.port, port, options);
        const { standardName } = client.getCipher();
        client.destroy();
        return standardName;
      },
    );
    assert.deepEqual(await Promise.all(ciphers), [
      "TLS_AES_128_GCM_SHA256",
      "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
      "TLS_CHACHA20_POLY1305_SHA256",
    ]);
  });

  it("resumes TLS sessions on both sides", async () => {
    const reused: boolean[] = [];
    const port = await listenTls(cleanup, (socket) => {
      reused.push(socket.isSessionReused());
      socket.on("data", () => socket.write(answer));
      socket.on("end", () => socket.end());
    });
    const proxy = await openProxy(cleanup);
    let session: Buffer | undefined;
    const clientReused: boolean[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const client = await tlsThrough(proxy.port, port, session ? { session } : {}, "", (fresh) => {
        session = fresh;
      });
      clientReused.push(client.isSessionReused());
      const got = collect(client);
      client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await got.until((bytes) => bytes.includes("ok"));
      client.end();
      await got.end();
    }
    assert.deepEqual(clientReused, [false, true, true]);
    assert.deepEqual(reused, [false, true, true]);
  });

  it("counts a client that sends no request because it does not trust the authority", async () => {
    const port = await listenTls(cleanup, (socket) => socket.on("end", () => socket.end()));
    const proxy = await openProxy(cleanup);
    const { socket } = await connectThrough(proxy.port, `localhost:${port}`);
    const client = connectTls({ socket, servername: "localhost", ca: [providerAuthority.certificatePem] });
    const [error] = (await once(client, "error")) as [NodeJS.ErrnoException];
    assert.equal(error.code, "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
    await proxy.seen((frame) => frame.kind === "closed");
    await proxy.ping(5_000);
    assert.equal(proxy.counters().endedUnused, 1);
  });

  it("does not count a client that disconnects because the upstream can't be trusted", async () => {
    const port = await listenTls(cleanup, () => {}, untrustedAuthority);
    const proxy = await openProxy(cleanup, { limits: { handshakeTimeoutMs: 500 } });
    const client = await tlsThrough(proxy.port, port);
    const got = collect(client);
    client.end();
    await got.end();
    const closed = await proxy.seen((frame) => frame.kind === "closed");
    assert.match(closed.kind === "closed" ? closed.reason : "", /^upstream_/);
    await proxy.ping(5_000);
    assert.equal(proxy.counters().endedUnused, 0);
  });
});
