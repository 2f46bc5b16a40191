import assert from "node:assert/strict";
import { closeSync } from "node:fs";
import { describe, it } from "node:test";
import { clearFileMemory, openFileMemory } from "../../../adapters/threads/file-memory.ts";
import { openMemoryFiles } from "../../../adapters/threads/memory-files.ts";
import { NO_PASS_ROOM, type PassRoom, UNLIMITED_ROOM } from "../../../core/budgets/pass-room.ts";
import type { PassedUses } from "../../../daemon/proxy/call-question.ts";
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
  ...{ keptBytes, bound: () => bound, body: () => new Uint8Array(keptBytes) },
});
const numbersOf = (uses: PassedUses | null) => [...(uses?.bounds ?? [])].filter((_, at) => at % 3 === 0);
const costing = (microUsd: number): PassedCall => callOf({ microUsd, tokens: 0 });

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
    let room = NO_PASS_ROOM;
    const setRoom = (next: PassRoom) => {
      room = next;
      counts.update(room);
    };
    const count = (passes: readonly number[]) => counts.update(room, passes);
    /** On a clock by which each room is too old for the next call. */
    let nowMs = 0;
    const begin = () => {
      counts.reset();
      room = NO_PASS_ROOM;
      return createPasses(memory, () => nowMs++);
    };

    it("are as many as there is room for calls, and are numbered from 1", () => {
      const passes = begin();
      assert.equal(passes.begin(callOf()), null, "no room was set");
      setRoom({ ...UNLIMITED, calls: 2 });
      assert.deepEqual(
        [1, 2, 3].map(() => passes.begin(callOf())),
        [1, 2, null],
      );
      count([1]);
      assert.deepEqual([passes.begin(callOf()), passes.begin(callOf())], [3, null]);
      assert.deepEqual(numbersOf(passes.uncounted()), [2, 3]);
    });

    it("end once the calls that are not counted may use the room", () => {
      const passes = begin();
      setRoom({ ...UNLIMITED, microUsd: 10 });
      assert.deepEqual(
        [4, 5, 1, 1].map((microUsd) => passes.begin(costing(microUsd))),
        [1, 2, 3, null],
      );
      count([2]);
      assert.equal(passes.begin(callOf()), 4);
      assert.equal(passes.begin(costing(0)), null, "the last one may use anything");
    });

    it("wait for calls that wait for a decision, unless these use little", () => {
      const passes = begin();
      setRoom({ ...UNLIMITED, tokens: 10 });
      const answered = [9, 1].map((tokens) => passes.wait(() => ({ microUsd: null, tokens })));
      assert.equal(passes.begin(callOf()), null);
      answered[1]?.();
      assert.equal(passes.begin(callOf()), 1);
    });

    it("are as many as the memory has slots, and their bodies as large as may be kept", () => {
      const passes = begin();
      setRoom(UNLIMITED);
      for (let pass = 1; pass <= MAX_PASSES; pass += 1) assert.equal(passes.begin(callOf()), pass);
      assert.equal(passes.begin(callOf()), null);
      count([2]);
      assert.equal(passes.begin(callOf()), null, "the slot of the next number is taken");
      count([1]);
      assert.equal(passes.begin(callOf()), MAX_PASSES + 1);
      assert.equal(passes.begin(callOf()), MAX_PASSES + 2);
      assert.equal(begin().begin(callOf()), null);
      setRoom(UNLIMITED);
    });

    it("keep the bodies of calls with unknown bounds, until they are stated", () => {
      const passes = begin();
      setRoom(UNLIMITED);
      const [large, known] = [8 * 1_048_576, { microUsd: 1, tokens: 1 }];
      assert.equal(passes.begin(callOf(known, large)), 1);
      assert.equal(passes.begin(callOf(UNKNOWN, large)), 2, "the first one needs no body");
      assert.equal(passes.begin(callOf(known, 1)), null);
      const { bodies } = passes.uncounted() ?? assert.fail();
      assert.deepEqual(
        [...bodies].map(([pass, { length }]) => [pass, length]),
        [[2, large]],
      );
      assert.equal(passes.begin(callOf(UNKNOWN, large)), 3);
      assert.equal(passes.begin(callOf(known, 1)), null);
      count([3]);
      assert.equal(passes.begin(callOf(known, 1)), 4);
    });

    it("end later if many of them are counted, whose slots are read once for several rooms", () => {
      const passes = begin();
      setRoom({ ...UNLIMITED, microUsd: 1_000 });
      for (let pass = 1; pass <= 900; pass += 1) {
        assert.equal(passes.begin(costing(1)), pass);
        // The sums contain it.
        if (pass > 5) count([pass - 5]);
      }
      setRoom({ ...UNLIMITED, microUsd: 6 });
      assert.equal(passes.begin(costing(1)), 901);
      assert.equal(passes.begin(costing(1)), null);
    });

    it("are none while the room is being written", () => {
      const passes = begin();
      setRoom(UNLIMITED);
      assert.equal(passes.begin(callOf()), 1);
      memory.store(Int32Array.of(7), 2);
      assert.equal(passes.begin(callOf()), null);
      count([1]);
      assert.equal(passes.begin(callOf()), 2);
    });

    it("use a room for a millisecond, unless it is used up or a decision was made", () => {
      counts.reset();
      let atMs = 5;
      const passes = createPasses(memory, () => atMs);
      setRoom({ ...UNLIMITED, microUsd: 10 });
      assert.equal(passes.begin(costing(1)), 1);
      setRoom({ ...UNLIMITED, calls: 0 });
      assert.equal(passes.begin(costing(1)), 2, "it was read in this millisecond");
      atMs += 1;
      assert.equal(passes.begin(costing(1)), null);
      setRoom({ ...UNLIMITED, microUsd: 10 });
      assert.equal(passes.begin(costing(9)), 3);
      count([1, 2]);
      assert.equal(passes.begin(costing(0)), 4, "without those that were counted there is room");
      const answered = passes.wait(() => ({ microUsd: 0, tokens: null }));
      setRoom({ ...UNLIMITED, microUsd: 1 });
      answered();
      assert.equal(passes.begin(costing(0)), null, "the room contains the call that was decided on");
    });

    it("find those that were counted where the numbers begin again at the first slot", () => {
      const passes = begin();
      setRoom(UNLIMITED);
      for (let pass = 1; pass <= MAX_PASSES - 2; pass += 1) passes.begin(callOf());
      count(Array.from({ length: MAX_PASSES - 3 }, (_, index) => index + 1));
      for (let pass = 0; pass < 5; pass += 1) passes.begin(callOf());
      assert.deepEqual(
        numbersOf(passes.uncounted()),
        [-2, -1, 0, 1, 2, 3].map((after) => MAX_PASSES + after),
      );
      count([MAX_PASSES - 1, MAX_PASSES + 1]);
      setRoom({ ...UNLIMITED, calls: 5 });
      assert.deepEqual([passes.begin(callOf()), passes.begin(callOf())], [MAX_PASSES + 4, null]);
      assert.deepEqual(numbersOf(passes.uncounted()), [MAX_PASSES + 4], "the others were stated");
      count([MAX_PASSES - 2, MAX_PASSES, MAX_PASSES + 2, MAX_PASSES + 3, MAX_PASSES + 4]);
      assert.equal(passes.uncounted(), null);
    });

    it("close", () => opened.close());
  });
