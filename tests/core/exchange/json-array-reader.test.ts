import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { createJsonArrayReader } from "../../../core/exchange/mod.ts";
import { byteAtATime, cutAt, cutPlaces, unwire, utf8, wire } from "./recording.ts";

function read(
  pieces: readonly Uint8Array[],
  maxElementBytes?: number,
): { elements: string[]; dropped: number } {
  const elements: string[] = [];
  const reader = createJsonArrayReader(
    (json) => elements.push(unwire(json)),
    maxElementBytes === undefined ? {} : { maxElementBytes },
  );
  for (const piece of pieces) reader.push(piece);
  reader.end();
  reader.push(wire("[1]"));
  return { elements, dropped: reader.dropped };
}

describe("createJsonArrayReader()", () => {
  const rows: readonly (readonly [document: string, elements: readonly string[]])[] = [
    ['[{"a":1}\n,\r\n{"b":[2,{"c":3}]}\n]', ['{"a":1}', '{"b":[2,{"c":3}]}']],
    ['["a]b","c\\"d,","\\\\",""]', ['"a]b"', '"c\\"d,"', '"\\\\"', '""']],
    ['[{"a":"}]\\"{"}]', ['{"a":"}]\\"{"}']],
    ["[1, -2.5e3 ,true\n,null]", ["1", "-2.5e3", "true", "null"]],
    ["[[1],[]]", ["[1]", "[]"]],
    [" \n[ ] ", []],
    ['[1][2] {"a":3}', ["1"]],
    ['{"error":{"code":429}}', ['{"error":{"code":429}}']],
    ['{"a":1} {"b":2}', ['{"a":1}']],
    ['[{"a":1},{"b"', ['{"a":1}']],
    ["[},1]", []],
    ["[,,]", []],
    ["", []],
  ];
  for (const [document, elements] of rows) {
    it(`reads ${JSON.stringify(document)}`, () => {
      assert.deepEqual(read([wire(document)]), { elements, dropped: 0 });
      assert.deepEqual(read(byteAtATime(wire(document))), { elements, dropped: 0 });
    });
  }

  it("gives each element of any array back, however the bytes are cut", () => {
    // Planted: a backslash at the end of a push did not escape what the next one began with.
    const values = fc.jsonValue({
      maxDepth: 3,
      stringUnit: fc.constantFrom("a", '"', "\\", "[", "}", ",", "é", " "),
    });
    fc.assert(
      fc.property(fc.array(values), cutPlaces, fc.constantFrom(0, 2), (array, places, indent) => {
        const bytes = utf8(JSON.stringify(array, null, indent));
        for (const pieces of [[bytes], cutAt(bytes, places), byteAtATime(bytes)]) {
          const { elements } = read(pieces);
          const parsed = elements.map((json) => JSON.parse(new TextDecoder().decode(wire(json))));
          assert.deepEqual(parsed, JSON.parse(JSON.stringify(array)));
        }
      }),
      { numRuns: 300 },
    );
  });

  it("says the same of nonsense however the bytes are cut, and never throws", () => {
    // Planted: an element that ended at the array's own bracket was measured with the bracket.
    const nonsense = fc.stringMatching(/^\[?[ab1"\\[\]{},\n]{0,30}$/);
    fc.assert(
      fc.property(nonsense, cutPlaces, fc.integer({ min: 1, max: 9 }), (text, places, maxElementBytes) => {
        const whole = read([wire(text)], maxElementBytes);
        assert.deepEqual(read(cutAt(wire(text), places), maxElementBytes), whole);
        assert.deepEqual(read(byteAtATime(wire(text)), maxElementBytes), whole);
        for (const element of whole.elements)
          assert.ok(element.length > 0 && element.length <= maxElementBytes);
      }),
      { numRuns: 1000 },
    );
  });

  it("drops and counts elements that are too large, and goes on", () => {
    const document = '["123456","1234",{"a":"123456"},5]';
    const expected = { elements: ['"1234"', "5"], dropped: 2 };
    assert.deepEqual(read([wire(document)], 6), expected);
    assert.deepEqual(read(byteAtATime(wire(document)), 6), expected);
  });
});
