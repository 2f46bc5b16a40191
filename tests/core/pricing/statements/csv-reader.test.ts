import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createCsvReader } from "../../../../core/pricing/statements/csv-reader.ts";
import { formatCsvField } from "../../../../core/values/text/format-csv-field.ts";

describe("createCsvReader()", () => {
  const readAll = (chunks: readonly string[]) => {
    const reader = createCsvReader();
    return [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()];
  };

  it("reads quotes, commas and line ends inside fields, and skips empty lines", () => {
    assert.deepEqual(readAll(['a,"b ""c"", d\r\ne"\r\n\r\n1,\n', '"",x']), [
      ["a", 'b "c", d\r\ne'],
      ["1", ""],
      ["", "x"],
    ]);
  });

  it("keeps a quote inside a field that does not begin with one", () => {
    assert.deepEqual(readAll(['5" disk,a"b"\n']), [['5" disk', 'a"b"']]);
  });

  // Seen to fail with a reader that forgets at the end of a chunk that the last character was a quote.
  it("reads what was written, wherever the chunks end", () => {
    const field = fc.string({ unit: fc.constantFrom("a", '"', ",", "\n", "é"), size: "small" });
    fc.assert(
      fc.property(fc.array(fc.array(field, { minLength: 2 }), { minLength: 1 }), fc.nat(), (rows, seed) => {
        const text = rows.map((row) => row.map(formatCsvField).join(",")).join("\r\n");
        const cut = text.length === 0 ? 0 : seed % text.length;
        assert.deepEqual(readAll([text.slice(0, cut), text.slice(cut, cut + 1), text.slice(cut + 1)]), rows);
      }),
    );
  });

  it("refuses a row that does not end", () => {
    const reader = createCsvReader();
    const chunk = `"${"x,".repeat(300_000)}`;
    assert.throws(() => [reader.push(chunk), reader.push(chunk)], /more than a million characters/);
    assert.throws(() => createCsvReader().push(",".repeat(1_100_000)), RangeError);
  });
});
