import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isWithinDepth, MAX_JSON_DEPTH, readJson } from "../../../core/wire/read-json.ts";

const read = (text: string) => readJson(new TextEncoder().encode(text));
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

/** Returns the nesting depth of a value: 0 for a scalar. */
function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe("readJson()", () => {
  const cases: readonly [why: string, text: string, expected: unknown][] = [
    ["an object", '{"a":[1]}', { ok: true, value: { a: [1] } }],
    ["a scalar", "null", { ok: true, value: null }],
    ["brackets in a string", `"${"[".repeat(99)}"`, { ok: true, value: "[".repeat(99) }],
    ["an escaped quote before brackets", `"\\"${"[".repeat(99)}"`, { ok: true, value: `"${"[".repeat(99)}` }],
    ["the deepest allowed", nested(MAX_JSON_DEPTH), { ok: true, value: JSON.parse(nested(MAX_JSON_DEPTH)) }],
    ["one level more", nested(MAX_JSON_DEPTH + 1), { ok: false, reason: "too_deep" }],
    ["a hundred thousand levels", "[".repeat(100_000), { ok: false, reason: "too_deep" }],
    ["objects too", '{"a":'.repeat(100_000), { ok: false, reason: "too_deep" }],
    ["many side by side", `[${nested(2)},${"[],".repeat(99)}1]`, undefined],
    ["nothing", "", { ok: false, reason: "invalid_json" }],
    ["no JSON", "{a:1}", { ok: false, reason: "invalid_json" }],
    ["a string without its end", '["a\\"', { ok: false, reason: "invalid_json" }],
    ["two values", "{}{}", { ok: false, reason: "invalid_json" }],
    ["a byte order mark", "\ufeff{}", { ok: false, reason: "invalid_json" }],
  ];
  for (const [why, text, expected] of cases) {
    it(`reads ${why}`, () => {
      assert.deepEqual(read(text), expected ?? { ok: true, value: JSON.parse(text) });
    });
  }
  it("rejects invalid UTF-8 first", () => {
    assert.deepEqual(readJson(Uint8Array.of(0x22, 0xff, 0x22)), { ok: false, reason: "invalid_utf8" });
  });
  it("cannot set a prototype", () => {
    const reading = read('{"__proto__":{"admin":true}}');
    assert.ok(reading.ok && (reading.value as { admin?: boolean }).admin === undefined);
  });

  // Seen to fail with strings not skipped, with escapes not skipped, and with closing braces not counted.
  it("measures the depth of any JSON", () => {
    const key = fc.string({ unit: fc.constantFrom("a", '"', "\\", "[", "}"), maxLength: 4 });
    const json = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5, withCrossShrink: true },
        key,
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(key, tie("value"), { maxKeys: 3 }),
      ),
    })).value;
    fc.assert(
      fc.property(json, (value) => {
        const text = JSON.stringify(value);
        const depth = depthOf(value);
        assert.equal(isWithinDepth(text, depth), true);
        if (depth > 0) assert.equal(isWithinDepth(text, depth - 1), false);
      }),
    );
  });
});
