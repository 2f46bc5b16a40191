import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { after, describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import { noParentProxies } from "../../../daemon/proxy/parent-proxy.ts";
import { type ProxyThread, startProxyThread } from "../../../daemon/proxy/proxy-thread.ts";
import { ProxyListenError, startProxy } from "../../../daemon/proxy/start-proxy.ts";
import type { TapFrame } from "../../../daemon/proxy/tap-frames.ts";
import { createTapLog } from "../../../daemon/proxy/tap-log.ts";
import type { FromWorker, ToWorker } from "../../../daemon/proxy/worker-messages.ts";
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
  providerRoots,
  tlsThrough,
} from "./proxy.rig.ts";

const cleanup = createCleanup();
after(() => cleanup.run());

const config = {
  host: "127.0.0.1",
  port: 0,
  ownPorts: [],
  providerHosts: [],
  gatewayRoutes: [],
  authority: meterAuthority,
  roots: [],
  parentProxies: noParentProxies,
  proxyPassword: null,
};
const ignoringSink = { frames: () => {}, event: () => {} };

const answerOnce = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

describe("startProxy()", () => {
  it("rejects with the system's code if the port is taken", async () => {
    const port = await listenTcp(cleanup, () => {});
    await assert.rejects(
      startProxy({ ...config, port }, ignoringSink),
      (error) => error instanceof ProxyListenError && error.code === "EADDRINUSE",
    );
  });

  it("rejects if the worker can't start", async () => {
    await assert.rejects(
      startProxy({ ...config, authority: { certificatePem: "none", keyPem: "none" } }, ignoringSink),
      /the proxy did not start/,
    );
  });

  it("tries again if a worker ends before it listens", async () => {
    let starts = 0;
    const proxy = await startProxy(config, ignoringSink, {
      startThread() {
        starts += 1;
        const thread = startProxyThread();
        if (starts < 5) thread.terminate();
        return thread;
      },
    });
    assert.deepEqual([starts, await proxy.probe(10_000)], [5, true]);
    await proxy.stop(1_000);
  });

  it("replaces a lost worker on the same port, reports its connections closed and keeps counting", async () => {
    const port = await listenTls(cleanup, (socket) => {
      socket.on("data", () => socket.write(answerOnce));
      socket.on("end", () => socket.end());
    });
    const proxy = await openProxy(cleanup);
    const bound = proxy.port;
    const before = await tlsThrough(proxy.port, port);
    const cut = collect(before);
    before.write("GET / HTTP/1.1\r\n\r\n");
    await cut.until((bytes) => bytes.includes("ok"));
    await proxy.ping(5_000);
    assert.equal(proxy.connections(), 1);

    proxy.restart();
    assert.notEqual(await cut.end(), null);
    const closed = await proxy.seen((frame) => frame.kind === "closed");
    assert.partialDeepStrictEqual(closed, { connection: 1, reason: "proxy_lost" });
    await proxy.happened((event) => event.kind === "worker_restarted" && event.port === bound);
    assert.equal(proxy.connections(), 0);

    const again = await tlsThrough(proxy.port, port);
    const got = collect(again);
    again.write("GET / HTTP/1.1\r\n\r\n");
    await got.until((bytes) => bytes.includes("ok"));
    const opened = await proxy.seen((frame) => frame.kind === "opened" && frame.connection > 1);
    assert.equal(opened.connection, 2);
    await proxy.ping(5_000);
    assert.equal(proxy.counters().intercepted, 2);
    again.destroy();
  });

  it("intercepts nothing after replace(), until restart()", async () => {
    const port = await listenTls(cleanup, (socket) => socket.on("data", () => socket.write(answerOnce)));
    const proxy = await openProxy(cleanup);
    for (const [end, ca] of [
      [proxy.replace, providerAuthority],
      [proxy.restart, meterAuthority],
    ] as const) {
      const restarts = proxy.events.filter(({ kind }) => kind === "worker_restarted").length;
      end();
      await proxy.happened(
        () => proxy.events.filter(({ kind }) => kind === "worker_restarted").length > restarts,
      );
      const client = await tlsThrough(proxy.port, port, { ca: [ca.certificatePem] });
      const got = collect(client);
      client.write("GET / HTTP/1.1\r\n\r\n");
      await got.until((bytes) => bytes.includes("ok"));
      client.destroy();
      await proxy.ping(5_000); // before the next worker, for its counters
    }
    const { tunnelled, intercepted } = proxy.counters();
    assert.deepEqual([tunnelled.no_certificate, intercepted], [1, 1]);
  });

  it("serves clients once serve() is called, and after a restart at once", async () => {
    const port = await listenTls(cleanup, (socket) => socket.on("data", () => socket.write(answerOnce)));
    const proxy = await openProxy(cleanup, { holdMs: 60_000 });
    const waiting = tlsThrough(proxy.port, port);
    while (proxy.counters().accepted === 0) await proxy.ping(5_000);
    assert.equal(proxy.counters().intercepted, 0, "it was accepted and not served");
    proxy.serve();
    (await waiting).destroy();
    proxy.restart();
    await proxy.happened((event) => event.kind === "worker_restarted");
    (await tlsThrough(proxy.port, port)).destroy();
  });

  it("probe() tests the worker, not only the port", async () => {
    const proxy = await openProxy(cleanup);
    assert.equal(await proxy.probe(5_000), true);
    proxy.restart();
    await proxy.happened((event) => event.kind === "worker_lost");
    assert.equal(await proxy.probe(5_000), false);
    await proxy.happened((event) => event.kind === "worker_restarted");
    assert.equal(await proxy.probe(5_000), true);
  });

  it("probe() does not count a worker that starts as one that hangs, until it has had the time", async () => {
    for (const startsWithinMs of [60_000, 0]) {
      const replaced = Promise.withResolvers<void>();
      let starts = 0;
      const proxy = await startProxy(config, ignoringSink, {
        startsWithinMs,
        startThread() {
          starts += 1;
          const thread = startProxyThread();
          if (starts === 2) {
            // It never gets its configuration, so it is never ready.
            thread.postMessage = () => {};
            replaced.resolve();
          }
          return thread;
        },
      });
      proxy.restart();
      await replaced.promise;
      assert.equal(await proxy.probe(100), startsWithinMs > 0);
      proxy.restart();
      await proxy.stop(0);
    }
  });

  it("waits longer after each consecutive loss", async () => {
    const failures: number[] = [];
    const third = Promise.withResolvers<void>();
    const proxy = await startProxy(
      config,
      {
        frames: () => {},
        event(event) {
          if (event.kind === "worker_restarted" && failures.length < 3) proxy.restart();
          else if (event.kind === "worker_restarted") third.resolve();
        },
      },
      {
        restartDelayMs: (count) => {
          failures.push(count);
          return 0;
        },
      },
    );
    cleanup.add(() => proxy.stop(0));
    proxy.restart();
    await third.promise;
    assert.deepEqual(failures, [1, 2, 3]);
  });

  it("keeps running if the reader of the log throws", async () => {
    const port = await listenTls(cleanup, (socket) => socket.on("data", () => socket.end(answerOnce)));
    const failed = Promise.withResolvers<unknown>();
    const proxy = await startProxy(
      { ...config, providerHosts: ["localhost"], roots: providerRoots },
      {
        frames() {
          throw new Error("store full");
        },
        event(event) {
          if (event.kind === "sink_failed") failed.resolve(event.error);
        },
      },
    );
    cleanup.add(() => proxy.stop(0));
    for (let call = 0; call < 2; call += 1) {
      const client = await tlsThrough(proxy.port, port);
      const got = collect(client);
      client.write("GET / HTTP/1.1\r\n\r\n");
      await got.end();
      assert.equal(got.bytes().toString(), answerOnce);
      client.destroy();
    }
    assert.match(String(await failed.promise), /store full/);
  });

  it("drops log frames, not bytes, while the reader is too far behind", async () => {
    const size = 4 * 1_048_576;
    const body = Buffer.alloc(size, "x");
    const port = await listenTls(cleanup, (socket) => socket.end(body));
    const frames: TapFrame[] = [];
    const proxy = await startProxy(
      {
        ...config,
        providerHosts: ["localhost"],
        roots: providerRoots,
        // So small that one unread batch exceeds it, so the test need not block this thread.
        limits: { maxBacklogBytes: 1_000 },
      },
      { frames: (batch) => void frames.push(...batch), event: () => {} },
    );
    cleanup.add(() => proxy.stop(0));
    const client = await tlsThrough(proxy.port, port);
    const got = collect(client);
    assert.equal(await got.end(), "end");
    assert.ok(body.equals(got.bytes()));
    client.end();
    while (!frames.some((frame) => frame.kind === "closed")) await proxy.ping(5_000);
    const lost = frames.filter((frame) => frame.kind === "lost");
    assert.equal(lost.length, 1);
    const at = frames.findIndex((frame) => frame.kind === "lost");
    assert.ok(frames.slice(at).every((frame) => frame.kind !== "data"));
    await proxy.ping(5_000);
    assert.equal(proxy.counters().lost, 1);
  });

  it("stop() accepts no new clients, lets an open stream finish and then resolves", async () => {
    let server: TLSSocket | null = null;
    const port = await listenTls(cleanup, (socket) => {
      server = socket;
      socket.on("data", () =>
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"),
      );
      socket.on("end", () => socket.end());
    });
    const proxy = await openProxy(cleanup);
    const idle = await dialLocal(proxy.port); // silent, so closed at once
    const idleEnd = collect(idle).end();
    const client = await tlsThrough(proxy.port, port);
    const got = collect(client);
    client.write("GET / HTTP/1.1\r\n\r\n");
    await got.until((bytes) => bytes.includes("first"));
    let stopped = false;
    const stop = proxy.stop(60_000).then(() => {
      stopped = true;
    });
    await idleEnd;
    await assert.rejects(dialLocal(proxy.port), { code: "ECONNREFUSED" });
    (server as unknown as TLSSocket).write("4\r\nlast\r\n0\r\n\r\n");
    await got.until((bytes) => bytes.includes("last"));
    assert.equal(stopped, false);
    client.end();
    await stop;
    assert.match(proxy.logged("response").toString(), /last\r\n0\r\n\r\n$/);
    assert.partialDeepStrictEqual(proxy.frames.at(-1), { kind: "closed", reason: "clean" });
    assert.deepEqual(proxy.events, []);
  });

  it("stop() closes the remaining connections at the deadline", async () => {
    const port = await listenTls(cleanup, (socket) => socket.on("data", () => socket.write(answerOnce)));
    const proxy = await openProxy(cleanup);
    const client = await tlsThrough(proxy.port, port);
    const got = collect(client);
    client.write("GET / HTTP/1.1\r\n\r\n");
    await got.until((bytes) => bytes.includes("ok"));
    await proxy.stop(10);
    assert.notEqual(await got.end(), null);
    assert.partialDeepStrictEqual(proxy.frames.at(-1), { kind: "closed", code: "METER_STOPPED" });
  });

  it("closeIdle() closes a connection that has been idle since, and no other", async () => {
    const port = await listenTls(cleanup, (socket) => {
      socket.on("data", () => socket.write(answerOnce));
      socket.on("end", () => socket.end());
    });
    const proxy = await openProxy(cleanup);
    const clients = [await tlsThrough(proxy.port, port), await tlsThrough(proxy.port, port)] as const;
    const got = clients.map(collect);
    for (const [index, client] of clients.entries()) {
      client.write("GET / HTTP/1.1\r\n\r\n");
      await got[index]?.until((bytes) => bytes.includes("ok"));
    }
    const last = (connection: number) =>
      Math.max(
        ...proxy.frames.flatMap((frame) =>
          frame.kind === "data" && frame.connection === connection ? [frame.atMs] : [],
        ),
      );
    await proxy.ping(5_000);
    proxy.closeIdle([
      { connection: 1, lastAtMs: last(1) },
      { connection: 2, lastAtMs: last(2) - 1 },
    ]);
    await got[0]?.end();
    clients[0].end();
    const closed = await proxy.seen((frame) => frame.kind === "closed");
    assert.partialDeepStrictEqual(closed, { connection: 1, reason: "clean" });
    await proxy.ping(5_000);
    assert.equal(proxy.connections(), 1);
    clients[1].destroy();
  });

  it("holds no socket once all clients have disconnected", async () => {
    // Like most servers, it closes the connection if the client does, also during the handshake.
    const upstream = await listenTls(
      cleanup,
      (socket) => socket.on("data", () => socket.write(answerOnce)),
      providerLeaf,
      { allowHalfOpen: false },
    );
    const proxy = await openProxy(cleanup, { limits: { headTimeoutMs: 500, helloTimeoutMs: 5_000 } });
    const ways = [
      async () => (await dialLocal(proxy.port)).destroy(),
      async () => (await dialLocal(proxy.port)).resetAndDestroy(),
      async () => (await dialLocal(proxy.port)).end("GET / HT"),
      async () => (await connectThrough(proxy.port, `localhost:${upstream}`)).socket.destroy(),
      async () => (await connectThrough(proxy.port, `localhost:${upstream}`)).socket.resetAndDestroy(),
      async () => (await connectThrough(proxy.port, `localhost:${upstream}`)).socket.end(Buffer.of(0x16)),
      // Plain text makes the server close while the FIN to it is still in flight (a reset during a shutdown).
      ...["\x16", "\x16\x03\x01", "ab"].map((start) => async () => {
        const client = await dialLocal(proxy.port);
        client.write(`CONNECT localhost:${upstream} HTTP/1.1\r\nHost: localhost\r\n\r\n${start}`, "latin1");
        client.destroy();
      }),
      async () => (await tlsThrough(proxy.port, upstream)).destroy(),
      async () => (await tlsThrough(proxy.port, upstream)).end("GET / HTTP/1.1\r\n\r\n"),
      async () => {
        const client = await dialLocal(proxy.port);
        client.write(`GET http://localhost:${upstream}/ HTTP/1.1\r\nHost: localhost:${upstream}\r\n\r\n`);
        client.destroy();
      },
    ];
    await Promise.all([...ways, ...ways, ...ways].map((way) => way()));
    // The stop waits for every client, and ends before the deadline.
    await proxy.stop(60_000);
    assert.equal(proxy.connections(), 0);
    const opened = proxy.frames.filter((frame) => frame.kind === "opened").length;
    assert.equal(proxy.frames.filter((frame) => frame.kind === "closed").length, opened);
    assert.deepEqual(proxy.events, []);
  });
});

