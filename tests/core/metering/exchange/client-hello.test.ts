import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import {
  MAX_CLIENT_HELLO_BYTES,
  MAX_RECORDS,
  readClientHello,
} from "../../../../core/metering/exchange/client-hello.ts";
import { latin1Bytes } from "./recording.rig.ts";

type Bytes = readonly number[];

const u16 = (value: number): Bytes => [value >> 8, value & 0xff];
const vector8 = (bytes: Bytes): Bytes => [bytes.length, ...bytes];
const vector16 = (bytes: Bytes): Bytes => [...u16(bytes.length), ...bytes];
const ascii = (text: string): Bytes => [...latin1Bytes(text)];
const extension = (type: number, data: Bytes): Bytes => [...u16(type), ...vector16(data)];
const serverName = (name: string): Bytes => extension(0, vector16([0, ...vector16(ascii(name))]));
const alpn = (...names: readonly string[]): Bytes =>
  extension(16, vector16(names.flatMap((name) => vector8(ascii(name)))));

function message(body: Bytes, type = 1): Bytes {
  return [type, body.length >> 16, ...u16(body.length & 0xffff), ...body];
}

const START: Bytes = [
  3,
  3,
  ...new Array<number>(32).fill(7),
  ...vector8([1, 2]),
  ...vector16([0x13, 1]),
  ...vector8([0]),
];

function hello(...extensions: readonly Bytes[]): Bytes {
  return message([...START, ...vector16(extensions.flat())]);
}

/** Splits the handshake bytes into TLS records of at most this number of bytes. */
function records(handshake: Bytes, size = 16_384): Uint8Array {
  const bytes: number[] = [];
  for (let from = 0; from < handshake.length; from += size) {
    for (const byte of [22, 3, 1, ...vector16(handshake.slice(from, from + size))]) bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}

const NOT_TLS = { kind: "not_tls" } as const;
const INCOMPLETE = { kind: "incomplete" } as const;

describe("readClientHello()", () => {
  const whole = hello(
    extension(0x0a0a, []),
    serverName("API.anthropic.com"),
    alpn("h2", "http/1.1"),
    extension(43, [2, 3, 4]),
  );
  const read = { kind: "client_hello", serverName: "API.anthropic.com", alpn: ["h2", "http/1.1"] } as const;

  it("reads the server name and the protocols from one or many records, only once all bytes have arrived", () => {
    for (const size of [1, 2, 3, 7, 100, 16_384]) {
      const bytes = records(whole, size);
      for (let length = 0; length < bytes.length; length++) {
        assert.deepEqual(readClientHello(bytes.subarray(0, length)), INCOMPLETE, `${length} bytes`);
      }
      assert.deepEqual(readClientHello(bytes), read);
      assert.deepEqual(readClientHello(Uint8Array.of(...bytes, 20, 3, 3, 0, 1, 1)), read);
    }
  });

  it("accepts a hello without these extensions, or without any", () => {
    const bare = { kind: "client_hello", serverName: null, alpn: [] };
    assert.deepEqual(readClientHello(records(hello(extension(43, [2, 3, 4])))), bare);
    assert.deepEqual(readClientHello(records(message(START))), bare);
  });

  const wrong: readonly (readonly [what: string, bytes: Uint8Array])[] = [
    ["plain HTTP", latin1Bytes("GET / HTTP/1.1\r\n\r\n")],
    ["its first byte alone", latin1Bytes("G")],
    ["an SSL 2 hello", Uint8Array.of(0x80, 0x2e, 1, 0, 2)],
    ["a record of another protocol's version", Uint8Array.of(22, 2)],
    ["an alert", Uint8Array.of(21, 3, 3, 0, 2, 2, 40)],
    ["an empty record", Uint8Array.of(22, 3, 1, 0, 0)],
    ["a record that is too long", Uint8Array.of(22, 3, 1, 0x40, 1)],
    ["another handshake message", records(message([], 2))],
    ["another kind of record in the middle", Uint8Array.of(22, 3, 1, 0, 1, 1, 23, 3, 3, 0, 1, 0)],
    ["a hello that is too long", records([1, 0, 0x40, 1])],
    ["a body that ends in its session id", records(message(START.slice(0, 36)))],
    ["a body that ends in the length of its ciphers", records(message(START.slice(0, 38)))],
    ["a byte behind the compression methods", records(message([...START, 0]))],
    ["bytes behind the extensions", records(message([...START, ...vector16([]), 0]))],
    ["an extension that is cut short", records(message([...START, ...vector16([0, 43, 0, 9, 1])]))],
    ["one extension twice", records(hello(serverName("a"), serverName("b")))],
    ["an empty server name extension", records(hello(extension(0, [])))],
    [
      "a server name list with a rest",
      records(hello(extension(0, [...vector16([0, ...vector16(ascii("a"))]), 1]))),
    ],
    [
      "a server name of an unknown type",
      records(hello(extension(0, vector16([1, ...vector16(ascii("a"))])))),
    ],
    ["two server names", records(hello(extension(0, vector16([0, 0, 1, 97, 0, 0, 1, 98]))))],
    ["a server name that is cut short", records(hello(extension(0, vector16([0, 0, 9, 97]))))],
    ["an empty server name", records(hello(serverName("")))],
    ["a server name with a NUL", records(hello(serverName("api.openai.com\0.evil.test")))],
    ["an empty protocol extension", records(hello(extension(16, [])))],
    ["a protocol list with a rest", records(hello(extension(16, [0, 2, 1, 97, 9])))],
    ["an empty protocol name", records(hello(alpn("h2", "")))],
    ["a protocol name that is cut short", records(hello(extension(16, vector16([9, 97]))))],
  ];
  for (const [what, bytes] of wrong) {
    it(`refuses ${what}`, () => {
      assert.deepEqual(readClientHello(bytes), NOT_TLS);
    });
  }

  it("never waits for more than the maximum length of a hello", () => {
    const endless = records([1, 0, 0x40, 0, ...new Array<number>(MAX_CLIENT_HELLO_BYTES).fill(0xff)], 100);
    assert.deepEqual(readClientHello(endless.subarray(0, -1)), INCOMPLETE);
    assert.deepEqual(readClientHello(endless), NOT_TLS);
  });

  it("accepts no more than a maximum number of records", () => {
    const tiny = records([1, 0, 0x40, 0, ...new Array<number>(MAX_RECORDS).fill(0xff)], 1);
    assert.deepEqual(readClientHello(tiny.subarray(0, MAX_RECORDS * 6)), INCOMPLETE);
    assert.deepEqual(readClientHello(tiny), NOT_TLS);
  });

  it("never throws, and never changes its result when more bytes arrive", () => {
    // Planted: the body was read as soon as its length was known.
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.nat(40), (at, byte, size) => {
        const bytes = records(
          whole.map((old, index) => (index === at ? byte : old)),
          size + 1,
        );
        let settled: unknown;
        for (let length = 0; length <= bytes.length; length++) {
          const now = readClientHello(bytes.subarray(0, length));
          if (settled !== undefined) assert.deepEqual(now, settled);
          else if (now.kind !== "incomplete") settled = now;
        }
      }),
    );
  });
});
