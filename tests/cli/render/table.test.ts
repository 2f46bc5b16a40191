import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import stringWidth from "string-width";
import { printable } from "../../../cli/render/printable.ts";
import { renderTable } from "../../../cli/render/table.ts";

const columns = [
  { title: "project", shrink: true },
  { title: "model", shrink: true },
  { title: "cost", align: "right" as const },
];

describe("renderTable()", () => {
  it("aligns columns under their titles", () => {
    assert.equal(
      renderTable(
        columns,
        [
          ["web", "a", "$1"],
          ["billing", "longer", "$1,000"],
        ],
        80,
      ),
      [
        "project  model     cost",
        "───────  ──────  ──────",
        "web      a           $1",
        "billing  longer  $1,000",
      ].join("\n"),
    );
  });

  it("counts the cells of a terminal, not characters", () => {
    const lines = renderTable(
      columns,
      [
        ["日本語", "é", "1"],
        ["🧮🧮", "e\u0301", "2"],
        ["👨‍👩‍👧", "x", "3"],
      ],
      80,
    ).split("\n");
    assert.deepEqual(
      lines.map((line) => stringWidth(line)),
      [20, 20, 20, 20, 20],
    );
  });

  it("truncates the widest shrinking column first", () => {
    const lines = renderTable(columns, [["p".repeat(30), "m".repeat(12), "$1,000.00"]], 40).split("\n");
    assert.equal(lines[2], `${"p".repeat(14)}…  ${"m".repeat(12)}  $1,000.00`);
    assert.equal(stringWidth(lines[2]!), 40);
  });

  it("never truncates a number, or a name to nothing, however narrow the terminal is", () => {
    const lines = renderTable(columns, [["p".repeat(30), "m".repeat(30), "$1,000.00"]], 5).split("\n");
    assert.equal(lines[2], "ppppppp…  mmmmmmm…  $1,000.00");
  });

  it("does not split a wide character", () => {
    const [, , line] = renderTable([{ title: "a", shrink: true }], [["日".repeat(20)]], 10).split("\n");
    assert.equal(line, "日日日日…");
  });

  it("prints the titles if there are no rows", () => {
    assert.equal(renderTable([{ title: "a" }], [], 80), "a\n─");
  });

  it("renders any number of rows", () => {
    const rows = Array.from({ length: 200_000 }, (_, n) => [`client-${n}`, "m", "$1"]);
    const lines = renderTable(columns, rows, 80).split("\n");
    assert.equal(lines.length, 200_002);
    assert.equal(lines.at(-1), "client-199999  m        $1");
  });

  it("fills in missing cells", () => {
    assert.equal(renderTable(columns, [["web"]], 80).split("\n")[2], "web");
  });

  // Planted: without `printable()`, a cell with a line feed makes one line more than there are rows.
  it("prints one line per row, none wider than the given width, for any cell content", () => {
    const cell = fc.string({
      unit: fc.constantFrom("a", "日", "🧮", "\n", "\u001b", "[31m", " ", "e\u0301", "\u202e"),
      maxLength: 40,
    });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, fc.constantFrom("$1", "$20.00"))),
        fc.integer({ min: 32, max: 120 }),
        (rows, width) => {
          const lines = renderTable(columns, rows, width).split("\n");
          assert.equal(lines.length, rows.length + 2);
          for (const line of lines) {
            assert.ok(stringWidth(line) <= width, `${stringWidth(line)} > ${width}`);
            assert.ok(!/[\u0000-\u001f\u202e]/.test(line));
          }
        },
      ),
    );
  });
});

describe("printable()", () => {
  it("keeps text and replaces control characters", () => {
    assert.equal(printable("Zürich 日本 🧮"), "Zürich 日本 🧮");
    assert.equal(
      printable("a\u001b[31mb\u0007\u009b\u2028\u202e\u2066\u007f\r\n\t"),
      "a\ufffd[31mb\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd",
    );
  });
});
