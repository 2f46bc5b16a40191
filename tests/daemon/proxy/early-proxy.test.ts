import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startProxyEarly } from "../../../daemon/proxy/early-proxy.ts";
import type { ProxyEvent, ProxySink, RunningProxy } from "../../../daemon/proxy/start-proxy.ts";
import type { TapFrame } from "../../../daemon/proxy/tap-frames.ts";

function setUp(listening: Promise<void> = Promise.resolve()) {
  const worker = Promise.withResolvers<ProxySink>();
  let [stops, serves] = [0, 0];
  const running = {
    stop: async () => void (stops += 1),
    serve: () => void (serves += 1),
  } as Partial<RunningProxy> as RunningProxy;
  const early = startProxyEarly(async (sink) => {
    worker.resolve(sink);
    await listening;
    return running;
  });
  const heard: (string | ProxyEvent)[] = [];
  const reader: ProxySink = {
    frames(frames) {
      for (const frame of frames) heard.push(frame.kind === "data" ? String(frame.bytes) : frame.kind);
    },
    event: (event) => heard.push(event),
  };
  return { early, worker: worker.promise, running, heard, reader, stops: () => stops, serves: () => serves };
}

const data = (bytes: Uint8Array): TapFrame => ({
  kind: "data",
  connection: 1,
  direction: "request",
  bytes,
  atMs: 0,
});

describe("startProxyEarly()", () => {
  it("buffers frames until a sink is attached, with their bytes and order, then delivers directly", async () => {
    const { early, worker, running, heard, reader, serves } = setUp();
    const bytes = Uint8Array.of(1, 2);
    const sink = await worker;
    sink.frames([{ kind: "labelled", connection: 1, project: "p" }, data(bytes)]);
    bytes.fill(9); // The worker reuses its buffers.
    sink.event({ kind: "worker_restarted", port: 1 });
    assert.equal(serves(), 0, "clients wait");
    assert.equal(await early.attach(reader), running);
    assert.equal(serves(), 1);
    sink.frames([data(Uint8Array.of(3))]);
    sink.event({ kind: "port_lost", message: "x" });
    assert.deepEqual(heard, [
      "labelled",
      "1,2",
      { kind: "worker_restarted", port: 1 },
      "3",
      { kind: "port_lost", message: "x" },
    ]);
  });

  it("rejects from attach() if it can't listen", async () => {
    const { early, reader } = setUp(Promise.reject(new Error("taken")));
    await new Promise(setImmediate);
    await assert.rejects(early.attach(reader), /taken/);
    await early.abandon();
  });

  it("stops on abandon(), unless a sink is attached", async () => {
    const alone = setUp();
    await alone.early.abandon();
    assert.equal(alone.stops(), 1);
    const attached = setUp();
    await attached.early.attach(attached.reader);
    await attached.early.abandon();
    assert.equal(attached.stops(), 0);
    const failed = setUp(Promise.reject(new Error("taken")));
    await failed.early.abandon();
    assert.equal(failed.stops(), 0);
  });
});
