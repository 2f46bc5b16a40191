import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeStrictUtf8, isUtf8 } from "../../../core/wire/utf8.ts";

/** Text that was decoded with replacement characters does not encode to the same bytes. */
function isPreserved(bytes: Uint8Array): boolean {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  return String(new TextEncoder().encode(text)) === String(bytes);
}

/** The Unicode Standard, table 3-7, and the bytes just outside each of its rows. */
const cases: readonly [what: string, valid: boolean, ...bytes: number[]][] = [
  ["nothing", true],
  ["U+0000", true, 0x00],
  ["the last of one byte", true, 0x7f],
  ["a continuation alone", false, 0x80],
  ["the last continuation alone", false, 0xbf],
  ["an overlong lead C0", false, 0xc0, 0x80],
  ["an overlong lead C1", false, 0xc1, 0xbf],
  ["the first of two bytes", true, 0xc2, 0x80],
  ["two bytes cut", false, 0xc2],
  ["two bytes without continuation", false, 0xc2, 0x41],
  ["two bytes whose second is a lead", false, 0xc2, 0xc2],
  ["the last of two bytes", true, 0xdf, 0xbf],
  ["three bytes overlong", false, 0xe0, 0x9f, 0xbf],
  ["the first of three bytes", true, 0xe0, 0xa0, 0x80],
  ["three bytes cut", false, 0xe0, 0xa0],
  ["three bytes without a third", false, 0xe1, 0x80, 0x41],
  ["the last before the surrogates", true, 0xed, 0x9f, 0xbf],
  ["the first surrogate", false, 0xed, 0xa0, 0x80],
  ["the last surrogate", false, 0xed, 0xbf, 0xbf],
  ["the first after the surrogates", true, 0xee, 0x80, 0x80],
  ["the last of three bytes", true, 0xef, 0xbf, 0xbf],
  ["four bytes overlong", false, 0xf0, 0x8f, 0xbf, 0xbf],
  ["the first of four bytes", true, 0xf0, 0x90, 0x80, 0x80],
  ["four bytes cut", false, 0xf0, 0x90, 0x80],
  ["four bytes without a fourth", false, 0xf1, 0x80, 0x80, 0x41],
  ["the last of all", true, 0xf4, 0x8f, 0xbf, 0xbf],
  ["beyond U+10FFFF", false, 0xf4, 0x90, 0x80, 0x80],
  ["a lead F5", false, 0xf5, 0x80, 0x80, 0x80],
  ["a lead FF", false, 0xff],
];

describe("isUtf8()", () => {
  for (const [what, valid, ...bytes] of cases) {
    it(`${valid ? "takes" : "refuses"} ${what}`, () => assert.equal(isUtf8(Uint8Array.from(bytes)), valid));
  }

  // Every sequence of up to three bytes from the edges of all ranges, and those of four bytes with a valid first byte.
  it("agrees with the runtime at the edges of every range", () => {
    const edges = [
      ...[
        0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
      ],
      ...[0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff],
    ];
    const check = (...bytes: number[]) => {
      const some = Uint8Array.from(bytes);
      if (isUtf8(some) !== isPreserved(some))
        assert.fail(`differs on ${bytes.map((byte) => byte.toString(16))}`);
    };
    for (const one of edges) {
      check(one);
      for (const two of edges) {
        check(one, two);
        for (const three of edges) {
          check(one, two, three);
          if (one >= 0xf0) for (const four of [0x41, 0x80, 0xbf, 0xc2]) check(one, two, three, four);
        }
      }
    }
  });
});

describe("decodeStrictUtf8()", () => {
  it("keeps a byte order mark", () => {
    assert.equal(decodeStrictUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)), "\ufeffa");
  });
  it("returns null for invalid UTF-8", () => assert.equal(decodeStrictUtf8(Uint8Array.of(0xff)), null));
});
