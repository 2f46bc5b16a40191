import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { createLineReader } from "../../../../core/metering/exchange/line-reader.ts";
import { createNdjsonReader } from "../../../../core/metering/exchange/ndjson-reader.ts";
import { latin1Bytes, latin1Text, singleBytes, splitAt, splitPlaces } from "./recording.rig.ts";

function linesOf(pieces: readonly Uint8Array[], crEndsLine: boolean, maxLineBytes = 1000): string[] {
  const lines: string[] = [];
  const reader = createLineReader({
    crEndsLine,
    maxLineBytes,
    onLine: (bytes, from, to) => lines.push(latin1Text(bytes.subarray(from, to))),
    onDropped: () => assert.fail("a line was dropped"),
  });
  for (const piece of pieces) reader.push(piece);
  reader.end();
  return lines;
}

describe("createLineReader()", () => {
  it("splits lines like a regular expression, however the bytes are split", () => {
    // Planted: the search by four bytes stopped one step early and missed the last line end.
    const texts = fc.stringMatching(/^[ab\r\n\t]{0,40}$/);
    fc.assert(
      fc.property(texts, splitPlaces, fc.boolean(), (text, places, crEndsLine) => {
        const expected = text.split(crEndsLine ? /\r\n|\r|\n/ : "\n");
        if (expected.at(-1) === "") expected.pop();
        for (const pieces of [
          [latin1Bytes(text)],
          splitAt(latin1Bytes(text), places),
          singleBytes(latin1Bytes(text)),
        ]) {
          assert.deepEqual(linesOf(pieces, crEndsLine), expected);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("truncates a line that is too long to one byte more than the limit", () => {
    for (const pieces of [
      [latin1Bytes("abcdefgh\nij\nklmnopq")],
      singleBytes(latin1Bytes("abcdefgh\nij\nklmnopq")),
    ]) {
      assert.deepEqual(linesOf(pieces, false, 4), ["abcde", "ij", "klmno"]);
    }
  });
});

function ndjson(pieces: readonly Uint8Array[], maxLineBytes?: number): { lines: string[]; dropped: number } {
  const lines: string[] = [];
  const reader = createNdjsonReader(
    (line) => lines.push(latin1Text(line)),
    maxLineBytes === undefined ? {} : { maxLineBytes },
  );
  for (const piece of pieces) reader.push(piece);
  reader.end();
  return { lines, dropped: reader.dropped };
}

describe("createNdjsonReader()", () => {
  it("reads lines with either line end, skips empty ones, and reads a last line without a line end", () => {
    const stream = '{"a":1}\n{"b":2}\r\n\n\r\n{"c":3}';
    const expected = { lines: ['{"a":1}', '{"b":2}', '{"c":3}'], dropped: 0 };
    assert.deepEqual(ndjson([latin1Bytes(stream)]), expected);
    assert.deepEqual(ndjson(singleBytes(latin1Bytes(stream))), expected);
  });

  it("drops and counts lines that are too long, and continues", () => {
    const stream = "12345\n123456\n1\n1234567890";
    const expected = { lines: ["12345", "1"], dropped: 2 };
    assert.deepEqual(ndjson([latin1Bytes(stream)], 5), expected);
    assert.deepEqual(ndjson(singleBytes(latin1Bytes(stream)), 5), expected);
  });
});
