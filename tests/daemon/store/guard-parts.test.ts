import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Guard, guardParts } from "../../../daemon/store/guard-parts.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { StoreParts } from "../../../daemon/store/port/store.ts";
import { opener } from "./open-sample-store.rig.ts";

type Method = (...args: unknown[]) => unknown;

const passOn: Guard = (call) => call();

/** The parts of a real store, with methods that return their own name and arguments. */
async function recordingParts(): Promise<StoreParts> {
  const store = await openStore(opener, ":memory:");
  const recording: Record<string, Record<string, Method>> = {};
  for (const [part, methods] of Object.entries(store)) {
    if (typeof methods !== "object" || methods === null || methods instanceof Promise) continue;
    recording[part] = Object.fromEntries(
      Object.keys(methods).map((name) => [name, (...args: unknown[]) => ({ part, name, args })]),
    );
  }
  store.close();
  return recording as unknown as StoreParts;
}

describe("guardParts()", () => {
  it("calls every method of every part once, through the guard", async () => {
    const parts = await recordingParts();
    let guarded = 0;
    const counting: Guard = (call) => {
      guarded += 1;
      return call();
    };
    const result = guardParts(() => parts, counting) as unknown as Record<string, Record<string, Method>>;
    assert.deepEqual(Object.keys(result).sort(), Object.keys(parts).sort());
    for (const [part, methods] of Object.entries(parts)) {
      assert.deepEqual(Object.keys(result[part]!).sort(), Object.keys(methods).sort());
      for (const name of Object.keys(methods)) {
        const before = guarded;
        // No method has more parameters.
        const returned = result[part]![name]!(1, 2, 3, 4) as { args: unknown[] };
        const length = returned.args.length;
        assert.deepEqual(returned, { part, name, args: [1, 2, 3, 4].slice(0, length) });
        assert.equal(length, result[part]![name]!.length);
        assert.equal(guarded, before + 1);
      }
    }
  });

  it("calls the parts that are current, even if they were replaced", async () => {
    const [first, second] = [await openStore(opener, ":memory:"), await openStore(opener, ":memory:")];
    let current = first;
    const { notes } = guardParts(() => current, passOn);
    notes.write("key", "first");
    current = second;
    assert.equal(notes.read("key"), null);
    current = first;
    assert.equal(notes.read("key"), "first");
    first.close();
    second.close();
  });
});
