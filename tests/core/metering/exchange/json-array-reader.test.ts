import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { createJsonArrayReader } from "../../../../core/metering/exchange/json-array-reader.ts";
import { latin1Bytes, latin1Text, singleBytes, splitAt, splitPlaces, utf8Bytes } from "./recording.rig.ts";

function read(
  pieces: readonly Uint8Array[],
  maxElementBytes?: number,
): { elements: string[]; dropped: number } {
  const elements: string[] = [];
  const reader = createJsonArrayReader(
    (json) => elements.push(latin1Text(json)),
    maxElementBytes === undefined ? {} : { maxElementBytes },
  );
  for (const piece of pieces) reader.push(piece);
  reader.end();
  reader.push(latin1Bytes("[1]"));
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
      assert.deepEqual(read([latin1Bytes(document)]), { elements, dropped: 0 });
      assert.deepEqual(read(singleBytes(latin1Bytes(document))), { elements, dropped: 0 });
    });
  }

  it("returns each element of any array, however the bytes are split", () => {
    // Planted: a backslash at the end of a push did not escape the first byte of the next.
    const values = fc.jsonValue({
      maxDepth: 3,
      stringUnit: fc.constantFrom("a", '"', "\\", "[", "}", ",", "é", " "),
    });
    fc.assert(
      fc.property(fc.array(values), splitPlaces, fc.constantFrom(0, 2), (array, places, indent) => {
        const bytes = utf8Bytes(JSON.stringify(array, null, indent));
        for (const pieces of [[bytes], splitAt(bytes, places), singleBytes(bytes)]) {
          const { elements } = read(pieces);
          const texts = elements.map((json) => new TextDecoder().decode(latin1Bytes(json)));
          const wanted = array.map((value) => JSON.stringify(value, null, indent));
          assert.deepEqual(
            texts,
            wanted.map((text) => text.replaceAll("\n", `\n${" ".repeat(indent)}`)),
          );
        }
      }),
      { numRuns: 300 },
    );
  });

  it("never throws on invalid input, and reports the same however the bytes are split", () => {
    // Planted: an element that ended at the array's own bracket was measured with the bracket.
    const nonsense = fc.stringMatching(/^\[?[ab1"\\[\]{},\n]{0,30}$/);
    fc.assert(
      fc.property(nonsense, splitPlaces, fc.integer({ min: 1, max: 9 }), (text, places, maxElementBytes) => {
        const whole = read([latin1Bytes(text)], maxElementBytes);
        assert.deepEqual(read(splitAt(latin1Bytes(text), places), maxElementBytes), whole);
        assert.deepEqual(read(singleBytes(latin1Bytes(text)), maxElementBytes), whole);
        for (const element of whole.elements)
          assert.ok(element.length > 0 && element.length <= maxElementBytes);
      }),
      { numRuns: 1000 },
    );
  });

  it("drops and counts elements that are too large, and continues", () => {
    const document = '["123456","1234",{"a":"123456"},5]';
    const expected = { elements: ['"1234"', "5"], dropped: 2 };
    assert.deepEqual(read([latin1Bytes(document)], 6), expected);
    assert.deepEqual(read(singleBytes(latin1Bytes(document)), 6), expected);
  });
});
