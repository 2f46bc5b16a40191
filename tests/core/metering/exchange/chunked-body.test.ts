import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createChunkedBody,
  MAX_CHUNK_LINE_BYTES,
  MAX_TRAILER_BYTES,
} from "../../../../core/metering/exchange/chunked-body.ts";
import { latin1Bytes, latin1Text, singleBytes } from "./recording.rig.ts";

/** Reads pieces and returns the payload, the outcome, and how many bytes were read. */
function read(pieces: readonly Uint8Array[]): { data: string; outcome: string; taken: number } {
  let data = "";
  let taken = 0;
  const body = createChunkedBody((bytes) => {
    data += latin1Text(bytes);
  });
  for (const piece of pieces) {
    if (body.outcome === "open") taken += body.read(piece, 0);
  }
  return { data, outcome: body.outcome, taken };
}

describe("createChunkedBody()", () => {
  const rows: readonly (readonly [raw: string, data: string, outcome: string, left: number])[] = [
    ["5\r\nhello\r\n0\r\n\r\n", "hello", "ended", 0],
    ["5\r\nhello\r\n0\r\n\r\nHTTP/1.1", "hello", "ended", 8],
    ["a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n", "01234567890123456789a", "ended", 0],
    ["0000000000000005\r\nhello\r\n00\r\n\r\n", "hello", "ended", 0],
    ["5;name=value;x\r\nhello\r\n0;last\r\n\r\n", "hello", "ended", 0],
    ['5 ; q="a b\t\xe9"\r\nhello\r\n0\r\n\r\n', "hello", "ended", 0],
    ["5  \t\r\nhello\r\n0\r\n\r\n", "hello", "ended", 0],
    ["0\r\nExpires: never\r\nX: \ty\r\n\r\nrest", "", "ended", 4],
    ["5\r\nhel", "hel", "open", 0],
    ["5\r\nhello\r\n0\r\n", "hello", "open", 0],
    ["\r\n", "", "bad_chunk_size", 2],
    ["g\r\n", "", "bad_chunk_size", 3],
    ["0x5\r\n", "", "bad_chunk_size", 4],
    ["-5\r\n", "", "bad_chunk_size", 4],
    ["5 6\r\n", "", "bad_chunk_size", 3],
    ["5\n", "", "bad_chunk_size", 1],
    ["5\rhello", "", "bad_chunk_size", 5],
    ["20000000000000\r\n", "", "bad_chunk_size", 3],
    ["00000000000000005\r\n", "", "bad_chunk_size", 3],
    ["5;a\nb\r\n", "", "bad_chunk_extension", 4],
    ["5;a\x7f\r\n", "", "bad_chunk_extension", 3],
    ["5;a\rb\r\n", "", "bad_chunk_size", 3],
    ["5\r\nhelloX\n", "hello", "bad_chunk_end", 2],
    ["5\r\nhello\rX", "hello", "bad_chunk_end", 1],
    ["5\r\nhello\n0\r\n\r\n", "hello", "bad_chunk_end", 6],
    ["0\r\n\rX", "", "bad_trailer", 1],
    ["0\r\n\n", "", "bad_trailer", 1],
    ["0\r\nA: b\n\r\n", "", "bad_trailer", 3],
    ["0\r\nA: b\rX", "", "bad_trailer", 1],
    ["0\r\nA: \x7f\r\n", "", "bad_trailer", 3],
  ];
  for (const [raw, data, outcome, left] of rows) {
    it(`reads ${JSON.stringify(raw)}: ${outcome}`, () => {
      const expected = { data, outcome, taken: raw.length - left };
      assert.deepEqual(read([latin1Bytes(raw)]), expected);
      assert.deepEqual(read(singleBytes(latin1Bytes(raw))), expected);
    });
  }

  it("rejects an endless size line of padding or extensions", () => {
    for (const filler of [" ", ";", "a"]) {
      const line = filler === " " ? "5" : "5;";
      const longest = latin1Bytes(line + filler.repeat(MAX_CHUNK_LINE_BYTES - line.length));
      assert.equal(read([longest]).outcome, "open");
      const tooLong = latin1Bytes(line + filler.repeat(MAX_CHUNK_LINE_BYTES + 1));
      assert.equal(read([tooLong]).outcome, "chunk_line_too_long");
    }
  });

  it("applies the line limit to each chunk separately", () => {
    const chunk = `1;${"a".repeat(MAX_CHUNK_LINE_BYTES - 10)}\r\nx\r\n`;
    assert.deepEqual(read([latin1Bytes(`${chunk.repeat(3)}0\r\n\r\n`)]).outcome, "ended");
  });

  it("rejects endless trailers", () => {
    const trailers = `0\r\n${"A: b\r\n".repeat(MAX_TRAILER_BYTES / 4)}`;
    assert.equal(read([latin1Bytes(trailers)]).outcome, "trailers_too_long");
  });

  it("knows where another chunk can be inserted", () => {
    const body = createChunkedBody(() => {});
    const places = [body.isBetweenChunks()];
    for (const byte of singleBytes(latin1Bytes("1;a\r\nx\r\n0\r\n\r\n"))) {
      body.read(byte, 0);
      places.push(body.isBetweenChunks());
    }
    const at = places.flatMap((isBetween, index) => (isBetween ? [index] : []));
    assert.deepEqual(at, [0, "1;a\r\nx\r\n".length]);
  });

  it("allows no chunk in a body that is unreadable", () => {
    const body = createChunkedBody(() => {});
    body.read(latin1Bytes("g"), 0);
    assert.deepEqual([body.outcome, body.isBetweenChunks()], ["bad_chunk_size", false]);
  });
});
