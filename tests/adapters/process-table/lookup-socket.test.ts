import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import process from "node:process";
import { describe, it, type TestContext } from "node:test";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { CallerQuery } from "../../../adapters/process-table/caller-query.ts";
import {
  createProcessBatch,
  type LookupMessage,
  type LookupSocketOffer,
} from "../../../adapters/process-table/lookup-port.ts";
import {
  awaitLookupProcess,
  connectToLookupThread,
  type LookupAddress,
  type LookupSocket,
} from "../../../adapters/process-table/lookup-socket.ts";
import { serveLookups } from "../../../adapters/process-table/serve-lookups.ts";

const options = { skip: process.platform !== "linux" && "only Linux has abstract names" };

/** Waits as a lookup thread does. */
async function open(t: TestContext, onConnected: (socket: LookupSocket) => void = () => {}) {
  const { promise, resolve } = Promise.withResolvers<LookupAddress>();
  t.after(awaitLookupProcess(resolve, onConnected));
  return await promise;
}

/** Resolves with what a thread sends to a client that sends this. */
async function send(path: string, text: string | Buffer): Promise<string> {
  const socket = connect(path, () => socket.write(text));
  let received = "";
  socket.on("data", (bytes) => (received += bytes.toString()));
  await once(socket, "close");
  return received;
}

describe("awaitLookupProcess()", options, () => {
  // Planted: no comparison of the secret.
  it("closes a connection that sends another secret, and tells it nothing", async (t) => {
    const address = await open(t, () => assert.fail("a stranger connected"));
    for (const text of ["x".repeat(64), `${address.processSecret}x`, address.threadSecret])
      assert.equal(await send(address.path, text), "");
    // As many bytes as the secret has, none of them a character of UTF-8.
    assert.equal(await send(address.path, Buffer.alloc(64, 0xff)), "");
  });

  it("waits for one process only, and closes the others", async (t) => {
    const sockets: LookupSocket[] = [];
    const address = await open(t, (socket) => sockets.push(socket));
    const stranger = connect(address.path);
    await once(stranger, "connect");
    const connected = Promise.withResolvers<LookupSocket>();
    connectToLookupThread(address, connected.resolve);
    const here = await connected.promise;
    t.after(() => here.close());
    if (!stranger.closed) await once(stranger, "close");
    await assert.rejects(once(connect(address.path), "connect"), { code: "ECONNREFUSED" });
    assert.equal(sockets.length, 1);
  });
});

describe("connectToLookupThread()", options, () => {
  // Planted: no comparison of the secret.
  it("closes the connection to a program that has taken the thread's name", async (t) => {
    const path = `\0meter-test-${process.pid}`;
    const impostor = createServer((socket) => socket.write("0".repeat(64))).listen(path);
    t.after(() => impostor.close());
    await once(impostor, "listening");
    const address = { path, processSecret: "1".repeat(64), threadSecret: "2".repeat(64) };
    connectToLookupThread(address, () => assert.fail("it was believed"));
    const [socket] = await once(impostor, "connection");
    await once(socket.resume(), "close");
  });
});

describe("createProcessBatch()", options, () => {
  const query: CallerQuery = { clientAddress: null, clientPort: 7, serverPort: 1, wantsProcess: false };

  /** The ports of a process and of the lookup thread, and what passes from one to the other. */
  function connectPorts(t: TestContext) {
    const [near, far] = [new MessageChannel(), new MessageChannel()];
    const state = { isBlocked: false, passed: 0, waiting: [] as (() => void)[] };
    const pass = (from: MessagePort, to: MessagePort) =>
      from.on("message", (message) => {
        const deliver = () => to.postMessage(message);
        state.passed += 1;
        if (state.isBlocked) state.waiting.push(deliver);
        else deliver();
      });
    pass(near.port2, far.port1);
    pass(far.port1, near.port2);
    t.after(() => {
      near.port1.close();
      far.port1.close();
    });
    return { process: near.port1, thread: far.port2, state };
  }

  const answer = async (queries: readonly CallerQuery[]) =>
    queries.map(({ clientPort }) => ({ uid: clientPort, process: null }));

  // Planted: the batch stays at the port.
  it("answers while the thread between the two is blocked, once the socket is open", async (t) => {
    const { process, thread, state } = connectPorts(t);
    serveLookups(thread, answer, () => {});
    const batch = createProcessBatch(process);
    const expected = [{ uid: 7, process: null }];
    assert.deepEqual(await batch([query]), expected);
    for (let before = -1; state.passed !== before; await batch([query])) before = state.passed;
    state.isBlocked = true;
    assert.deepEqual(await batch([query]), expected);
    assert.deepEqual(state.waiting, []);
  });

  it("uses the port while a socket is not offered, and after the socket has closed", async (t) => {
    const { process, thread } = connectPorts(t);
    let socket: LookupSocket | undefined;
    const opened = Promise.withResolvers<void>();
    thread.on("message", (message: LookupMessage) => {
      if ("queries" in message) thread.postMessage({ id: message.id, answers: [{ uid: 1, process: null }] });
      if ("wantsSocket" in message)
        t.after(
          awaitLookupProcess(
            (address) => thread.postMessage({ socket: address } satisfies LookupSocketOffer),
            (connected) => {
              socket = connected;
              opened.resolve();
            },
          ),
        );
    });
    const batch = createProcessBatch(process);
    assert.deepEqual(await batch([query]), [{ uid: 1, process: null }]);
    await opened.promise;
    const asked = once(socket as LookupSocket, "message");
    let lost = batch([query]);
    while ((await Promise.race([asked.then(() => "socket"), lost.then(() => "port")])) === "port")
      lost = batch([query]);
    socket?.close();
    await assert.rejects(lost, /the lookup thread has exited/);
    assert.deepEqual(await batch([query]), [{ uid: 1, process: null }]);
  });
});
