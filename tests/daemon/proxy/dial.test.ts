import assert from "node:assert/strict";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { hostname } from "node:os";
import { after, describe, it } from "node:test";
import { connect as connectTls, createSecureContext } from "node:tls";
import { classifyAddress } from "../../../daemon/proxy/classify-address.ts";
import { type ClientLocation, createDial, type DialResult } from "../../../daemon/proxy/dial.ts";
import { createLookupCache } from "../../../daemon/proxy/lookup-cache.ts";
import { noParentProxies, type ParentProxy } from "../../../daemon/proxy/parent-proxy.ts";
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
  providerName,
  testLeaf,
  tlsThrough,
} from "./proxy.rig.ts";

const cleanup = createCleanup();
after(() => cleanup.run());

/** Spellings of loopback and the unspecified address. Some resolvers reject some of them. */
const spellings = [
  "127.0.0.1",
  "127.0.0.2",
  "127.1",
  "127.255.255.254",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0177.0.0.1",
  "0",
  "0.0.0.0",
  "0.0.0.1",
  "localhost",
  "LocalHost",
  "localhost.",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::ffff:0.0.0.0]",
] as const;

/** The expected status for each way to request the daemon's port: 403, or 502 if the resolver rejects the spelling. */
async function ask(proxyPort: number, request: string): Promise<string> {
  const client = await dialLocal(proxyPort);
  const got = collect(client);
  client.write(request);
  await got.until((bytes) => bytes.includes("\r\n\r\n"));
  client.destroy();
  return got.bytes().toString().slice(9, 12);
}

