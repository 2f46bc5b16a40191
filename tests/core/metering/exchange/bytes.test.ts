import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createByteStore } from "../../../../core/metering/exchange/byte-store.ts";
import { decodeLatin1, decodeUtf8, encodeLatin1, viewOf } from "../../../../core/metering/exchange/bytes.ts";

const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);

describe("decodeLatin1() and encodeLatin1()", () => {
  it("map each byte to its character and back", () => {
    const text = decodeLatin1(everyByte);
    assert.equal(text, String.fromCharCode(...everyByte));
    assert.deepEqual(encodeLatin1(text), everyByte);
  });

  it("handle bytes that look like valid or invalid UTF-8", () => {
    for (const bytes of [[0xc3, 0xa9], [0x80], [0xef, 0xbf, 0xbd], [0x41, 0xff, 0x42], [0xef, 0xbb, 0xbf]]) {
      assert.equal(decodeLatin1(Uint8Array.from(bytes)), String.fromCharCode(...bytes));
    }
  });

  it("decode more bytes than are decoded at once", () => {
    const bytes = Uint8Array.from({ length: 10_001 }, (_, index) => index);
    const text = decodeLatin1(bytes);
    assert.equal(text.length, bytes.length);
    assert.deepEqual(encodeLatin1(text), bytes);
  });

  it("reject a character above U+00FF", () => {
    assert.throws(
      () => encodeLatin1("a€"),
      new RangeError("Cannot encode text as ISO 8859-1: code unit 8364 at 1"),
    );
  });
});

describe("decodeUtf8()", () => {
  it("keeps a byte order mark and replaces invalid bytes", () => {
    assert.equal(decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0xc3, 0xa9, 0xff)), "\ufeffé\ufffd");
  });
});

describe("viewOf()", () => {
  it("never copies, and returns the array itself for the whole range", () => {
    assert.equal(viewOf(everyByte, 0, 256), everyByte);
    assert.equal(viewOf(everyByte, 3, 9).buffer, everyByte.buffer);
    assert.deepEqual([...viewOf(everyByte, 3, 6)], [3, 4, 5]);
  });
});

describe("createByteStore()", () => {
  it("joins what is appended, across growth", () => {
    const store = createByteStore();
    for (let round = 0; round < 40; round++) store.append(everyByte, 0, 256);
    assert.equal(store.length, 40 * 256);
    assert.deepEqual(store.view().subarray(39 * 256), everyByte);
  });

  it("keeps a small buffer when cleared and frees a large one", () => {
    const store = createByteStore();
    store.append(everyByte, 0, 3);
    const small = store.view().buffer;
    store.clear();
    store.append(everyByte, 0, 3);
    assert.equal(store.view().buffer, small);
    store.append(new Uint8Array(100_000), 0, 100_000);
    store.clear();
    assert.equal(store.view().buffer.byteLength, 0);
    assert.equal(store.length, 0);
  });
});
