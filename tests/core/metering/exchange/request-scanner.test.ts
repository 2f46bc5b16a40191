import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createMessageReader, MAX_HEAD_BYTES } from "../../../../core/metering/exchange/message-reader.ts";
import { createRequestScanner } from "../../../../core/metering/exchange/request-scanner.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Scans pieces, and returns what was found with the bytes up to it. */
function scanAll(pieces: readonly Uint8Array[]): { found: string; bytes: string }[] {
  const stops: { found: string; bytes: string }[] = [];
  let body = "";
  const scanner = createRequestScanner((bytes) => {
    body += decode(bytes);
  });
  let held = "";
  for (const piece of pieces) {
    for (let from = 0; ; ) {
      const { to, found } = scanner.scan(piece, from);
      held += decode(piece.subarray(from, to));
      from = to;
      if (found === "more") break;
      const what =
        found === "head" ? `head ${scanner.head()?.target}` : found === "end" ? `end ${body}` : found;
      stops.push({ found: what, bytes: held });
      held = "";
      if (found === "end") body = "";
      if (found === "unreadable" || (found === "end" && from === piece.length)) break;
    }
  }
  if (held !== "") stops.push({ found: "more", bytes: held });
  return stops;
}

const requests = [
  "GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
  "\r\nPOST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
  "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n",
  "POST /d HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
];

describe("createRequestScanner()", () => {
  it("stops after each head and after each request", () => {
    assert.deepEqual(
      scanAll([encode(requests.join(""))]).map(({ found }) => found),
      ["head /a", "end ", "head /b", "end hello", "head /c", "end abc", "head /d", "end "],
    );
  });

  it("finds the same if each byte arrives alone", () => {
    const bytes = encode(requests.join(""));
    const pieces = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
    assert.deepEqual(
      scanAll(pieces).map(({ found }) => found),
      ["head /a", "end ", "head /b", "end hello", "head /c", "end abc", "head /d", "end "],
    );
  });

  it("accounts for every byte, however they are split, as the reader of the log does", () => {
    const wires = fc.array(
      fc.constantFrom(...requests, "GET bad\r\n\r\n", "POST /e HTTP/1.1\r\nContent-Length: 9\r\n\r\nab"),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(wires, fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 8 }), (parts, cuts) => {
        const wire = encode(parts.join(""));
        const at = [0, ...cuts.map((cut) => Math.min(cut, wire.length)).sort((a, b) => a - b), wire.length];
        const pieces = at
          .slice(1)
          .map((to, index) => wire.subarray(at[index], to))
          .filter(({ length }) => length > 0);
        const stops = scanAll(pieces);
        assert.equal(stops.map(({ bytes }) => bytes).join(""), decode(wire));
        const heads: string[] = [];
        const reader = createMessageReader("request", {
          head: (head) => void heads.push(`head ${head.target}`),
          end() {},
          unreadable() {},
        });
        reader.push(wire);
        assert.deepEqual(
          stops.map(({ found }) => found).filter((found) => found.startsWith("head")),
          heads,
        );
      }),
    );
  });

  it("gives up at a head that is too long, and at a chunk that is invalid", () => {
    const head = (bytes: number) => `GET /${"a".repeat(bytes - 18)} HTTP/1.1\r\n\r\n`;
    const chunked = "POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX";
    const founds = (text: string) =>
      [[encode(text)], [encode(text.slice(0, 90)), encode(text.slice(90))]].map((pieces) =>
        scanAll(pieces).map(({ found }) => found.slice(0, 10)),
      );
    assert.deepEqual(founds(head(MAX_HEAD_BYTES)), [
      ["head /aaaa", "end "],
      ["head /aaaa", "end "],
    ]);
    assert.deepEqual(founds(head(MAX_HEAD_BYTES + 1)), [["unreadable"], ["unreadable"]]);
    assert.deepEqual(
      scanAll([encode(chunked)]).map(({ found }) => found),
      ["head /c", "unreadable"],
    );
    assert.deepEqual(
      scanAll([encode("GET bad\r\n\r\n"), encode("more")]).map(({ found }) => found),
      ["unreadable", "unreadable"],
    );
  });
});
