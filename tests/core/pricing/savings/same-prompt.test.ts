import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listSamePrompts, MAX_SAME_PROMPTS } from "../../../../core/pricing/savings/same-prompt.ts";

const call = (requestId: string, requestedAt: number) => ({ requestId, requestedAt });

describe("listSamePrompts()", () => {
  it("counts the call itself, and lists the nearest others, the newest first", () => {
    const own = call("own", 100);
    assert.deepEqual(listSamePrompts(own, [own]), { count: 1, nearest: [] });
    assert.deepEqual(listSamePrompts(own, [call("a", 90), own, call("b", 130)]), {
      count: 3,
      nearest: [call("b", 130), call("a", 90)],
    });
    const many = Array.from({ length: 30 }, (_, n) => call(`${n}`, 101 + n));
    const { count, nearest } = listSamePrompts(own, [...many, own]);
    assert.equal(count, 31);
    assert.deepEqual(nearest, many.slice(0, MAX_SAME_PROMPTS).toReversed());
  });
});