describe("a main thread that is behind", () => {
  /** A thread that is played by the test. */
  function playWorker() {
    const received: ToWorker[] = [];
    const worker = Object.assign(new EventEmitter(), {
      threadId: 1,
      ref() {},
      postMessage: (message: ToWorker) => void received.push(message),
      terminate: () => worker.emit("exit"),
    });
    const post = (message: FromWorker) => void worker.emit("message", message);
    const log = createTapLog({
      post,
      acknowledged: new Int32Array(new SharedArrayBuffer(4)),
      maxBacklogBytes: 1e9,
      flushMs: 1e9,
      onLost() {},
    });
    const connection = { id: 1, lastAtMs: 0, lost: false };
    /** Posts a batch whose only frame has one byte. */
    const postBatch = (byte: number) => {
      log.data(connection, "request", Uint8Array.of(byte));
      log.flush();
    };
    return { received, post, postBatch, thread: worker as unknown as ProxyThread };
  }

  async function start(port = 1) {
    const { received, post, postBatch, thread } = playWorker();
    const read: number[] = [];
    const starting = startProxy(
      config,
      {
        frames(frames) {
          for (const frame of frames) if (frame.kind === "data") read.push(...frame.bytes);
        },
        event() {},
      },
      { startThread: () => thread },
    );
    post({ kind: "ready", port });
    const lastPing = () =>
      received.findLast(({ kind }) => kind === "ping") as Extract<ToWorker, { kind: "ping" }>;
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    return { proxy: await starting, post, postBatch, read, lastPing, thread, turn };
  }

  it("reads one batch of the log in a turn of the event loop", async () => {
    const { postBatch, read, turn } = await start();
    for (const byte of [1, 2, 3]) postBatch(byte);
    assert.deepEqual(read, [1]);
    await turn();
    assert.deepEqual(read, [1, 2]);
    postBatch(4);
    await turn();
    assert.deepEqual(read, [1, 2, 3]);
    await turn();
    assert.deepEqual(read, [1, 2, 3, 4]);
    await turn();
    postBatch(5);
    assert.deepEqual(read, [1, 2, 3, 4, 5]);
  });

  it("answers a ping after everything sent before it, and a probe at once", async () => {
    const { proxy, post, postBatch, read, lastPing, turn } = await start();
    for (const byte of [1, 2]) postBatch(byte);
    const ping = proxy.ping(60_000).then(() => read.slice());
    post({ kind: "pong", id: lastPing().id });
    const probe = proxy.probe(60_000).then(() => read.slice());
    post({ kind: "pong", id: lastPing().id });
    await turn();
    assert.deepEqual(await ping, [1, 2]);
    await probe;
  });

  it("does not take a worker for one that hangs while it reads its messages", async () => {
    const { proxy, post, postBatch } = await start(await listenTcp(cleanup, (socket) => socket.destroy()));
    const probe = proxy.probe(100);
    postBatch(1);
    assert.equal(await probe, true);
    post({ kind: "stopped" });
  });

  it("reads the rest of the log of a worker that has ended", async () => {
    const { proxy, postBatch, read, thread } = await start();
    for (const byte of [1, 2, 3]) postBatch(byte);
    void thread.terminate();
    assert.deepEqual(read, [1, 2, 3]);
    await proxy.stop(0); // or it would start another worker
  });
});
