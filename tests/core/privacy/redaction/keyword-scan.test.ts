import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createKeywordScan } from "../../../../core/privacy/redaction/keyword-scan.ts";

const found = (keywords: readonly string[], text: string): string[] => {
  const hits: string[] = [];
  createKeywordScan(keywords)(text, (keyword, end) => hits.push(`${keywords[keyword]}@${end}`));
  return hits.sort();
};

describe("createKeywordScan()", () => {
  it("finds overlapping keywords in any case", () => {
    assert.deepEqual(found(["he", "she", "hers", "his"], "uSHErs"), ["he@4", "hers@6", "she@4"]);
  });

  it("restarts after a character that is not ASCII", () => {
    assert.deepEqual(found(["ab"], "a\u00E4b ab"), ["ab@6"]);
  });

  // Seen to fail with the links to suffixes left out.
  it("agrees with a separate search for each keyword", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "_"), minLength: 1, maxLength: 4 });
    const text = fc.string({
      unit: fc.constantFrom("a", "B", "b", "_", "\u00E9"),
      maxLength: 30,
      size: "max",
    });
    fc.assert(
      fc.property(fc.uniqueArray(word, { minLength: 1, maxLength: 6 }), text, (keywords, subject) => {
        const expected: string[] = [];
        for (const keyword of keywords) {
          for (let end = keyword.length; end <= subject.length; end += 1) {
            if (subject.slice(end - keyword.length, end).toLowerCase() === keyword)
              expected.push(`${keyword}@${end}`);
          }
        }
        assert.deepEqual(found(keywords, subject), expected.sort());
      }),
    );
  });
});
