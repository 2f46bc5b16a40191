import assert from "node:assert/strict";
import { constants, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import process from "node:process";
import { afterEach, describe, it } from "node:test";
import { connect as connectTls, createSecureContext } from "node:tls";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { LookupRequest } from "../../../adapters/process-table/lookup-port.ts";
import { noParentProxies, type ParentProxy } from "../../../daemon/proxy/parent-proxy.ts";
import type { ConnectLookup } from "../../../daemon/proxy/start-proxy.ts";
import {
  collect,
  connectThrough,
  createCleanup,
  dialLocal,
  everyClientOf,
  listenTcp,
  openProxy,
  providerAuthority,
  providerLeaf,
  providerName,
  providerRoots,
  testAuthority,
  testLeaf,
  tlsThrough,
} from "./proxy.rig.ts";
import {
  type Accepted,
  answer,
  callAnew,
  closed,
  openProvider,
  untilWarm,
  warmCounters,
} from "./warm.rig.ts";

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const warmConnections = true;
const isReady = ({ ready }: { ready: number }) => ready === 1;

/** Opens a provider and a proxy that has one connection to it ready, after one call. */
async function openWarm(
  onRequest?: Parameters<typeof openProvider>[1],
  overrides: Parameters<typeof openProxy>[1] = {},
) {
  const provider = await openProvider(cleanup, onRequest);
  const proxy = await openProxy(cleanup, { warmConnections, ...overrides });
  await callAnew(proxy, provider.port);
  // A handshake ends for the proxy before it does for the provider.
  await untilWarm(proxy, (counters) => isReady(counters) && provider.unused().length === 1);
  return { provider, proxy };
}

describe("warm connections", () => {
  it("are dialled after the first call, and each is used by one client connection once", async () => {
    const bodies = Array.from({ length: 12 }, () => randomBytes(400).toString("base64"));
    const provider = await openProvider(cleanup);
    const proxy = await openProxy(cleanup, { warmConnections });
    for (const body of bodies) {
      await callAnew(proxy, provider.port, body);
      await untilWarm(proxy, isReady);
    }
    const { used, missed, unused, failed } = await warmCounters(proxy);
    assert.deepEqual({ used, missed, unused, failed }, { used: 11, missed: 0, unused: 0, failed: 0 });
    const head = "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert.deepEqual(
      provider.accepted.map(({ received }) => received),
      [...bodies.map((body) => `${head}${body}end`), ""],
    );
    const connections = proxy.frames.flatMap((frame) => (frame.kind === "opened" ? [frame.connection] : []));
    for (const [index, connection] of connections.entries()) {
      assert.equal(proxy.logged("request", connection).toString(), `${head}${bodies[index]}end`);
      assert.equal(proxy.logged("response", connection).toString(), answer);
    }
    const ends = proxy.frames.flatMap((frame) => (frame.kind === "closed" ? [frame.reason] : []));
    assert.deepEqual(new Set(ends), new Set(["clean"]));
  });

  it("are not kept if they are switched off", async () => {
    const provider = await openProvider(cleanup);
    const proxy = await openProxy(cleanup);
    for (let call = 0; call < 3; call += 1) await callAnew(proxy, provider.port);
    assert.equal(provider.accepted.length, 3);
    assert.deepEqual(await warmCounters(proxy), { ready: 0, used: 0, missed: 0, unused: 0, failed: 0 });
  });

  it("are not dialled for a host that is not a provider's, or that failed", async () => {
    const untrusted = testLeaf(testAuthority("nobody", ["localhost"]), "nobody", "localhost");
    const provider = await openProvider(cleanup, undefined, untrusted);
    const proxy = await openProxy(cleanup, { warmConnections });
    const client = await tlsThrough(proxy.port, provider.port);
    const got = collect(client);
    client.write("GET / HTTP/1.1\r\n\r\n");
    await got.end();
    assert.match(got.bytes().toString(), /^HTTP\/1.1 502 /);
    client.destroy();
    const other = await openProvider(cleanup);
    const tunnelling = await openProxy(cleanup, { warmConnections, providerHosts: [] });
    const { socket } = await connectThrough(tunnelling.port, `localhost:${other.port}`);
    const inside = connectTls({ socket, servername: "localhost", ca: providerRoots });
    inside.write("GET / HTTP/1.1\r\n\r\nend");
    await collect(inside).until((bytes) => bytes.toString().endsWith("ok"));
    inside.destroy();
    for (const each of [proxy, tunnelling])
      assert.deepEqual(await warmCounters(each), { ready: 0, used: 0, missed: 0, unused: 0, failed: 0 });
    assert.equal(other.accepted.length, 1);
  });

  it("serve parallel calls without sharing, and more of them the next time", async () => {
    const { provider, proxy } = await openWarm();
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(Array.from({ length: 6 }, (_, call) => callAnew(proxy, provider.port, `${call}`)));
    }
    const { used, missed } = await warmCounters(proxy);
    assert.equal(used + missed, 18);
    assert.ok(used >= 3, `${used} calls got one`);
    for (const { received } of provider.accepted) assert.ok(received.split("POST").length <= 2);
    assert.equal(provider.accepted.filter(({ received }) => received !== "").length, 19);
  });

  it("are replaced if the provider closes them before use, and the call does not notice", async () => {
    for (const end of [
      (socket: Socket) => socket.end(),
      (socket: Socket) => socket.destroy(),
      (socket: Socket) => socket.end("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"),
    ]) {
      const { provider, proxy } = await openWarm();
      end(provider.unused()[0]?.socket as Socket);
      await untilWarm(proxy, ({ ready }) => ready === 0);
      assert.equal(await callAnew(proxy, provider.port), answer);
      const { used, unused } = await warmCounters(proxy);
      assert.deepEqual({ used, unused }, { used: 0, unused: 1 });
    }
  });

  it("are replaced if the provider closes them after CONNECT, before the handshake", async () => {
    const { provider, proxy } = await openWarm();
    const { socket } = await connectThrough(proxy.port, `localhost:${provider.port}`);
    await closeAll(provider.unused().slice(0, 1));
    const client = connectTls({ socket, servername: "localhost", rejectUnauthorized: false });
    client.write("POST / HTTP/1.1\r\n\r\nend");
    await collect(client).until((bytes) => bytes.toString() === answer);
    client.destroy();
  });

  it("are replaced if the provider closes them after the handshake, before the request", async () => {
    const { provider, proxy } = await openWarm();
    const client = await tlsThrough(proxy.port, provider.port);
    await untilWarm(proxy, ({ used, ready }) => used === 1 && ready === 1);
    await closeAll(provider.unused());
    client.write("POST / HTTP/1.1\r\n\r\nend");
    await collect(client).until((bytes) => bytes.toString() === answer);
    client.destroy();
  });

  it("repeat nothing once a byte of the request was sent", async () => {
    let requests = 0;
    const { proxy, provider } = await openWarm(({ socket }) => {
      requests += 1;
      if (requests > 1) socket.destroy();
      return requests > 1;
    });
    const client = await tlsThrough(proxy.port, provider.port);
    const got = collect(client);
    client.write("POST / HTTP/1.1\r\n\r\nend");
    await got.end();
    client.end();
    assert.equal(got.bytes().length, 0);
    assert.equal((await warmCounters(proxy)).used, 1);
    assert.equal(requests, 2);
  });

  it("answer 502 inside the client's TLS if the provider has gone meanwhile", async () => {
    const providerCleanup = createCleanup();
    const provider = await openProvider(providerCleanup);
    const proxy = await openProxy(cleanup, { warmConnections });
    await callAnew(proxy, provider.port);
    await untilWarm(proxy, isReady);
    const client = await tlsThrough(proxy.port, provider.port);
    const got = collect(client);
    await providerCleanup.run();
    client.write("POST / HTTP/1.1\r\n\r\nend");
    await got.end();
    assert.match(got.bytes().toString(), /^HTTP\/1.1 502 Bad Gateway\r\n.*\(ECONN(REFUSED|RESET)\)/s);
    client.end();
    const closed = await proxy.seen((frame) => frame.kind === "closed" && frame.reason !== "clean");
    assert.match(closed.kind === "closed" ? closed.reason : "", /^upstream_(unreachable|tls)$/);
    assert.equal((await warmCounters(proxy)).ready, 0);
  });

  it("were verified when they were dialled, and a changed certificate fails later ones", async () => {
    const untrusted = testLeaf(testAuthority("nobody", ["localhost"]), "nobody", "localhost");
    let leaf = providerLeaf;
    const provider = await openProvider(cleanup, undefined, undefined, {
      SNICallback(_: string, done: (error: null, context: unknown) => void) {
        done(null, createSecureContext({ cert: leaf.certificatePem, key: leaf.keyPem }));
      },
      // Without tickets no session is resumed, so that every handshake has a certificate.
      maxVersion: "TLSv1.2",
      secureOptions: constants.SSL_OP_NO_TICKET,
    });
    const proxy = await openProxy(cleanup, { warmConnections });
    await callAnew(proxy, provider.port);
    await untilWarm(proxy, isReady);
    leaf = untrusted;
    assert.equal(await callAnew(proxy, provider.port), answer);
    assert.deepEqual(await untilWarm(proxy, ({ failed }) => failed === 1), {
      ready: 0,
      used: 1,
      missed: 0,
      unused: 0,
      failed: 1,
    });
    const client = await tlsThrough(proxy.port, provider.port);
    const got = collect(client);
    client.write("POST / HTTP/1.1\r\n\r\nend");
    await got.end();
    assert.match(got.bytes().toString(), /^HTTP\/1.1 502 .*UNABLE_TO_VERIFY_LEAF_SIGNATURE/s);
    client.destroy();
    leaf = providerLeaf;
    assert.equal(await callAnew(proxy, provider.port), answer);
  });

  for (const [name, options, reason] of [
    ["offers only HTTP/2", { servername: "localhost", ALPNProtocols: ["h2"] }, "http2_only"],
    ["names another server", { servername: "other.localhost" }, "sni_mismatch"],
  ] as const) {
    it(`are not used by a client that ${name}: it gets its own connection`, async () => {
      const { provider, proxy } = await openWarm();
      const { socket } = await connectThrough(proxy.port, `localhost:${provider.port}`);
      const client = connectTls({ socket, ...options, rejectUnauthorized: false });
      client.on("error", () => {});
      await proxy.seen((frame) => frame.kind === "tunnelled" && frame.reason === reason);
      if (reason === "sni_mismatch") {
        client.write("POST / HTTP/1.1\r\n\r\nend");
        await collect(client).until((bytes) => bytes.toString() === answer);
        assert.equal(client.getPeerCertificate().issuer.CN, providerName);
      }
      client.destroy();
      assert.equal((await warmCounters(proxy)).used, 1);
    });
  }

  it("end a client that needs a tunnel if the provider can't be reached any more", async () => {
    const providerCleanup = createCleanup();
    const provider = await openProvider(providerCleanup);
    const proxy = await openProxy(cleanup, { warmConnections });
    await callAnew(proxy, provider.port);
    await untilWarm(proxy, isReady);
    const { head, socket } = await connectThrough(proxy.port, `localhost:${provider.port}`);
    assert.match(head, /^HTTP\/1.1 200 /);
    await providerCleanup.run();
    const got = collect(socket);
    connectTls({ socket, servername: "localhost", ALPNProtocols: ["h2"] }).on("error", () => {});
    await got.end();
    await proxy.ping(5_000);
    assert.equal(proxy.counters().refused.upstream_unreachable, 1);
  });

  it("are closed with the client that goes away before its first message", async () => {
    const { provider, proxy } = await openWarm();
    const { socket } = await connectThrough(proxy.port, `localhost:${provider.port}`);
    const [taken] = provider.unused();
    socket.destroy();
    await closed(taken?.socket);
    await untilWarm(proxy, isReady);
    const client = await tlsThrough(proxy.port, provider.port);
    await untilWarm(proxy, ({ used }) => used === 2);
    client.destroy();
    await proxy.seen((frame) => frame.kind === "closed" && frame.connection > 1);
    assert.equal(await callAnew(proxy, provider.port), answer);
  });

  it("are closed when the proxy stops", async () => {
    const { provider, proxy } = await openWarm();
    const [spare] = provider.unused();
    const stopped = proxy.stop(60_000);
    await closed(spare?.socket);
    await stopped;
  });

  it("go through the parent proxy, with its credentials", async () => {
    const heads: string[] = [];
    const provider = await openProvider(
      cleanup,
      undefined,
      testLeaf(providerAuthority, providerName, "api.provider.test"),
    );
    const parentPort = await listenTcp(cleanup, (socket) => {
      socket.once("data", async (bytes: Buffer) => {
        heads.push(bytes.toString());
        const far = await dialLocal(provider.port);
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.pipe(far).pipe(socket);
      });
    });
    const parent: ParentProxy = {
      host: "127.0.0.1",
      port: parentPort,
      tls: false,
      authorization: "Basic dXNlcjpwYXNz",
    };
    const proxy = await openProxy(cleanup, {
      warmConnections,
      providerHosts: ["*.provider.test:443"],
      parentProxies: { ...noParentProxies, https: parent },
    });
    for (let call = 0; call < 2; call += 1) {
      const { socket } = await connectThrough(proxy.port, "api.provider.test:443");
      const client = connectTls({ socket, servername: "api.provider.test", rejectUnauthorized: false });
      client.write("POST / HTTP/1.1\r\n\r\nend");
      await collect(client).until((bytes) => bytes.toString() === answer);
      client.destroy();
      await untilWarm(proxy, isReady);
    }
    assert.equal((await warmCounters(proxy)).used, 1);
    assert.equal(heads.length, 3);
    for (const head of heads) {
      assert.equal(
        head,
        "CONNECT api.provider.test:443 HTTP/1.1\r\nHost: api.provider.test:443\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n",
      );
    }
  });

  it("are not used by another user of the machine, who gets a separate connection", async () => {
    const ownUid = process.geteuid?.() ?? 0;
    let uid = ownUid;
    const provider = await openProvider(cleanup);
    const gatewayRoutes = [
      { prefix: "/up", host: "localhost", port: provider.port, tls: true, basePath: "" },
    ];
    const lookup = everyClientOf(cleanup, () => uid);
    const proxy = await openProxy(cleanup, { warmConnections, gatewayRoutes, ownUid }, lookup);
    await callAnew(proxy, provider.port);
    await untilWarm(proxy, isReady);
    uid = ownUid + 1;
    const { socket } = await connectThrough(proxy.port, `localhost:${provider.port}`);
    const client = connectTls({ socket, servername: "localhost", ca: providerRoots });
    client.write("POST / HTTP/1.1\r\n\r\nend");
    await collect(client).until((bytes) => bytes.toString() === answer);
    client.destroy();
    await untilWarm(proxy, isReady);
    const atGateway = await dialLocal(proxy.port);
    const got = collect(atGateway);
    atGateway.write(`POST /up/x HTTP/1.1\r\nHost: localhost:${proxy.port}\r\n\r\nend`);
    await got.end();
    assert.match(got.bytes().toString(), /^HTTP\/1.1 403 /);
    assert.equal(provider.accepted.filter(({ received }) => received !== "").length, 2);
    assert.equal(proxy.frames.filter(({ kind }) => kind === "opened").length, 1);
  });

  it("never fail a call, however the provider ends them and whenever before the request", async () => {
    const proxy = await openProxy(cleanup, { warmConnections });
    const ways = [
      (socket: Socket) => socket.end(),
      (socket: Socket) => socket.end("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"),
      (socket: Socket) => socket.write("HTTP/1.1 408 Request Timeout\r\n"),
    ];
    for (let round = 0; round < 24; round += 1) {
      const provider = await openProvider(cleanup);
      const end = ways[round % ways.length] as (socket: Socket) => void;
      const endUnused = () => {
        for (const { socket } of provider.unused()) end(socket);
      };
      await callAnew(proxy, provider.port);
      await untilWarm(proxy, isReady);
      const moment = Math.floor(round / ways.length) % 3;
      if (moment === 0) endUnused();
      const { socket } = await connectThrough(proxy.port, `localhost:${provider.port}`);
      if (moment === 1) endUnused();
      const client = connectTls({ socket, servername: "localhost", rejectUnauthorized: false });
      await once(client, "secureConnect");
      const got = collect(client);
      if (moment === 2) endUnused();
      client.write("POST / HTTP/1.1\r\n\r\nend");
      await got.until((bytes) => bytes.length >= answer.length);
      assert.equal(got.bytes().toString(), answer, `round ${round}`);
      client.destroy();
      await closeAll(provider.unused());
      await untilWarm(proxy, ({ ready }) => ready === 0);
    }
    assert.ok((await warmCounters(proxy)).used >= 15);
  });
});

