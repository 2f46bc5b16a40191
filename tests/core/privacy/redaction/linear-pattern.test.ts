import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  MAX_PATTERN_POSITIONS,
  readLinearPattern,
} from "../../../../core/privacy/redaction/linear-pattern.ts";

function covered(pattern: string, text: string): string[] {
  const reading = readLinearPattern(pattern);
  assert.ok(reading.ok);
  const found: string[] = [];
  reading.find(text, (start, end) => found.push(text.slice(start, end)));
  return found;
}

describe("readLinearPattern()", () => {
  const cases: readonly [pattern: string, text: string, found: readonly string[]][] = [
    ["abc", "xabcabc abc", ["abcabc", "abc"]],
    ["acme_[a-z0-9]{4,6}", "acme_abc acme_abcd acme_1234567", ["acme_abcd", "acme_123456"]],
    ["a+b", "aaab ab b", ["aaab", "ab"]],
    ["a?b", "ab b", ["ab", "b"]],
    ["ab*", "abbb a", ["abbb", "a"]],
    ["\\d{3}-\\d{2}", "12-34 123-45", ["123-45"]],
    ["x\\w\\s\\S\\W\\D.", "xa b!cd", ["xa b!cd"]],
    ["[^a-c]z", "az dz", ["dz"]],
    ["[\\d\\-_]{2,}", "a1-_b", ["1-_"]],
    ["[\\]x]y", "]y xy zy", ["]y", "xy"]],
    ["\\.\\*", "a.*b", [".*"]],
    ["é{2}", "éé", ["éé"]],
    ["[a-é]!", "à!", ["à!"]],
    ["a.c", "a\nc abc", ["abc"]],
    ["a{2,}", "a aaa", ["aaa"]],
    ["a.*b", "a1b2b a", ["a1b2b"]],
    ["key=[^\\n]+", "key=banana\nn", ["key=banana"]],
    ["[\\t-\\r]\\n", "a\t\n\r\n", ["\t\n\r\n"]],
    ["[a-\\d]{2,}", "bb a-1 c", ["a-1"]],
  ];
  for (const [pattern, text, found] of cases) {
    it(`finds ${pattern} in ${JSON.stringify(text)}`, () => assert.deepEqual(covered(pattern, text), found));
  }

  const refused: readonly [pattern: string, problem: string][] = [
    ["(a)", "unsupported at character 1"],
    ["ab|c", "unsupported at character 3"],
    ["a\\b", "unsupported at character 2"],
    ["a{2", "unsupported at character 2"],
    ["a{3,2}", "{3,2} ends before it begins"],
    ["[0-9z-a]", "z-a ends before it begins"],
    ["[\\x41]", "unsupported at character 1"],
    ["a*", "matches without a single character"],
    ["", "matches without a single character"],
    ["a{200}b{100}", `longer than ${MAX_PATTERN_POSITIONS} characters when written out`],
  ];
  for (const [pattern, problem] of refused) {
    it(`rejects ${JSON.stringify(pattern)}: ${problem}`, () => {
      assert.deepEqual(readLinearPattern(pattern), { ok: false, problem });
    });
  }

  it("throws for a text that keeps too many positions active", () => {
    const reading = readLinearPattern("[a-z]{100,200}!");
    assert.ok(reading.ok);
    assert.throws(() => reading.find("a".repeat(10_000), () => {}), RangeError);
  });

  // Seen to fail with the loop's own position not reached again, and with the earliest start overwritten.
  it("agrees with the engine's regular expression from every start", () => {
    const item = fc.constantFrom("a", "b", "[ab]", "[^a]", "a?", "b+", "a*", "b{1,2}", ".");
    const pattern = fc.array(item, { minLength: 1, maxLength: 4 }).map((items) => `${items.join("")}c`);
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 12, size: "max" });
    fc.assert(
      fc.property(pattern, text, (source, sample) => {
        const expected = new Set<number>();
        for (let start = 0; start < sample.length; start += 1) {
          for (let end = start + 1; end <= sample.length; end += 1) {
            if (!new RegExp(`^(?:${source})$`).test(sample.slice(start, end))) continue;
            for (let index = start; index < end; index += 1) expected.add(index);
          }
        }
        const actual = new Set<number>();
        const reading = readLinearPattern(source);
        assert.ok(reading.ok);
        reading.find(sample, (start, end) => {
          for (let index = start; index < end; index += 1) actual.add(index);
        });
        assert.deepEqual([...actual].sort(), [...expected].sort());
      }),
      { numRuns: 500 },
    );
  });
});
