import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { after, describe, it } from "node:test";
import {
  collect,
  connectThrough,
  createCleanup,
  dialLocal,
  listenTcp,
  openProxy,
  type TestProxy,
} from "./proxy.rig.ts";

const cleanup = createCleanup();
after(() => cleanup.run());

const limits = { maxConnections: 8 };

/** Connects and waits until the proxy has accepted the connection, so that connections have a known order. */
async function dialInTurn(proxy: TestProxy): Promise<Socket> {
  const before = await accepted(proxy);
  const socket = await dialLocal(proxy.port);
  while ((await accepted(proxy)) === before);
  return socket;
}

async function accepted(proxy: TestProxy): Promise<number> {
  await proxy.ping(5_000);
  return proxy.counters().accepted;
}

async function refusedFor(
  proxy: TestProxy,
  reason: "too_many_connections" | "head_timeout",
): Promise<number> {
  await proxy.ping(5_000);
  return proxy.counters().refused[reason];
}

describe("silent clients", () => {
  it("are closed for new clients, oldest first, while all slots are taken", async () => {
    const port = await listenTcp(cleanup, (socket) => socket.end("hi"));
    const proxy = await openProxy(cleanup, { providerHosts: [], limits });
    const silent: Socket[] = [];
    for (let n = 0; n < limits.maxConnections; n += 1) silent.push(await dialInTurn(proxy));
    const closed = new Set<Socket>();
    for (const socket of silent)
      collect(socket)
        .end()
        .then(() => closed.add(socket));
    for (let n = 0; n < 3; n += 1) {
      const { head, socket } = await connectThrough(proxy.port, `localhost:${port}`);
      assert.match(head, /^HTTP\/1\.1 200 /);
      await collect(socket).until((bytes) => bytes.toString() === "hi");
      cleanup.add(() => socket.destroy());
    }
    await proxy.ping(5_000);
    assert.deepEqual([...closed], silent.slice(0, 3));
    assert.equal(await refusedFor(proxy, "too_many_connections"), 3);
    for (const socket of silent) socket.destroy();
  });

  it("are closed for new clients after half a head, and after a CONNECT to a provider without a hello", async () => {
    const port = await listenTcp(cleanup, () => {});
    const proxy = await openProxy(cleanup, { limits: { ...limits, helloTimeoutMs: 60_000 } });
    const waiting: Socket[] = [];
    for (let n = 0; n < limits.maxConnections; n += 1) {
      if (n % 2 === 0) waiting.push((await connectThrough(proxy.port, `localhost:${port}`)).socket);
      else {
        const socket = await dialInTurn(proxy);
        socket.write("CONNECT loc");
        waiting.push(socket);
      }
    }
    const ends = waiting.map((socket) => collect(socket).end());
    for (let n = 0; n < limits.maxConnections; n += 1) {
      const socket = await dialInTurn(proxy);
      cleanup.add(() => socket.destroy());
    }
    await Promise.all(ends);
  });

  it("are closed before calls in progress: if none is silent, the new client is refused", async () => {
    const port = await listenTcp(cleanup, (socket) =>
      socket.on("data", (bytes: Buffer) => socket.write(bytes)),
    );
    const proxy = await openProxy(cleanup, { providerHosts: [], limits });
    const busy: Socket[] = [];
    for (let n = 0; n < limits.maxConnections; n += 1)
      busy.push((await connectThrough(proxy.port, `localhost:${port}`)).socket);
    const late = await dialLocal(proxy.port);
    await collect(late).end();
    assert.equal(await refusedFor(proxy, "too_many_connections"), 1);
    for (const socket of busy) {
      socket.write("still here");
      await collect(socket).until((bytes) => bytes.toString() === "still here");
      socket.destroy();
    }
  });

  it("are closed without a response, sooner than those that have begun a head", async () => {
    const proxy = await openProxy(cleanup, { limits: { firstByteTimeoutMs: 50, headTimeoutMs: 86_400_000 } });
    const begun = await dialLocal(proxy.port);
    begun.write("C");
    const silent = await dialLocal(proxy.port);
    const heard = collect(silent);
    await heard.end();
    assert.equal(heard.bytes().length, 0);
    assert.equal(await refusedFor(proxy, "head_timeout"), 1);
    begun.write("ONNECT localhost:0 HTTP/1.1\r\n\r\n");
    const answer = collect(begun);
    await answer.end();
    assert.match(answer.bytes().toString(), /^HTTP\/1\.1 400 /);
  });

  for (const [name, bytes] of [
    ["before a hello", ""],
    ["inside a hello", "\x16\x03\x01"],
  ] as const) {
    it(`release both sockets at once when their FIN comes ${name}`, async () => {
      const upstream = Promise.withResolvers<Socket>();
      const port = await listenTcp(cleanup, upstream.resolve);
      const proxy = await openProxy(cleanup, { limits: { helloTimeoutMs: 86_400_000 } });
      const { socket } = await connectThrough(proxy.port, `localhost:${port}`);
      const far = await upstream.promise;
      const seen = collect(far);
      const gone = once(socket, "close");
      socket.end(bytes, "latin1");
      socket.resume();
      assert.equal(await seen.end(), "end");
      assert.equal(seen.bytes().length, 0);
      await gone;
    });
  }
});
