import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { hasMember, insertMember, removeMember } from "../../../../core/operations/install/json-member.ts";

const member = { name: "statusLine", value: '{"type":"command","command":"meter statusline"}' };

describe("insertMember()", () => {
  it("inserts a first member and keeps all other bytes", () => {
    for (const [text, expected] of [
      ["", `{\n  "statusLine": ${member.value}\n}\n`],
      ["\n", `\n{\n  "statusLine": ${member.value}\n}\n`],
      ["{}", `{\n  "statusLine": ${member.value}\n}`],
      ['\t{"a":1 }\r\n', `\t{\n  "statusLine": ${member.value},"a":1 }\r\n`],
      ['{\n  "a": 1\n}\n', `{\n  "statusLine": ${member.value},\n  "a": 1\n}\n`],
    ] as const) {
      const edit = insertMember(text, member);
      assert.deepEqual(edit.ok && edit.text, expected);
      assert.ok(hasMember(expected, member));
    }
  });

  it("changes no text that has the member, or that it can't parse", () => {
    const own = '{"statusLine": {"type": "command", "command": "meter statusline"}}';
    assert.deepEqual(insertMember(own, member), { ok: true, text: own, inserted: "" });
    assert.deepEqual(insertMember('{"statusLine":null}', member), { ok: false, reason: "other_value" });
    for (const text of ["[]", "null", "{", "// comment\n{}"])
      assert.deepEqual(insertMember(text, member), { ok: false, reason: "no_object" }, text);
  });
});

describe("removeMember()", () => {
  // Found: an object without its first comma, when the inserted text lacked it.
  it("restores the original bytes", () => {
    const texts = fc.oneof(
      fc.constantFrom("", " \n", "{}", "{ }\n", '{\r\n\t"a" : [1, 2]}'),
      fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value, null, 2)),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const edit = insertMember(text, member);
        assert.ok(edit.ok);
        assert.ok(hasMember(edit.text, member));
        const undone = removeMember(edit.text, member, edit.inserted);
        if (text.trim() === "") assert.deepEqual(undone.ok && undone.text, text);
        else assert.deepEqual(undone, { ok: true, text, inserted: edit.inserted });
      }),
    );
  });

  it("keeps what was changed around the member", () => {
    const edit = insertMember('{"a":1}', member);
    assert.ok(edit.ok);
    const changed = edit.text.replace('"a":1', '"a":2,"b":3');
    const undone = removeMember(changed, member, edit.inserted);
    assert.deepEqual(undone.ok && undone.text, '{"a":2,"b":3}');
  });

  it("leaves valid JSON, however members were added around the member", () => {
    const alone = insertMember("{}", member);
    assert.ok(alone.ok);
    // A comma at the start of a line, and a copy of the inserted text in a member before it.
    const added = alone.text.replace(/\n\}$/, '\n, "b": 1}');
    const first = insertMember('{"a": 1}', member);
    assert.ok(first.ok);
    const nested = `{"c": {${first.inserted} "d": 1},${first.text.slice(1)}`;
    for (const [text, { inserted }, expected] of [
      [added, alone, { b: 1 }],
      [nested, first, { c: { statusLine: JSON.parse(member.value), d: 1 }, a: 1 }],
    ] as const) {
      const undone = removeMember(text, member, inserted);
      assert.deepEqual(undone.ok && JSON.parse(undone.text), expected);
    }
  });

  it("removes the member from a file that another program has formatted", () => {
    const formatted = `{\n  "a": 1,\n  "statusLine": {\n    "type": "command",\n    "command": "meter statusline"\n  }\n}`;
    for (const end of ["", "\n"]) {
      const undone = removeMember(formatted + end, member, "\n not there,");
      assert.deepEqual(undone.ok && undone.text, `{\n  "a": 1\n}${end}`);
    }
  });

  it("leaves members that are not its own", () => {
    assert.deepEqual(removeMember('{"statusLine":1}', member, "x"), { ok: false, reason: "other_value" });
    assert.deepEqual(removeMember("nothing", member, "x"), { ok: false, reason: "no_object" });
    assert.deepEqual(removeMember('{"a":1}', member, "x"), { ok: true, text: '{"a":1}', inserted: "" });
    const own = `{"statusLine":${member.value}}`;
    assert.deepEqual(removeMember(own, member, ""), { ok: true, text: own, inserted: "" });
  });
});