describe("warm connections of gateway routes", () => {
  /** Opens a proxy with a gateway route that has one connection ready, and returns what makes a call. */
  async function openGateway(lookup?: Parameters<typeof openProxy>[2]) {
    const provider = await openProvider(cleanup);
    const gatewayRoutes = [
      { prefix: "/up", host: "localhost", port: provider.port, tls: true, basePath: "" },
    ];
    const proxy = await openProxy(cleanup, { warmConnections, gatewayRoutes }, lookup);
    const send = async (body: string) => {
      const client = await dialLocal(proxy.port);
      const length = body.length + 3;
      client.write(
        `POST /up/v1 HTTP/1.1\r\nHost: localhost:${proxy.port}\r\nContent-Length: ${length}\r\n\r\n${body}end`,
      );
      return client;
    };
    const call = async (body: string) => {
      const client = await send(body);
      const got = collect(client);
      await got.until((bytes) => bytes.toString().endsWith("ok"));
      client.destroy();
      return got.bytes().toString();
    };
    assert.equal(await call("first"), answer);
    await untilWarm(proxy, (counters) => isReady(counters) && provider.unused().length === 1);
    return { provider, proxy, call, send };
  }

  it("are used by one client connection each", async () => {
    const { provider, proxy, call } = await openGateway();
    for (const body of ["second", "third"]) {
      assert.equal(await call(body), answer);
      await untilWarm(proxy, isReady);
    }
    assert.deepEqual(
      provider.accepted.slice(0, 3).map(({ received }) => received.split("\r\n\r\n")[1]),
      ["firstend", "secondend", "thirdend"],
    );
    assert.equal((await warmCounters(proxy)).used, 2);
    const connections = proxy.frames.flatMap((frame) => (frame.kind === "opened" ? [frame.connection] : []));
    assert.match(proxy.logged("request", connections[1]).toString(), /secondend$/);
    assert.equal(proxy.logged("response", connections[1]).toString(), answer);
  });

  it("are replaced if the provider closes them before use", async () => {
    const { provider, proxy, call } = await openGateway();
    for (const { socket } of provider.unused()) socket.end();
    assert.equal(await call("second"), answer);
    assert.equal(proxy.frames.filter(({ kind }) => kind === "opened").length, 2);
  });

  it("are closed with the client that goes away while its user is looked up", async () => {
    const ownUid = process.geteuid?.() ?? 0;
    const isFree = Promise.withResolvers<void>();
    let isHeld = false;
    const lookup: ConnectLookup = (deliver) => {
      const { port1, port2 } = new MessageChannel();
      cleanup.add(() => port1.close());
      port1.on("message", async ({ id, queries }: LookupRequest) => {
        if (isHeld) await isFree.promise;
        port1.postMessage({ id, answers: queries.map(() => ({ uid: ownUid, process: null })) });
      });
      deliver(port2 as MessagePort);
      return () => port1.close();
    };
    const { provider, proxy, send } = await openGateway(lookup);
    isHeld = true;
    const [taken] = provider.unused();
    const client = await send("second");
    await untilWarm(proxy, ({ used }) => used === 1);
    client.resetAndDestroy();
    await closed(taken?.socket);
    isFree.resolve();
    assert.ok(await proxy.seen((frame) => frame.kind === "closed" && frame.reason === "client_aborted"));
    assert.equal(taken?.received, "");
  });
});

async function closeAll(connections: readonly Accepted[]): Promise<void> {
  for (const { socket } of connections) {
    if (!socket.writableEnded) socket.end();
    await closed(socket);
  }
}
