import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { assignColours, COLOURS } from "../../../../core/pricing/view/palette.ts";
import { ticksUpTo } from "../../../../core/pricing/view/ticks.ts";

describe("ticksUpTo()", () => {
  const table: readonly (readonly [max: bigint, ticks: readonly bigint[]])[] = [
    [0n, [0n]],
    [3n, [0n, 1n, 2n, 3n]],
    [7n, [0n, 2n, 4n, 6n, 8n]],
    [95n, [0n, 50n, 100n]],
    [170n, [0n, 50n, 100n, 150n, 200n]],
  ];
  for (const [max, ticks] of table) it(`up to ${max}`, () => assert.deepEqual(ticksUpTo(max), ticks));

  it("has few marks, in equal steps, of which the last is not below the maximum", () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 10n ** 30n), fc.integer({ min: 2, max: 8 }), (max, count) => {
        const ticks = ticksUpTo(max, count);
        assert.ok(ticks.length <= count + 1);
        assert.ok((ticks.at(-1) ?? 0n) >= max);
        assert.ok((ticks.at(-2) ?? 0n) < max);
      }),
    );
  });
});

describe("assignColours()", () => {
  it("gives each of six values its own colour, whatever their order, and none to the rest", () => {
    const keys = fc.uniqueArray(fc.option(fc.string()), { maxLength: 10 });
    fc.assert(
      fc.property(keys, (all) => {
        const colours = assignColours(all);
        const used = colours.filter((colour) => colour !== null);
        assert.equal(new Set(used).size, used.length);
        const named = all.filter((key) => key !== null);
        assert.equal(used.length, Math.min(named.length, COLOURS));
        if (named.length > COLOURS) return;
        const reversed = assignColours(all.toReversed()).reverse();
        assert.deepEqual(reversed, colours);
      }),
    );
  });
});
