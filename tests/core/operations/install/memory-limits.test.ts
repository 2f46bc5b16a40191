import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  memoryLimits,
  setsMemoryLimits,
  withMemoryLimits,
} from "../../../../core/operations/install/memory-limits.ts";

describe("withMemoryLimits()", () => {
  it("adds the limits and keeps everything else", () => {
    assert.deepEqual(withMemoryLimits({ PATH: "/bin" }), { ...memoryLimits, PATH: "/bin" });
  });

  it("lets variables of the environment take precedence, with their Node options after its own", () => {
    const limited = withMemoryLimits({
      MALLOC_ARENA_MAX: "7",
      NODE_OPTIONS: "--max-semi-space-size=32",
    });
    assert.equal(limited.MALLOC_ARENA_MAX, "7");
    assert.equal(limited.NODE_OPTIONS, `${memoryLimits.NODE_OPTIONS} --max-semi-space-size=32`);
  });
});

describe("setsMemoryLimits()", () => {
  const cases: [env: Record<string, string>, expected: boolean][] = [
    [{}, false],
    [{ NODE_OPTIONS: "--enable-source-maps" }, false],
    [{ NODE_OPTIONS: "--enable-source-maps --max-semi-space-size=16" }, true],
    [{ NODE_OPTIONS: "--max_semi_space_size=16" }, true],
    [{ MALLOC_ARENA_MAX: "0" }, true],
    [{ MALLOC_TRIM_THRESHOLD_: "1" }, true],
  ];
  for (const [env, expected] of cases)
    it(`is ${expected} for ${JSON.stringify(env)}`, () => assert.equal(setsMemoryLimits(env), expected));

  it("is true for an environment with the limits, so that a program restarted with them does not restart again", () => {
    assert.equal(setsMemoryLimits(withMemoryLimits({})), true);
  });
});
