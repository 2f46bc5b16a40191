import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { createLineReader } from "../../../core/exchange/line-reader.ts";
import { createNdjsonReader } from "../../../core/exchange/mod.ts";
import { byteAtATime, cutAt, cutPlaces, unwire, wire } from "./recording.ts";

function linesOf(pieces: readonly Uint8Array[], endsAtReturn: boolean, maxLineBytes = 1000): string[] {
  const lines: string[] = [];
  const reader = createLineReader({
    endsAtReturn,
    maxLineBytes,
    onLine: (bytes, from, to) => lines.push(unwire(bytes.subarray(from, to))),
  });
  for (const piece of pieces) reader.push(piece);
  reader.end();
  return lines;
}

describe("createLineReader()", () => {
  it("cuts where a regular expression would, however the bytes are cut", () => {
    // Planted: the search by four bytes stopped one turn early and missed the last line end.
    const texts = fc.stringMatching(/^[ab\r\n\t]{0,40}$/);
    fc.assert(
      fc.property(texts, cutPlaces, fc.boolean(), (text, places, endsAtReturn) => {
        const expected = text.split(endsAtReturn ? /\r\n|\r|\n/ : "\n");
        if (expected.at(-1) === "") expected.pop();
        for (const pieces of [[wire(text)], cutAt(wire(text), places), byteAtATime(wire(text))]) {
          assert.deepEqual(linesOf(pieces, endsAtReturn), expected);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("cuts a line that is too long to one byte more than its limit", () => {
    for (const pieces of [[wire("abcdefgh\nij\nklmnopq")], byteAtATime(wire("abcdefgh\nij\nklmnopq"))]) {
      assert.deepEqual(linesOf(pieces, false, 4), ["abcde", "ij", "klmno"]);
    }
  });
});

function ndjson(pieces: readonly Uint8Array[], maxLineBytes?: number): { lines: string[]; dropped: number } {
  const lines: string[] = [];
  const reader = createNdjsonReader(
    (line) => lines.push(unwire(line)),
    maxLineBytes === undefined ? {} : { maxLineBytes },
  );
  for (const piece of pieces) reader.push(piece);
  reader.end();
  return { lines, dropped: reader.dropped };
}

describe("createNdjsonReader()", () => {
  it("reads lines with either end, passes over empty ones, and takes a last line without an end", () => {
    const stream = '{"a":1}\n{"b":2}\r\n\n\r\n{"c":3}';
    const expected = { lines: ['{"a":1}', '{"b":2}', '{"c":3}'], dropped: 0 };
    assert.deepEqual(ndjson([wire(stream)]), expected);
    assert.deepEqual(ndjson(byteAtATime(wire(stream))), expected);
  });

  it("drops and counts lines that are too long, and goes on", () => {
    const stream = "12345\n123456\n1\n1234567890";
    const expected = { lines: ["12345", "1"], dropped: 2 };
    assert.deepEqual(ndjson([wire(stream)], 5), expected);
    assert.deepEqual(ndjson(byteAtATime(wire(stream)), 5), expected);
  });
});
