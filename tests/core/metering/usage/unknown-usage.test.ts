import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_UNKNOWN_USAGE_BYTES, unknownUsage } from "../../../../core/metering/usage/unknown-usage.ts";

const known = { a: true, details: { b: true } } as const;

describe("unknownUsage()", () => {
  const table: [name: string, usage: unknown, text: string | null][] = [
    ["nothing where all is known", { a: 1, details: { b: 2 } }, null],
    [
      "unknown members, also of known ones",
      { a: 1, x: 2, details: { b: 2, y: 3 } },
      '{"x":2,"details":{"y":3}}',
    ],
    ["no nothings", { p: null, q: 0, r: false, s: "", t: [], u: {}, details: null }, null],
    ["nothing of what is no object", [1], null],
    [
      "names of the prototype as plain members",
      JSON.parse('{"__proto__":{"x":1},"constructor":2}'),
      '{"__proto__":{"x":1},"constructor":2}',
    ],
    ["nothing of a known member that is no object", { details: 5 }, null],
  ];
  for (const [name, usage, text] of table)
    it(`keeps ${name}`, () => {
      assert.equal(unknownUsage(usage, known), text);
    });

  it("omits members that are nested too deeply to serialise", () => {
    const deep = JSON.parse(`${"[".repeat(30_000)}1${"]".repeat(30_000)}`);
    assert.equal(unknownUsage({ deep, x: 1 }, known), '{"x":1}');
  });

  it("omits members that would exceed 2 KiB of UTF-8", () => {
    const text = unknownUsage({ long: "é".repeat(1100), x: 1 }, known);
    assert.equal(text, '{"x":1}');
    assert.equal(unknownUsage({ long: "x".repeat(3000) }, known), null);
    const many = unknownUsage(
      Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`n${at}`, at])),
      known,
    );
    assert.ok(
      many !== null && new TextEncoder().encode(many).length <= MAX_UNKNOWN_USAGE_BYTES && many.length > 1900,
    );
  });
});
