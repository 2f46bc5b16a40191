import assert from "node:assert/strict";
import { describe, it } from "node:test";
import stringWidth from "string-width";
import { textWidth } from "../../../cli/render/text-width.ts";

describe("textWidth()", () => {
  it("is string-width's for each character of the Basic Multilingual Plane, alone and between letters", () => {
    const different: string[] = [];
    for (let code = 0; code <= 0xffff; code += 1) {
      const character = String.fromCharCode(code);
      for (const text of [character, `a${character}b`])
        if (textWidth(text) !== stringWidth(text)) different.push(`U+${code.toString(16)}`);
    }
    assert.deepEqual(different, []);
  });

  it("counts two columns for wide characters and emoji, none for escapes and combining marks", () => {
    assert.equal(textWidth("日本"), 4);
    assert.equal(textWidth("👩‍👩‍👧 x"), 4);
    assert.equal(textWidth("\u001b[31mred\u001b[39m"), 3);
    assert.equal(textWidth("e\u0301"), 1);
  });
});
