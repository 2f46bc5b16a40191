import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import process from "node:process";
import { afterEach, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { createCallerLookup } from "../../../adapters/process-table/caller-lookup.ts";
import { createLinuxCallers } from "../../../adapters/process-table/linux.ts";
import type { LookupRequest } from "../../../adapters/process-table/lookup-port.ts";
import type { ConnectLookup } from "../../../daemon/proxy/start-proxy.ts";
import {
  collect,
  connectThrough,
  createCleanup,
  dialLocal,
  everyClientOf,
  listenTls,
  meterAuthority,
  openProxy,
  providerRoots,
} from "./proxy.rig.ts";

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const onLinux = process.platform === "linux" ? false : "only Linux reports the user of a connection";
const ownUid = process.geteuid?.() ?? 0;
const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const listenProvider = () =>
  listenTls(cleanup, (socket) => {
    socket.on("data", () => socket.write(answer));
  });

/** Opens TLS through the proxy and returns the issuer of the certificate. */
async function issuerThrough(proxyPort: number, port: number): Promise<unknown> {
  const { socket } = await connectThrough(proxyPort, `localhost:${port}`);
  const client = connectTls({
    socket,
    servername: "localhost",
    ca: [meterAuthority.certificatePem, ...providerRoots],
  });
  await once(client, "secureConnect");
  const got = collect(client);
  client.write("GET / HTTP/1.1\r\n\r\n");
  await got.until((bytes) => bytes.includes("ok"));
  const issuer = client.getPeerCertificate().issuer.CN;
  client.destroy();
  return issuer;
}

describe("other users of the machine", { skip: onLinux }, () => {
  it("are tunnelled unread to a provider's host, and only counted", async () => {
    const port = await listenProvider();
    const proxy = await openProxy(
      cleanup,
      {},
      everyClientOf(cleanup, () => ownUid + 1),
    );
    assert.equal(await issuerThrough(proxy.port, port), "test provider CA");
    await proxy.ping(5_000);
    const { tunnelled, intercepted } = proxy.counters();
    assert.deepEqual([tunnelled.other_user, intercepted], [1, 0]);
    assert.deepEqual(
      proxy.frames.map((frame) => frame.kind),
      ["tunnelled"],
    );
  });

  it("are not logged with a process, and this user's are if it was found", async () => {
    const port = await listenProvider();
    const caller = {
      pid: 7,
      processName: "codex",
      commandLines: [["codex"]],
      environmentProject: null,
      cwd: "/w",
    };
    for (const [uid, callers] of [
      [ownUid, [caller]],
      [ownUid + 1, []],
    ] as const) {
      const lookup = everyClientOf(cleanup, () => uid, caller);
      const proxy = await openProxy(cleanup, {}, lookup);
      await issuerThrough(proxy.port, port);
      await proxy.ping(5_000);
      const logged = proxy.frames.flatMap((frame) => (frame.kind === "opened" ? [frame.caller] : []));
      assert.deepEqual(
        logged.map((each) => each?.pid),
        callers.map(({ pid }) => pid),
      );
    }
  });

  for (const [name, uid, otherUsers] of [
    ["this user's calls", ownUid, "tunnel"],
    ["calls of an unknown user", null, "tunnel"],
    ["other users' calls where the configuration says so", ownUid + 1, "meter"],
  ] as const) {
    it(`leave ${name} as they are: read, and served by the gateway`, async () => {
      const port = await listenProvider();
      const gatewayRoutes = [{ prefix: "/up", host: "localhost", port, tls: true, basePath: "" }];
      const proxy = await openProxy(
        cleanup,
        { otherUsers, gatewayRoutes },
        everyClientOf(cleanup, () => uid),
      );
      assert.equal(await issuerThrough(proxy.port, port), "test meter CA");
      const client = await dialLocal(proxy.port);
      const got = collect(client);
      client.write(`GET /up/x HTTP/1.1\r\nHost: localhost:${proxy.port}\r\n\r\n`);
      await got.until((bytes) => bytes.includes("ok"));
      client.destroy();
      await proxy.ping(5_000);
      const { tunnelled, intercepted, gateway } = proxy.counters();
      assert.deepEqual([tunnelled.other_user, intercepted, gateway], [0, 1, 1]);
    });
  }

  it("are refused by the gateway with a text that names the setting, before a byte goes upstream", async () => {
    let reached = 0;
    const port = await listenTls(cleanup, (socket) => {
      socket.on("data", () => (reached += 1));
    });
    const gatewayRoutes = [{ prefix: "/up", host: "localhost", port, tls: true, basePath: "" }];
    const proxy = await openProxy(
      cleanup,
      { gatewayRoutes },
      everyClientOf(cleanup, () => ownUid + 1),
    );
    const client = await dialLocal(proxy.port);
    const got = collect(client);
    client.write(`POST /up/x HTTP/1.1\r\nHost: localhost:${proxy.port}\r\nContent-Length: 3\r\n\r\nabc`);
    await got.end();
    assert.match(got.bytes().toString(), /^HTTP\/1.1 403 .*\[proxy\] other_users = "meter"/s);
    assert.deepEqual([reached, proxy.frames.length], [0, 0]);
  });

  it("do not count as this user if they close their socket before the lookup", async () => {
    let reached = 0;
    const port = await listenTls(cleanup, (socket) => {
      socket.on("data", () => (reached += 1));
    });
    const callers = createLinuxCallers();
    const closed = Promise.withResolvers<void>();
    const afterClose: ConnectLookup = (deliver) => {
      const { port1, port2 } = new MessageChannel();
      cleanup.add(() => port1.close());
      port1.on("message", async ({ id, queries }: LookupRequest) => {
        await closed.promise;
        port1.postMessage({ id, answers: await callers(queries) });
      });
      deliver(port2 as MessagePort);
      return () => port1.close();
    };
    const gatewayRoutes = [{ prefix: "/up", host: "localhost", port, tls: true, basePath: "" }];
    const proxy = await openProxy(cleanup, { gatewayRoutes }, afterClose);
    const client = await dialLocal(proxy.port);
    client.end(`POST /up/x HTTP/1.1\r\nHost: localhost:${proxy.port}\r\nContent-Length: 3\r\n\r\nabc`);
    await once(client, "finish");
    client.destroy();
    await once(client, "close");
    closed.resolve();
    while (proxy.counters().refused.gateway_refused === 0) await proxy.ping(5_000);
    assert.deepEqual([reached, proxy.frames.length], [0, 0]);
  });

  describe("and while a client's user is looked up", () => {
    /** A lookup that answers when it is told whose all clients are. */
    function answerLater() {
      const user = Promise.withResolvers<number>();
      const connect: ConnectLookup = (deliver) => {
        const { port1, port2 } = new MessageChannel();
        cleanup.add(() => port1.close());
        port1.on("message", async ({ id, queries }: LookupRequest) => {
          const uid = await user.promise;
          port1.postMessage({ id, answers: queries.map(() => ({ uid, process: null })) });
        });
        deliver(port2 as MessagePort);
        return () => port1.close();
      };
      return { connect, found: user.resolve };
    }

    /** A server that records what it receives, before TLS. */
    async function listenRaw() {
      const received: Buffer[] = [];
      const closed = Promise.withResolvers<void>();
      const server = createServer((socket) => {
        socket.on("error", () => {});
        socket.on("data", (bytes: Buffer) => received.push(bytes));
        socket.on("close", () => closed.resolve());
      });
      cleanup.add(() => server.close());
      await once(server.listen(0, "127.0.0.1"), "listening");
      const { port } = server.address() as AddressInfo;
      return { port, bytes: () => Buffer.concat(received), closed: closed.promise };
    }

    for (const [name, uid, issuer] of [
      ["this user's client is intercepted", ownUid, "test meter CA"],
      ["another user's is tunnelled", ownUid + 1, "test provider CA"],
    ] as const) {
      it(`its CONNECT is answered, and then ${name}`, async () => {
        const port = await listenProvider();
        const lookup = answerLater();
        const proxy = await openProxy(cleanup, {}, lookup.connect);
        const { socket } = await connectThrough(proxy.port, `localhost:${port}`);
        const ca = [meterAuthority.certificatePem, ...providerRoots];
        const client = connectTls({ socket, servername: "localhost", ca });
        let isSecure = false;
        client.once("secureConnect", () => {
          isSecure = true;
        });
        for (let turn = 0; turn < 10; turn += 1) await proxy.ping(5_000);
        assert.equal(isSecure, false);
        lookup.found(uid);
        await once(client, "secureConnect");
        assert.equal(client.getPeerCertificate().issuer.CN, issuer);
        client.destroy();
      });
    }

    it("nothing that it sends goes upstream, and all of it does if it is another user's", async () => {
      const provider = await listenRaw();
      const lookup = answerLater();
      const proxy = await openProxy(cleanup, {}, lookup.connect);
      const { socket } = await connectThrough(proxy.port, `localhost:${provider.port}`);
      socket.write("not TLS, ");
      for (let turn = 0; turn < 10; turn += 1) await proxy.ping(5_000);
      assert.equal(provider.bytes().length, 0);
      lookup.found(ownUid + 1);
      socket.end("to the end");
      await provider.closed;
      assert.equal(provider.bytes().toString(), "not TLS, to the end");
      await proxy.ping(5_000);
      assert.equal(proxy.counters().tunnelled.other_user, 1);
    });

    it("a client that disconnects leaves no connection and no count", async () => {
      const provider = await listenRaw();
      const lookup = answerLater();
      const proxy = await openProxy(cleanup, {}, lookup.connect);
      const { socket } = await connectThrough(proxy.port, `localhost:${provider.port}`);
      socket.resetAndDestroy();
      await provider.closed;
      lookup.found(ownUid);
      await proxy.ping(5_000);
      assert.equal(provider.bytes().length, 0);
      assert.deepEqual([proxy.counters().closedUnused, proxy.frames.length], [0, 0]);
    });
  });

  it("each hold at most a quarter of the connections", async () => {
    let uid = ownUid + 1;
    const proxy = await openProxy(
      cleanup,
      { limits: { maxConnections: 8 } },
      everyClientOf(cleanup, () => uid),
    );
    const open = async (count: number) => {
      const clients = await Promise.all(Array.from({ length: count }, () => dialLocal(proxy.port)));
      return clients.map((client) => collect(client));
    };
    const first = await open(4);
    await Promise.any(first.map((each) => each.end()));
    uid += 1;
    const second = await open(3);
    await Promise.any(second.map((each) => each.end()));
    uid += 1;
    const [third] = await open(1);
    await third?.end();
    uid = ownUid;
    const own = await dialLocal(proxy.port);
    own.write("nonsense\r\n\r\n");
    assert.match((await collect(own).until((bytes) => bytes.includes("\r\n"))).toString(), /^HTTP\/1.1 400 /);
    await proxy.ping(5_000);
    assert.equal(proxy.counters().refused.too_many_connections, 4);
  });

  it("are found in the kernel's table: another user's program is tunnelled, this user's is metered", {
    skip: ownUid === 0 ? false : "only root can start a program as another user",
  }, async () => {
    const port = await listenProvider();
    const lookup = createCallerLookup();
    cleanup.add(lookup.close);
    const proxy = await openProxy(cleanup, {}, lookup.connect);
    assert.equal(await issuerThrough(proxy.port, port), "test meter CA");
    const child = spawn(
      "/bin/bash",
      [
        "-c",
        `exec 3<>/dev/tcp/127.0.0.1/${proxy.port}; printf 'CONNECT localhost:${port} HTTP/1.1\\r\\n\\r\\n' >&3; head -c 12 <&3; read`,
      ],
      // It keeps its connection until its input ends: CONNECT is answered before the look-up ends.
      { uid: 65_534, gid: 65_534, cwd: "/", stdio: ["pipe", "pipe", "ignore"] },
    );
    cleanup.add(() => void child.kill());
    // If the program ends early, there is no text, and the test does not wait for one.
    const { value: text } = await child.stdout[Symbol.asyncIterator]().next();
    assert.equal(String(text), "HTTP/1.1 200");
    await proxy.seen((frame) => frame.kind === "tunnelled" && frame.reason === "other_user");
  });
});
