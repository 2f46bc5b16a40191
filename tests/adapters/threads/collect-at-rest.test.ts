import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { describe, it } from "node:test";
import { cachedDataVersionTag } from "node:v8";
import { collectGarbageAtRest, createRestDetector } from "../../../adapters/threads/collect-at-rest.ts";

const seconds = (utilization: number) => ({ active: utilization * 5_000, utilization });

describe("a thread at rest", () => {
  it("is reported after the start, with the first quiet interval", () => {
    const isAtRest = createRestDetector();
    const loads = [0.5, 0, 0, 0].map(seconds);
    assert.deepEqual(
      loads.map((load) => isAtRest(load)),
      [false, true, false, false],
    );
  });

  it("begins with the first quiet interval after work, and is reported once", () => {
    const isAtRest = createRestDetector();
    const loads = [0, 0.5, 0.9, 0.01, 0.01, 0].map(seconds);
    assert.deepEqual(
      loads.map((load) => isAtRest(load)),
      [true, false, false, true, false, false],
    );
  });

  it("is reported again after more work, even after work in small amounts", () => {
    const isAtRest = createRestDetector();
    const loads = [0.5, 0, 0.04, 0.02, 0.6, 0.01].map(seconds);
    assert.deepEqual(
      loads.map((load) => isAtRest(load)),
      [false, true, false, true, false, true],
    );
  });

  it("is reported after work of 20 times the last collection's duration", () => {
    const isAtRest = createRestDetector();
    const work = { active: 900, utilization: 0.02 };
    assert.equal(isAtRest(seconds(0)), true);
    assert.deepEqual(
      Array.from({ length: 8 }, () => isAtRest(work, 160)),
      [false, false, false, true, false, false, false, true],
    );
  });
});

describe("collectGarbageAtRest()", () => {
  it("returns the memory of a thread that worked, and lets the process end", () => {
    const module = new URL("../../../adapters/threads/collect-at-rest.ts", import.meta.url).href;
    // With a fifth of the interval, the test need not wait five seconds. The process rarely wakes, so it is at rest even on a
    // busy machine, and works again if the first rest is missed.
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      [
        // Without it, V8 collects garbage by itself after eight seconds.
        "--no-memory-reducer",
        "--input-type=module",
        "-e",
        `const real = globalThis.setInterval;
        globalThis.setInterval = (callback, ms) => real(callback, ms / 5);
        const { collectGarbageAtRest } = await import(${JSON.stringify(module)});
        const { promise: collected, resolve } = Promise.withResolvers();
        globalThis.registry = new FinalizationRegistry(resolve);
        const work = () => {
          registry.register({ garbage: new Array(1_000) }, 0);
          const end = performance.now() + 300;
          while (performance.now() < end);
        };
        collectGarbageAtRest();
        work();
        const working = real(work, 5_000);
        await collected;
        clearInterval(working);
        console.log("collected");`,
      ],
      { encoding: "utf8", timeout: 120_000 },
    );
    assert.deepEqual({ stdout, status, stderr }, { stdout: "collected\n", status: 0, stderr: "" });
  });

  it("leaves V8's flags as they were, because compiled code is cached by them", () => {
    const before = cachedDataVersionTag();
    collectGarbageAtRest();
    assert.equal(cachedDataVersionTag(), before);
  });
});
