import assert from "node:assert/strict";
import { closeSync } from "node:fs";
import { describe, it } from "node:test";
import { clearFileMemory, openFileMemory } from "../../../adapters/threads/file-memory.ts";
import { openMemoryFiles } from "../../../adapters/threads/memory-files.ts";
import { UNLIMITED_ROOM } from "../../../core/budgets/pass-room.ts";
import {
  createPassCounts,
  createPasses,
  createThreadMemory,
  MAX_PASSES,
  openThreadMemory,
  PASS_MEMORY_WORDS,
  type PassBound,
  type PassedCall,
  type PassMemory,
} from "../../../daemon/proxy/passes.ts";

const UNLIMITED = { calls: UNLIMITED_ROOM, microUsd: UNLIMITED_ROOM, tokens: UNLIMITED_ROOM };
const UNKNOWN: PassBound = { microUsd: null, tokens: null };

const callOf = (bound: PassBound = UNKNOWN, keptBytes = 0): PassedCall => ({
  ...{ keptBytes, question: () => assert.fail(), bound: () => bound },
});
const costing = (microUsd: number): PassedCall => callOf({ microUsd, tokens: null });

const memories: Record<string, () => { memory: PassMemory; close(): void } | null> = {
  "memory of threads": () => ({ memory: openThreadMemory(createThreadMemory()), close() {} }),
  "memory of processes": () => {
    const [fd] = openMemoryFiles<readonly [number]>(1) ?? [];
    if (fd === undefined) return null;
    clearFileMemory(fd, PASS_MEMORY_WORDS);
    return { memory: openFileMemory(fd), close: () => closeSync(fd) };
  },
};

for (const [name, open] of Object.entries(memories))
  describe(`passes in ${name}`, () => {
    const opened = open();
    if (opened === null) {
      it("are not possible here", { skip: "only Linux has files in memory" }, () => {});
      return;
    }
    const { memory } = opened;
    const counts = createPassCounts(memory);
    /** On a clock by which each room is too old for the next call. */
    let nowMs = 0;
    const begin = () => {
      counts.reset();
      return createPasses(memory, () => nowMs++);
    };

    it("are as many as there is room for calls, and are numbered from 1", () => {
      const passes = begin();
      assert.equal(passes.begin(callOf()), null, "no room was set");
      counts.setRoom({ ...UNLIMITED, calls: 2 });
      assert.deepEqual(
        [1, 2, 3].map(() => passes.begin(callOf())),
        [1, 2, null],
      );
      counts.counted([1]);
      assert.equal(passes.uncounted().length, 1);
      assert.deepEqual([passes.begin(callOf()), passes.begin(callOf())], [3, null]);
    });

    it("end once the calls that are not counted may use the room", () => {
      const passes = begin();
      counts.setRoom({ ...UNLIMITED, microUsd: 10 });
      assert.deepEqual(
        [4, 5, 1, 1].map((microUsd) => passes.begin(costing(microUsd))),
        [1, 2, 3, null],
      );
      counts.counted([2]);
      assert.equal(passes.begin(callOf()), 4);
      assert.equal(passes.begin(costing(0)), null, "the last one may use anything");
    });

    it("wait for calls that wait for a decision, unless these use little", () => {
      const passes = begin();
      counts.setRoom({ ...UNLIMITED, tokens: 10 });
      const answered = [9, 1].map((tokens) => passes.wait(() => ({ microUsd: null, tokens })));
      assert.equal(passes.begin(callOf()), null);
      answered[1]?.();
      assert.equal(passes.begin(callOf()), 1);
    });

    it("are as many as the memory has slots, and their bodies as large as may be kept", () => {
      const passes = begin();
      counts.setRoom(UNLIMITED);
      for (let pass = 1; pass <= MAX_PASSES; pass += 1) assert.equal(passes.begin(callOf()), pass);
      assert.equal(passes.begin(callOf()), null);
      counts.counted([2]);
      assert.equal(passes.begin(callOf()), null, "the slot of the next number is taken");
      counts.counted([1]);
      assert.equal(passes.begin(callOf()), MAX_PASSES + 1);
      assert.equal(passes.begin(callOf()), MAX_PASSES + 2);
      assert.equal(begin().begin(callOf()), null);
      counts.setRoom(UNLIMITED);
      const others = createPasses(memory);
      assert.equal(others.begin(callOf(UNKNOWN, 8 * 1_048_576)), 1);
      assert.equal(others.begin(callOf(UNKNOWN, 1)), null);
    });

    it("are none while the room is being written", () => {
      const passes = begin();
      counts.setRoom(UNLIMITED);
      assert.equal(passes.begin(callOf()), 1);
      memory.store(Int32Array.of(7), 2);
      assert.equal(passes.begin(callOf()), null);
      counts.counted([1]);
      assert.equal(passes.begin(callOf()), 2);
    });

    it("use a room for a millisecond, unless it is used up or a decision was made", () => {
      counts.reset();
      let atMs = 5;
      const passes = createPasses(memory, () => atMs);
      counts.setRoom({ ...UNLIMITED, microUsd: 10 });
      assert.equal(passes.begin(costing(1)), 1);
      counts.setRoom({ ...UNLIMITED, calls: 0 });
      assert.equal(passes.begin(costing(1)), 2, "it was read in this millisecond");
      atMs += 1;
      assert.equal(passes.begin(costing(1)), null);
      counts.setRoom({ ...UNLIMITED, microUsd: 10 });
      assert.equal(passes.begin(costing(9)), 3);
      counts.counted([1, 2]);
      assert.equal(passes.begin(costing(0)), 4, "without those that were counted there is room");
      const answered = passes.wait(() => ({ microUsd: 0, tokens: null }));
      counts.setRoom({ ...UNLIMITED, microUsd: 1 });
      answered();
      assert.equal(passes.begin(costing(0)), null, "the room contains the call that was decided on");
    });

    it("find those that were counted where the numbers begin again at the first slot", () => {
      const passes = begin();
      counts.setRoom(UNLIMITED);
      for (let pass = 1; pass <= MAX_PASSES - 2; pass += 1) passes.begin(callOf());
      counts.counted(Array.from({ length: MAX_PASSES - 3 }, (_, index) => index + 1));
      for (let pass = 0; pass < 5; pass += 1) passes.begin(callOf());
      assert.equal(passes.uncounted().length, 6);
      counts.counted([MAX_PASSES - 1, MAX_PASSES + 1]);
      assert.equal(passes.uncounted().length, 4);
      counts.counted([MAX_PASSES - 2, MAX_PASSES, MAX_PASSES + 2, MAX_PASSES + 3]);
      assert.equal(passes.uncounted().length, 0);
    });

    it("close", () => opened.close());
  });
