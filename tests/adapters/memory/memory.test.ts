import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryBodyStore } from "../../../adapters/memory/body-store.ts";
import { createMemoryStateStore } from "../../../adapters/memory/state-store.ts";
import { createMemorySyncStore } from "../../../adapters/memory/sync-store.ts";

describe("createMemoryStateStore()", () => {
  it("returns a copy of the last saved state, and null before", async () => {
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

  it("is safe to run twice, and keeps the first time", async () => {
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
  const body = { direction: "request", project: "p", capturedAt: 1, utf8 } as const;

  it("selects after a position, in order, even if the body at that position no longer exists", async () => {
    const store = createMemoryBodyStore();
    for (const requestId of ["a", "b", "c", "d"]) store.add({ ...body, requestId });
    store.add({ ...body, requestId: "a", project: "other" });
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

  it("is safe to run twice, and ignores unknown bodies", async () => {
    const store = createMemoryBodyStore();
    store.add({ ...body, requestId: "a" });
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
