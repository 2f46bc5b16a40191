import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withTimeout } from "../../../adapters/clock/with-timeout.ts";

const never = new Promise<never>(() => {});
const LONG_MS = 2 ** 30;

describe("withTimeout()", () => {
  it("resolves with the work's result, and ends its timer so that the process can exit", async () => {
    const unexpected = () => assert.fail("the work is in time");
    assert.equal(await withTimeout(Promise.resolve(1), LONG_MS, unexpected), 1);
  });

  it("rejects with the error of the work", async () => {
    await assert.rejects(
      withTimeout(Promise.reject(new Error("broken")), LONG_MS, () => 2),
      /broken/,
    );
  });

  it("resolves with the substitute if the work takes longer", async () => {
    assert.equal(await withTimeout(never, 1, () => 2), 2);
  });

  it("rejects if the substitute throws", async () => {
    const late = () => {
      throw new Error("too late");
    };
    await assert.rejects(withTimeout(never, 1, late), /too late/);
  });
});
