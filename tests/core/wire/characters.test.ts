import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  countCharacters,
  isLegibleLine,
  isStorableText,
  toStorableText,
  truncateCharacters,
} from "../../../core/wire/characters.ts";

/** Characters of one and of two code units, both lone surrogates, and characters that no store accepts. */
const shaped = fc.string({
  unit: fc.constantFrom("a", "é", "\u{1F600}", "\ud83d", "\ude00", "\0"),
  maxLength: 12,
  size: "max",
});

describe("truncateCharacters()", () => {
  const cases: readonly [text: string, max: number, cut: string][] = [
    ["abc", 3, "abc"],
    ["abcd", 3, "abc"],
    ["\u{1F600}\u{1F600}", 1, "\u{1F600}"],
    ["a\u{1F600}b", 2, "a\u{1F600}"],
    ["a\u{1F600}b", 3, "a\u{1F600}b"],
    ["abc", 0, ""],
    ["", 5, ""],
  ];
  for (const [text, max, cut] of cases) {
    it(`cuts ${JSON.stringify(text)} to ${max}`, () => assert.equal(truncateCharacters(text, max), cut));
  }

  // Seen to fail with `text.slice(0, maxCharacters)`, which splits a surrogate pair.
  it("keeps the first characters without splitting one", () => {
    fc.assert(
      fc.property(shaped, fc.nat(13), (text, max) => {
        assert.deepEqual([...truncateCharacters(text, max)], [...text].slice(0, max));
        assert.equal(countCharacters(text), [...text].length);
      }),
    );
  });
});

describe("toStorableText()", () => {
  it("replaces what cannot be stored with U+FFFD", () => {
    assert.equal(toStorableText("a\0b\ud83dc", 10), "a\ufffdb\ufffdc");
  });

  // Seen to fail with the replacement after the cut, which had split a surrogate pair.
  it("returns storable text, and leaves storable text unchanged", () => {
    fc.assert(
      fc.property(shaped, fc.nat(13), (text, max) => {
        const stored = toStorableText(text, max);
        assert.ok(isStorableText(stored) && countCharacters(stored) <= max);
        if (isStorableText(text)) assert.equal(stored, truncateCharacters(text, max));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("isLegibleLine()", () => {
  const cases = [
    ["Ada's team", true],
    ["\u2067\u05d0\u2069", true],
    ["\u{1f468}\u200d\u{1f469}", true],
    ["x\r\nBcc: y", false],
    ["a\u2028b", false],
    ["a\u001bb", false],
    ["\u200b \u2060", false],
    ["", false],
  ] as const;
  for (const [text, isLegible] of cases) {
    it(`is ${isLegible} for ${JSON.stringify(text)}`, () => assert.equal(isLegibleLine(text), isLegible));
  }
});
