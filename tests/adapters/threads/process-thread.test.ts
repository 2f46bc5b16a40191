import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { MessageChannel } from "node:worker_threads";
import { ProcessThread } from "../../../adapters/threads/process-thread.ts";

const skip =
  "Deno" in globalThis || "Bun" in globalThis || process.platform === "win32"
    ? "processes take the place of threads on Node and POSIX only"
    : false;

/** Answers messages according to their content. */
const MODULE = `
import { openThreadPort } from "${new URL("../../../adapters/threads/thread-port.ts", import.meta.url).href}";
const port = openThreadPort();
const first = await port.first;
port.post({ data: port.data, isProcess: port.isProcess, first });
port.listen((message) => {
  if (message.kind === "port") {
    message.port.on("message", (text) => message.port.postMessage("answer to " + text));
  } else if (message.kind === "parts") {
    for (let part = 0; part < message.count; part += 1) port.postPart({ part, bytes: new Uint8Array(65_536) }, false);
    port.postPart({ part: "urgent" }, true);
    port.post("whole");
  } else if (message.kind === "turns") {
    for (let part = 0; part < 200; part += 1) port.postPart(new Uint8Array(65_536), false);
    let left = message.count;
    const turn = () => {
      port.post("whole");
      if ((left -= 1) > 0) setImmediate(turn);
    };
    setImmediate(turn);
  } else if (message.kind === "throw") throw new RangeError("planted");
  else {
    for (let index = 0; index < message.count; index += 1) port.post(new Uint8Array(1000).fill(index));
    process.kill(process.pid, "SIGSEGV");
  }
});
`;

describe("a process in place of a thread", { skip, timeout: 30_000 }, () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "process-thread-"));
    writeFileSync(join(folder, "module.mjs"), MODULE);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function start() {
    const thread = new ProcessThread(pathToFileURL(join(folder, "module.mjs")), { data: { a: 1 } });
    thread.postMessage({ kind: "first" });
    // Waits in the process until it listens.
    const [hello] = await once(thread, "message");
    assert.deepEqual(hello, { data: { a: 1 }, isProcess: true, first: { kind: "first" } });
    return thread;
  }

  it("delivers everything that it sent before a crash in native code, then names the signal", async () => {
    const thread = await start();
    const received: number[] = [];
    thread.on("message", (bytes: Uint8Array) => received.push(bytes[999] as number));
    thread.postMessage({ kind: "burst", count: 50 });
    const [code, signal] = await once(thread, "exit");
    assert.deepEqual([code, signal, thread.threadId], [null, "SIGSEGV", -1]);
    assert.deepEqual(
      received,
      Array.from({ length: 50 }, (_, index) => index),
    );
    thread.postMessage({ kind: "burst", count: 1 }); // does nothing
  });

  it("delivers messages ahead of the parts that were posted before, except the first 16; urgent parts ahead of others", async () => {
    const thread = await start();
    const received: unknown[] = [];
    const done = new Promise<void>((resolve) =>
      thread.on("message", (message: string | { readonly part: unknown }) => {
        received.push(typeof message === "string" ? message : message.part);
        if (received.length === 22) resolve();
      }),
    );
    thread.postMessage({ kind: "parts", count: 20 });
    await done;
    thread.terminate();
    const parts = Array.from({ length: 20 }, (_, at) => at);
    assert.deepEqual(received, [...parts.slice(0, 16), "whole", "urgent", ...parts.slice(16)]);
  });

  it("sends at most one of many parts in each turn of the event loop", async () => {
    const thread = await start();
    let parts = 0;
    let whole = 0;
    const done = new Promise<void>((resolve) =>
      thread.on("message", (message) => {
        if (message === "whole") whole += 1;
        else if (whole < 20) parts += 1;
        if (whole === 20) resolve();
      }),
    );
    thread.postMessage({ kind: "turns", count: 20 });
    await done;
    thread.terminate();
    assert.ok(parts <= 37, `${parts} parts came before the messages of 20 turns`);
  });

  it("passes the messages of a transferred port on, both ways", async () => {
    const thread = await start();
    const { port1, port2 } = new MessageChannel();
    thread.postMessage({ kind: "port", port: port2 }, [port2]);
    port1.postMessage("a question");
    assert.deepEqual(await once(port1, "message"), ["answer to a question"]);
    thread.terminate();
    // The port ends with the process.
    await once(port1, "close");
  });

  it("reports an error that the module did not handle", async () => {
    const thread = await start();
    thread.postMessage({ kind: "throw" });
    const seen: unknown[] = [];
    thread.on("error", (error: Error) => seen.push(error.message));
    await new Promise<void>((resolve) => thread.on("exit", (code) => resolve(void seen.push(code))));
    assert.deepEqual(seen, ["RangeError: planted", 1]);
  });

  it("ends with an error if the system does not start it", async () => {
    const thread = new ProcessThread(pathToFileURL(join(folder, "module.mjs")), {
      ...{ data: null, inheritedFd: 999_999 }, // Node throws EBADF
    });
    thread.ref();
    const seen: unknown[] = [];
    thread.on("error", (error: Error) => seen.push(error.message));
    await new Promise<void>((resolve) => thread.on("exit", (code) => resolve(void seen.push(code))));
    assert.deepEqual([seen, thread.threadId], [["spawn EBADF", 1], -1]);
  });

  it("ends with its parent's connection", async () => {
    const thread = await start();
    const pid = thread.threadId;
    thread.disconnect();
    const [code] = await once(thread, "exit");
    assert.equal(code, 0);
    assert.throws(() => process.kill(pid, 0));
  });
});
