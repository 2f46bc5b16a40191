import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { assignColours, COLOURS } from "../../../../core/pricing/view/palette.ts";

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
