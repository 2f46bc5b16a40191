import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { truncateText } from "../../../../core/values/text/truncate-text.ts";

const encoder = new TextEncoder();

/** One character of each encoded length, a combining mark, a surrogate pair and both lone surrogates. */
const shaped = fc.string({
  unit: fc.constantFrom("a", "é", "€", "\u{1F600}", "\u0301", "\uD83D", "\uDE00", "\u0000", "\uFEFF"),
  maxLength: 40,
  size: "max",
});

describe("truncateText()", () => {
  const cases: readonly [text: string, maxBytes: number, cut: string, bytes: number, truncated: boolean][] = [
    ["abc", 3, "abc", 3, false],
    ["abc", 2, "ab", 2, true],
    ["abc", 0, "", 0, true],
    ["", 0, "", 0, false],
    ["naïve", 3, "na", 2, true],
    ["naïve", 4, "naï", 4, true],
    ["€", 2, "", 0, true],
    ["a\u{1F600}", 4, "a", 1, true],
    ["a\u{1F600}", 5, "a\u{1F600}", 5, false],
  ];
  for (const [text, maxBytes, cut, bytes, truncated] of cases) {
    it(`cuts ${JSON.stringify(text)} to ${maxBytes} bytes`, () => {
      assert.deepEqual(truncateText(text, maxBytes), { text: cut, bytes, truncated });
    });
  }

  // Seen to fail with `text.slice(0, maxBytes)` as the cut, and with a cut inside a surrogate pair.
  it("keeps the longest prefix of whole characters that fits", () => {
    fc.assert(
      fc.property(shaped, fc.nat(130), (text, maxBytes) => {
        const cut = truncateText(text, maxBytes);
        assert.ok(text.startsWith(cut.text));
        assert.equal(encoder.encode(cut.text).length, cut.bytes);
        assert.ok(cut.bytes <= maxBytes);
        assert.equal(cut.truncated, cut.text !== text);
        const next = text.codePointAt(cut.text.length);
        if (next !== undefined) {
          assert.ok(cut.bytes + encoder.encode(String.fromCodePoint(next)).length > maxBytes);
        }
      }),
    );
  });
});