describe("createDial()", () => {
  it("refuses the daemon's own ports in every spelling and proxy mode, with and without a parent proxy", async () => {
    let reached = 0;
    const api = await listenTcp(cleanup, (socket) => {
      reached += 1;
      socket.destroy();
    });
    let atParent = 0;
    const parentPort = await listenTcp(cleanup, (socket) => {
      atParent += 1;
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    const parent: ParentProxy = { host: "127.0.0.1", port: parentPort, tls: false, authorization: null };
    for (const parentProxies of [noParentProxies, { https: parent, http: parent, noProxy: [] }]) {
      const proxy = await openProxy(cleanup, {
        ownPorts: [api],
        parentProxies,
        gatewayRoutes: spellings.map((host, index) => ({
          prefix: `/g${index}`,
          host: host.replace(/[[\]]/g, ""),
          port: api,
          tls: false,
          basePath: "",
        })),
      });
      const known = [
        "127.0.0.1",
        "0.0.0.0",
        "localhost",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
      ];
      for (const [index, host] of spellings.entries()) {
        for (const port of [api, proxy.port]) {
          const answers = await Promise.all([
            ask(proxy.port, `CONNECT ${host}:${port} HTTP/1.1\r\nHost: x\r\n\r\n`),
            ask(proxy.port, `GET http://${host}:${port}/ HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`),
            ...(port === api
              ? [ask(proxy.port, `GET /g${index}/ HTTP/1.1\r\nHost: 127.0.0.1:${proxy.port}\r\n\r\n`)]
              : []),
          ]);
          for (const status of answers) {
            if (known.includes(host)) assert.equal(status, "403", `${host}:${port}`);
            else assert.ok(status === "403" || status === "502", `${host}:${port} ${status}`);
          }
        }
      }
      await proxy.ping(5_000);
      assert.ok(proxy.counters().refused.forbidden_target >= known.length * 5);
    }
    assert.equal(reached, 0);
    assert.equal(atParent, 0);
  });

  it("refuses metadata services in every form, link-local addresses and the unspecified address", async () => {
    const proxy = await openProxy(cleanup);
    for (const host of [
      "169.254.169.254",
      "[fe80::1]",
      "[::ffff:169.254.169.254]",
      "[fd00:ec2::254]",
      "[fd00:ec2::23]",
      "[fd20:ce::254]",
      "100.100.100.200",
      "168.63.129.16",
      "192.0.0.192",
      "[64:ff9b::a9fe:a9fe]",
      "[64:ff9b:1::a9fe:a9fe]",
      "[2002:a9fe:a9fe::1]",
      "[::a9fe:a9fe]",
      "[::ffff:0:a9fe:a9fe]",
      "0.0.0.0",
    ]) {
      assert.equal(await ask(proxy.port, `CONNECT ${host}:80 HTTP/1.1\r\nHost: x\r\n\r\n`), "403", host);
      assert.equal(
        await ask(proxy.port, `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
        "403",
        host,
      );
    }
  });

  it("reaches other ports of loopback", async () => {
    const port = await listenTcp(cleanup, (socket) => socket.end("hi"));
    const proxy = await openProxy(cleanup, { providerHosts: [] });
    const { head, socket } = await connectThrough(proxy.port, `127.0.0.1:${port}`);
    assert.match(head, /^HTTP\/1.1 200 /);
    const got = collect(socket);
    await got.end();
    assert.equal(got.bytes().toString(), "hi");
    socket.destroy();
  });

  it("fails if the upstream does not answer in time", async () => {
    const mute = await listenTcp(cleanup, () => {});
    const parent: ParentProxy = { host: "127.0.0.1", port: mute, tls: false, authorization: null };
    const proxy = await openProxy(cleanup, {
      parentProxies: { https: parent, http: null, noProxy: [] },
      limits: { connectTimeoutMs: 100 },
    });
    assert.equal(await ask(proxy.port, "CONNECT h.test:443 HTTP/1.1\r\nHost: x\r\n\r\n"), "502");
  });
});

describe("createDial() with remembered addresses", () => {
  /** Dials `a.test`, whose addresses are those of the list, and says how often they were resolved. */
  function openDial(parents = noParentProxies) {
    const resolver = { addresses: ["127.0.0.1"], asked: 0 };
    const lookups = createLookupCache((_, __, done) => {
      resolver.asked += 1;
      const addresses = resolver.addresses.map((address) => ({ address, family: 4 }));
      setImmediate(() => done(null, addresses));
    });
    const dial = createDial({
      ownPorts: new Set(),
      parents,
      isSharedTarget: () => false,
      timeoutMs: 10_000,
      secureContext: createSecureContext(),
      lookups,
    });
    const dialled = (port: number, place: ClientLocation = "local") =>
      new Promise<string>((resolve) => {
        dial({ host: "a.test", port }, "plain_http", place, (result) => {
          if (result.ok) result.socket.destroy();
          resolve(result.ok ? "ok" : result.code);
        });
      });
    return { resolver, dialled };
  }

  it("tries all of a host's addresses", async () => {
    const { resolver, dialled } = openDial();
    resolver.addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.1"];
    const port = await listenTcp(cleanup, (socket) => socket.end());
    assert.equal(await dialled(port), "ok");
    assert.equal(await dialled(port), "ok");
    assert.equal(resolver.asked, 1);
  });

  it("resolves a host again if no remembered address answers, once", async () => {
    const { resolver, dialled } = openDial();
    const port = await listenTcp(cleanup, (socket) => socket.end());
    resolver.addresses = ["127.0.0.2"];
    assert.equal(await dialled(port), "ECONNREFUSED");
    resolver.addresses = ["127.0.0.1"];
    assert.equal(await dialled(port), "ok");
    assert.equal(await dialled(port), "ok");
    resolver.addresses = ["127.0.0.2"];
    assert.equal(await dialled(1), "ECONNREFUSED");
    assert.equal(resolver.asked, 3);
  });

  it("does so for a parent proxy too", async () => {
    const port = await listenTcp(cleanup, (socket) => socket.end());
    const parent: ParentProxy = { host: "parent.test", port, tls: false, authorization: null };
    const { resolver, dialled } = openDial({ https: null, http: parent, noProxy: [] });
    resolver.addresses = ["127.0.0.2"];
    assert.equal(await dialled(80), "ECONNREFUSED");
    resolver.addresses = ["127.0.0.1"];
    assert.equal(await dialled(80), "ok");
    assert.equal(resolver.asked, 2);
  });

  it("checks a remembered address for each client", async () => {
    const { resolver, dialled } = openDial();
    const port = await listenTcp(cleanup, (socket) => socket.end());
    assert.equal(await dialled(port), "ok");
    assert.equal(await dialled(port, "remote"), "loopback");
    assert.equal(resolver.asked, 1);
  });
});

describe("createDial() with a parent proxy", () => {
  /** A parent proxy that tunnels every CONNECT to the given local port. */
  async function openParent(target: number, tls: boolean, answer = "HTTP/1.1 200 OK\r\nVia: x\r\n\r\n") {
    const heads: string[] = [];
    const serve = (socket: import("node:net").Socket) => {
      socket.once("data", async (bytes: Buffer) => {
        heads.push(bytes.toString());
        if (!answer.startsWith("HTTP/1.1 200")) return void socket.end(answer);
        const far = await dialLocal(target);
        socket.write(answer);
        socket.pipe(far).pipe(socket);
        socket.on("close", () => far.destroy());
      });
    };
    const port = tls ? await listenTls(cleanup, serve) : await listenTcp(cleanup, serve);
    const parent: ParentProxy = { host: "localhost", port, tls, authorization: "Basic dXNlcjpwYXNz" };
    return { heads, parent };
  }

  for (const tls of [false, true]) {
    it(`goes through CONNECT with credentials, ${tls ? "over TLS" : "in plain text"}, and intercepts all the same`, async () => {
      const upstream = await listenTls(
        cleanup,
        (socket) => {
          socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
          socket.on("end", () => socket.end());
        },
        testLeaf(providerAuthority, providerName, "api.provider.test"),
      );
      const { heads, parent } = await openParent(upstream, tls);
      const proxy = await openProxy(cleanup, {
        providerHosts: ["*.provider.test:443"],
        parentProxies: { https: parent, http: null, noProxy: [] },
      });
      const { socket, head } = await connectThrough(proxy.port, "api.provider.test:443");
      assert.match(head, /^HTTP\/1.1 200 /);
      assert.deepEqual(heads, [
        "CONNECT api.provider.test:443 HTTP/1.1\r\nHost: api.provider.test:443\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n",
      ]);
      const client = connectTls({
        socket,
        servername: "api.provider.test",
        ca: [meterAuthority.certificatePem],
      });
      await once(client, "secureConnect");
      const got = collect(client);
      client.write("GET / HTTP/1.1\r\n\r\n");
      await got.until((bytes) => bytes.includes("ok"));
      client.end();
      assert.partialDeepStrictEqual(await proxy.seen((frame) => frame.kind === "closed"), {
        reason: "clean",
      });
      assert.match(proxy.logged("response").toString(), /ok$/);
    });
  }

  it("reports the status of a parent proxy that refuses", async () => {
    const { parent } = await openParent(1, false, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const proxy = await openProxy(cleanup, { parentProxies: { https: parent, http: null, noProxy: [] } });
    const { head, socket } = await connectThrough(proxy.port, "api.provider.test:443");
    assert.match(head, /^HTTP\/1.1 502 /);
    const got = collect(socket);
    await got.end();
    assert.match(got.bytes().toString(), /PARENT_PROXY_407/);
    socket.destroy();
  });

  it("sends plain http in absolute form, with credentials that are not logged", async () => {
    const heads: string[] = [];
    const port = await listenTcp(cleanup, (socket) => {
      socket.on("data", (bytes: Buffer) => {
        heads.push(bytes.toString());
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      });
      socket.on("end", () => socket.end());
    });
    const parent: ParentProxy = { host: "127.0.0.1", port, tls: false, authorization: "Basic dXNlcjpwYXNz" };
    const proxy = await openProxy(cleanup, {
      providerHosts: ["ollama.test"],
      parentProxies: { https: null, http: parent, noProxy: [] },
    });
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    client.write(
      "GET http://ollama.test/api/tags HTTP/1.1\r\nHost: ollama.test\r\nProxy-Connection: close\r\n\r\n",
    );
    await got.until((bytes) => bytes.includes("ok"));
    assert.deepEqual(heads, [
      "GET http://ollama.test/api/tags HTTP/1.1\r\nHost: ollama.test\r\nproxy-authorization: Basic dXNlcjpwYXNz\r\n\r\n",
    ]);
    client.end();
    await proxy.seen((frame) => frame.kind === "closed");
    assert.equal(proxy.logged("request").toString(), "GET /api/tags HTTP/1.1\r\nHost: ollama.test\r\n\r\n");
  });

  it("connects directly to hosts of NO_PROXY and to loopback", async () => {
    let atParent = 0;
    const parentPort = await listenTcp(cleanup, () => (atParent += 1));
    const parent: ParentProxy = { host: "127.0.0.1", port: parentPort, tls: false, authorization: null };
    const proxy = await openProxy(cleanup, {
      parentProxies: { https: parent, http: parent, noProxy: ["direct.invalid"] },
    });
    const port = await listenTls(cleanup, (socket) => {
      socket.on("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    });
    const client = await tlsThrough(proxy.port, port);
    const got = collect(client);
    client.write("GET / HTTP/1.1\r\n\r\n");
    await got.end();
    client.destroy();
    assert.equal(await ask(proxy.port, "CONNECT direct.invalid:443 HTTP/1.1\r\nHost: x\r\n\r\n"), "502");
    assert.equal(atParent, 0);
  });
});

describe("createDial() for a client on another machine", () => {
  it("resolves a name before it uses a parent proxy, which may be on this machine or in its network", async (t) => {
    const host = hostname(); // a name of this machine that is not `localhost`
    const resolves = await lookup(host).catch(() => null);
    if (resolves === null || classifyAddress(resolves.address) === "public")
      return t.skip("this machine's own name has no private address");
    let asked = 0;
    const parentPort = await listenTcp(cleanup, (socket) => {
      asked += 1;
      socket.end("HTTP/1.1 200 OK\r\n\r\n");
    });
    const parent: ParentProxy = { host: "127.0.0.1", port: parentPort, tls: false, authorization: null };
    const dial = (isSharedTarget: () => boolean) =>
      createDial({
        ownPorts: new Set(),
        parents: { https: parent, http: parent, noProxy: [] },
        isSharedTarget,
        timeoutMs: 10_000,
        secureContext: createSecureContext(),
      });
    const dialled = (place: ClientLocation, isShared = false) =>
      new Promise<DialResult>((resolve) => {
        dial(() => isShared)({ host, port: 443 }, "tunnel", place, resolve);
      });
    assert.partialDeepStrictEqual(await dialled("remote"), { ok: false, reason: "forbidden_target" });
    assert.equal(asked, 0);
    for (const reached of [await dialled("local"), await dialled("remote", true)]) {
      assert.ok(reached.ok);
      reached.socket.destroy();
    }
    assert.equal(asked, 2);
  });
});
