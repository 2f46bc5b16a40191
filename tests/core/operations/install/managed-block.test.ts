import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  BLOCK_BEGIN,
  BLOCK_END,
  blockText,
  insertBlock,
  readBlock,
  removeBlock,
} from "../../../../core/operations/install/managed-block.ts";

const lines = ["# ours", "export A=1"];

function inserted(text: string, ours: readonly string[] = lines): { text: string; separator: string } {
  const edit = insertBlock(text, ours);
  assert.ok(edit.ok);
  return edit;
}

describe("insertBlock()", () => {
  const table: [name: string, before: string, after: string][] = [
    ["stands alone in an empty file", "", blockText(lines)],
    ["follows the last line", "a\n", `a\n${blockText(lines)}`],
    ["ends a last line that has no end", "a", `a\n${blockText(lines)}`],
    [
      "takes the place of one that ends the file without a line break",
      blockText(["old"]).trimEnd(),
      blockText(lines),
    ],
    ["takes the place of an older block", `a\n${blockText(["old"])}b`, `a\n${blockText(lines)}b`],
  ];
  for (const [name, before, after] of table) it(name, () => assert.equal(inserted(before).text, after));

  it("does nothing the second time", () => {
    const once = inserted("a").text;
    assert.equal(inserted(once).text, once);
  });

  const damaged = [BLOCK_BEGIN, BLOCK_END, `${BLOCK_END}\n${BLOCK_BEGIN}`, blockText([BLOCK_BEGIN])];
  for (const text of damaged) {
    it(`does not change a file with invalid markers: ${JSON.stringify(text)}`, () => {
      assert.deepEqual(insertBlock(text, lines), { ok: false, reason: "markers_damaged" });
      assert.deepEqual(removeBlock(text, ""), { ok: false, reason: "markers_damaged" });
      assert.equal(readBlock(text), null);
    });
  }

  it("treats a marker within a line as text", () => {
    const text = `echo '${BLOCK_BEGIN}'\n`;
    assert.equal(inserted(text).text, text + blockText(lines));
  });
});

describe("removeBlock()", () => {
  // Planted and found: a separator that is always removed, and one that is never removed.
  it("restores the original bytes", () => {
    const text = fc.string({
      unit: fc.constantFrom("a", "\n", "\r", "#", " ", "\u00e9"),
      maxLength: 40,
      size: "max",
    });
    fc.assert(
      fc.property(text, fc.array(fc.constantFrom("x", "", "# y")), (before, ours) => {
        const { text: after, separator } = inserted(before, ours);
        assert.deepEqual(removeBlock(after, separator), { ok: true, text: before, separator: "" });
        assert.equal(readBlock(after), blockText(ours));
      }),
    );
  });

  it("keeps text after the block, and the line break before it", () => {
    const { text, separator } = inserted("a");
    assert.deepEqual(removeBlock(`${text}b\n`, separator), { ok: true, text: "a\nb\n", separator: "" });
  });

  it("does not change a file without a block", () => {
    assert.deepEqual(removeBlock("a\n", "\n"), { ok: true, text: "a\n", separator: "" });
  });
});
