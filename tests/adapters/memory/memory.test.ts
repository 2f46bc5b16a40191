import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createMemoryBodyStore,
  createMemoryStateStore,
  createMemorySyncStore,
} from "../../../adapters/memory/mod.ts";

describe("createMemoryStateStore()", () => {
  it("gives back the state saved last, as a value of its own, and null before that", async () => {
    const store = createMemoryStateStore<{ list: number[] }>();
    assert.equal(await store.load(), null);
    const state = { list: [1] };
    await store.save(state);
    state.list.push(2);
    assert.deepEqual(await store.load(), { list: [1] });
  });
});

describe("createMemorySyncStore()", () => {
  it("selects what is neither synced nor in quarantine, oldest first, up to the limit", async () => {
    const store = createMemorySyncStore<number>();
    for (const [at, id] of ["a", "b", "c", "d"].entries()) store.add(id, at);
    store.add("a", 9);
    assert.deepEqual([store.read("a"), store.read("x")], [0, null]);
    assert.deepEqual(await store.selectPending(2), ["a", "b"]);
    await store.markSynced(["a", "x"], 1);
    await store.quarantine([{ requestId: "b", code: "c", message: "m" }], 1);
    assert.deepEqual(await store.selectPending(9), ["c", "d"]);
  });

  it("is safe to run twice: the first stamp stays", async () => {
    const store = createMemorySyncStore<number>();
    store.add("a", 0);
    const rejected = [
      { requestId: "a", code: "c", message: "m" },
      { requestId: "x", code: "c", message: "m" },
    ];
    for (const at of [1, 2]) {
      await store.markSynced(["a"], at);
      await store.quarantine(rejected, at);
    }
    assert.deepEqual([...store.syncedAt], [["a", 1]]);
    assert.deepEqual([...store.quarantined], [["a", { requestId: "a", code: "c", message: "m", at: 1 }]]);
  });
});

describe("createMemoryBodyStore()", () => {
  const utf8 = new Uint8Array([104, 105]);
  const leg = { direction: "request", project: "p", capturedAt: 1, utf8 } as const;

  it("selects behind a position, in order, also where the leg of that position is gone", async () => {
    const store = createMemoryBodyStore();
    for (const requestId of ["a", "b", "c", "d"]) store.add({ ...leg, requestId });
    store.add({ ...leg, requestId: "a", project: "other" });
    assert.deepEqual([store.read("a", "request")?.project, store.read("a", "response")], ["p", null]);
    const [first, second] = await store.selectPending(null, 2);
    assert.deepEqual(first, {
      requestId: "a",
      direction: "request",
      project: "p",
      capturedAt: 1,
      sizeBytes: 2,
      position: "0000000000000000",
    });
    await store.markUploaded("b", "request", 1);
    await store.quarantine("d", "request", "HTTP 404", 1);
    const rest = await store.selectPending(second?.position ?? null, 9);
    assert.deepEqual(
      rest.map(({ requestId }) => requestId),
      ["c"],
    );
  });

  it("is safe to run twice, and passes over what it does not know", async () => {
    const store = createMemoryBodyStore();
    store.add({ ...leg, requestId: "a" });
    for (const at of [1, 2]) {
      await store.markUploaded("a", "request", at);
      await store.markUploaded("a", "response", at);
      await store.quarantine("a", "request", "HTTP 404", at);
      await store.quarantine("x", "request", "HTTP 404", at);
    }
    assert.deepEqual([...store.uploadedAt], [["a request", 1]]);
    assert.deepEqual([...store.quarantined], [["a request", { reason: "HTTP 404", at: 1 }]]);
  });
});
