import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  compileMemberPaths,
  createMemberPicker,
  MAX_NAME_CHARACTERS,
  membersUnder,
  pickedFromValue,
  pickMembers,
} from "../../../../core/metering/usage/member-picker.ts";
import { bytesOf } from "./answers.rig.ts";

const paths = compileMemberPaths(["a", "b", "in.a", "in.x"]);
const pick = (json: string) => pickMembers(bytesOf(json), paths);

describe("string()", () => {
  it("returns no text that is too long for a name", () => {
    const [fits, long] = ["x".repeat(MAX_NAME_CHARACTERS), "x".repeat(MAX_NAME_CHARACTERS + 1)];
    for (const members of [pick(JSON.stringify({ a: fits, b: long })), pickedFromValue({ a: fits, b: long })])
      assert.deepEqual([members.string("a"), members.string("b"), members.value("b")], [fits, null, long]);
  });
});

describe("pickedFromValue()", () => {
  it("returns the same members as a picker", () => {
    const members = pickedFromValue({ a: "x", b: "", in: { a: [1] } });
    assert.deepEqual([members.string("a"), members.string("b"), members.string("in.a")], ["x", null, null]);
    assert.deepEqual([members.text("in.a"), members.value("in.a"), members.closed], ["[1]", [1], true]);
    for (const path of ["c", "in.b", "a.b", "in.a.b.c", "constructor"])
      assert.deepEqual(
        [members.text(path), members.value(path), members.string(path)],
        [null, undefined, null],
      );
    assert.equal(pickedFromValue(null).text("a"), null);
    // As deep as the stack allows, which differs between runtimes.
    const unwritable = {
      toJSON() {
        throw new RangeError("too deep");
      },
    };
    assert.equal(pickedFromValue({ unwritable }).text("unwritable"), null);
  });
});

describe("membersUnder()", () => {
  it("returns the nested members", () => {
    const members = membersUnder(pick('{"in":{"a":"y","x":2}}'), "in");
    assert.deepEqual(
      [members.string("a"), members.value("x"), members.text("b"), members.closed],
      ["y", 2, null, true],
    );
  });
});

describe("compileMemberPaths()", () => {
  it("picks members at any depth, up to the maximum length", () => {
    const deep = compileMemberPaths(["a.b.c.d", "a.b.e", "f"], 8);
    const found = pickMembers(bytesOf('{"a":{"b":{"c":{"d":1,"e":2},"e":3},"e":4},"f":"123456789"}'), deep);
    assert.deepEqual([found.text("a.b.c.d"), found.text("a.b.e"), found.text("f")], ["1", "3", null]);
  });
});

describe("pickMembers()", () => {
  const table: [name: string, json: string, a: string | null, inA: string | null][] = [
    ["a value and a value of a member", '{"a":1,"in":{"a":2}}', "1", "2"],
    ["the source text", '{"a": 1.50e0 ,"in":{"a":{"b":[1, "}"]}}}', " 1.50e0 ", '{"b":[1, "}"]}'],
    ["the last of a repeated member", '{"a":1,"a":2}', "2", null],
    ["no member of the same name elsewhere", '{"z":{"a":1},"y":[{"a":2}],"in":{"z":{"a":3}}}', null, null],
    ["no member of a value that is no object", '{"in":"a","z":[{"in":{"a":1}}]}', null, null],
    ["no text that looks like a member", '{"z":"\\",\\"a\\":1","in":{"x":"\\\\"}}', null, null],
    ["a member behind an inner object", '{"in":{"x":1},"a":2}', "2", null],
    ["an escaped name", '{"\\u0061":1,"in":{"\\u0061":2}}', "1", "2"],
    ["what came before the end was lost", '{"a":1,"in":{"a":2', "1", null],
    ["nothing of what is no object", "[1]", null, null],
    ["nothing of an unfinished number", '{"a":12', null, null],
    ["nothing of a name with a broken escape", '{"\\x":1}', null, null],
  ];
  for (const [name, json, a, inA] of table)
    it(`picks ${name}`, () => {
      assert.deepEqual([pick(json).text("a"), pick(json).text("in.a")], [a, inA]);
    });

  it("reports whether the object was closed, and ignores what follows", () => {
    assert.equal(pick("{}").closed, true);
    assert.equal(pick('{"a":{').closed, false);
    assert.equal(pick("").closed, false);
    const picker = createMemberPicker(paths);
    for (const part of ['{"a":1}', ',"a":2}', "{}"]) picker.push(bytesOf(part));
    assert.equal(picker.end().text("a"), "1");
  });

  it("returns values and strings", () => {
    const members = pick('{"a":[1],"b":"x","in":{"a":"","x":tru}}');
    assert.deepEqual(members.value("a"), [1]);
    assert.equal(members.string("a"), null);
    assert.equal(members.string("b"), "x");
    assert.equal(members.string("in.a"), null);
    assert.equal(members.value("in.x"), undefined);
    assert.equal(members.value("never asked for"), undefined);
    assert.equal(members.string("never asked for"), null);
    assert.equal(members.text("never asked for"), null);
  });

  it("skips a name or value that is too long", () => {
    const long = "x".repeat(70_000);
    assert.equal(pick(`{"${long}":1,"a":2}`).text("a"), "2");
    assert.equal(pick(`{"b":"${long}","a":2}`).text("b"), null);
    const picker = createMemberPicker(paths);
    for (const part of ['{"b":"', long.slice(0, 40_000), long.slice(0, 40_000), long, '","a":2}'])
      picker.push(bytesOf(part));
    assert.deepEqual([picker.end().text("b"), picker.end().text("a")], [null, "2"]);
  });

  it("agrees with JSON.parse, however the bytes are split", () => {
    // Planted: an escaped quote ended a string long enough for `indexOf`.
    const text = fc.string({
      unit: fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", "a", "é", "\n"),
      maxLength: 120,
      size: "max",
    });
    const leaf = fc.oneof(text, fc.integer(), fc.constant(null), fc.boolean());
    const value = fc.oneof(
      leaf,
      fc.array(leaf, { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b", "in"), leaf),
    );
    const object = fc.dictionary(fc.oneof(fc.constantFrom("a", "b", "in", "z"), text), value, { maxKeys: 6 });
    fc.assert(
      fc.property(
        object,
        fc.array(fc.nat(600), { maxLength: 6 }),
        fc.constantFrom(undefined, 1, "\t"),
        (source, cuts, indent) => {
          const bytes = bytesOf(JSON.stringify(source, null, indent));
          const parsed = JSON.parse(JSON.stringify(source)) as Record<string, unknown>;
          const picker = createMemberPicker(paths);
          let from = 0;
          for (const cut of [...cuts].sort((one, other) => one - other)) {
            picker.push(bytes.slice(from, cut));
            from = Math.min(cut, bytes.length);
          }
          picker.push(bytes.slice(from));
          const picked = picker.end();
          const own = (of: unknown, name: string) =>
            typeof of === "object" && of !== null && !Array.isArray(of) && Object.hasOwn(of, name)
              ? (of as Record<string, unknown>)[name]
              : undefined;
          const inner = own(parsed, "in");
          assert.equal(picked.closed, true);
          assert.deepEqual(picked.value("a"), own(parsed, "a"));
          assert.deepEqual(picked.value("b"), own(parsed, "b"));
          assert.deepEqual(picked.value("in.a"), own(inner, "a"));
        },
      ),
      { numRuns: 500 },
    );
  });
});
