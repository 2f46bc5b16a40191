import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { createElementPicker } from "../../../../core/metering/usage/element-picker.ts";
import { compileMemberPaths, type PickedMembers } from "../../../../core/metering/usage/member-picker.ts";
import { bytesOf } from "./answers.rig.ts";

const outer = compileMemberPaths(["a", "items", "error.code"]);
const members = compileMemberPaths(["n", "in.m"]);

interface Picked {
  elements: unknown[][];
  rest: PickedMembers;
}

/** Picks from a text cut into pieces of one length. */
function pick(text: string, pieceBytes = text.length): Picked {
  const elements: unknown[][] = [];
  const picker = createElementPicker(outer, { array: "items", members }, (element) => {
    assert.ok(element.closed);
    elements.push([element.value("n"), element.value("in.m")]);
  });
  const bytes = bytesOf(text);
  for (let at = 0; at < bytes.length; at += Math.max(1, pieceBytes))
    picker.push(bytes.slice(at, at + Math.max(1, pieceBytes)));
  return { elements, rest: picker.end() };
}

describe("createElementPicker()", () => {
  it("reports each object of the array, and the members around it", () => {
    const text = JSON.stringify({
      a: 1,
      items: [{ n: 1 }, { x: [{ n: 9 }], in: { m: "two" } }, 3, [{ n: 4 }], { n: 5 }],
      error: { code: 7 },
    });
    const { elements, rest } = pick(text);
    assert.deepEqual(elements, [
      [1, undefined],
      [undefined, "two"],
      [5, undefined],
    ]);
    assert.deepEqual([rest.value("a"), rest.value("error.code"), rest.closed], [1, 7, true]);
  });

  it("finds no elements if the name is a value, nested, of another member, or not of an array", () => {
    for (const text of [
      '{"a":"items","b":[{"n":1}]}',
      '{"b":{"items":[{"n":1}]}}',
      '{"item":[{"n":1}],"itemss":[{"n":1}],"xitems":[{"n":1}]}',
      '{"items":{"n":1},"b":[{"n":2}]}',
      '{"items":1,"b":[{"n":2}]}',
      '{"it\\u0065ms":[{"n":1}]}',
      '[{"items":[{"n":1}]}]',
      '"items":[{"n":1}]',
      "",
    ])
      assert.deepEqual(pick(text).elements, [], text);
  });

  it("does not report a truncated element, or the object as closed", () => {
    const { elements, rest } = pick('{"a":1,"items":[{"n":1},{"n":2');
    assert.deepEqual(elements, [[1, undefined]]);
    assert.deepEqual([rest.closed, rest.value("a")], [false, 1]);
  });

  it("ignores everything after the object", () => {
    const { elements, rest } = pick('{"a":1}}}{"items":[{"n":1}]}');
    assert.deepEqual(elements, []);
    assert.equal(rest.value("a"), 1);
  });

  // Planted: the bytes of the name so far, or the backslash, lost at a cut; the array's name not reset after its comma.
  it("agrees with JSON.parse, however the text is split", () => {
    const word = fc.constantFrom("items", "n", "in", "m", "a", 'q"', "b\\", "[{", "");
    const value = fc.letrec((tie) => ({
      leaf: fc.oneof(fc.integer({ min: -9, max: 99 }), word, fc.constant(null), fc.boolean()),
      object: fc.dictionary(word, tie("any"), { maxKeys: 4, noNullPrototype: true }),
      array: fc.array(tie("any"), { maxLength: 4 }),
      any: fc.oneof({ maxDepth: 3 }, tie("leaf"), tie("object"), tie("array")),
    }));
    const body = fc.record({
      a: fc.integer({ min: 0, max: 9 }),
      items: fc.array(value.any, { maxLength: 5 }),
      b: value.any,
    });
    fc.assert(
      fc.property(body, fc.integer({ min: 1, max: 40 }), fc.boolean(), (object, pieceBytes, isPretty) => {
        const text = JSON.stringify(object, null, isPretty ? 1 : 0);
        const wanted = object.items.filter(
          (item): item is Record<string, unknown> =>
            typeof item === "object" && item !== null && !Array.isArray(item),
        );
        const { elements, rest } = pick(text, pieceBytes);
        const inside = (item: unknown): unknown =>
          typeof item === "object" && item !== null && !Array.isArray(item)
            ? (item as Record<string, unknown>).m
            : undefined;
        assert.deepEqual(
          elements,
          wanted.map((item) => [item.n, inside(item.in)]),
        );
        assert.equal(rest.value("a"), object.a);
      }),
    );
  });
});
