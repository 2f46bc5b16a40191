import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadCases } from "./load-cases.ts";
import { packBytes, unpackBytes } from "./packed-bytes.ts";
import { ALL_CASES } from "./sources/all.ts";

const packed = new Map(loadCases().map((testCase) => [testCase.name, testCase]));

/** Compressors change between versions of a runtime, so compressed bytes are not compared with those of the case files. */
const isCompressed = (response: Uint8Array) =>
  /^(content-encoding|sec-websocket-extensions):/im.test(
    new TextDecoder("latin1").decode(response.subarray(0, 2048)),
  );

describe("packBytes()", () => {
  it("keeps every byte: text, a byte order mark, control characters and bytes that are not UTF-8", () => {
    const inputs = ["", "data: ü\r\n\0", "\u{feff}x"].map((text) => new TextEncoder().encode(text));
    for (const bytes of [...inputs, Uint8Array.of(0xff, 0xfe, 0x80), Uint8Array.of(0xed, 0xa0, 0x80)])
      assert.deepEqual(unpackBytes(JSON.parse(JSON.stringify(packBytes(bytes)))), bytes);
    assert.deepEqual(packBytes(Uint8Array.of(0x61)), { text: "a" });
    assert.deepEqual(packBytes(Uint8Array.of(0xff)), { base64: "/w==" });
  });
});

describe("the sources of the suite", () => {
  it("match the case files (npm run conformance:make updates these)", () => {
    const expectedNames = ALL_CASES.map(({ folder, name }) => `${folder}/${name}`);
    const found = [...packed.keys()].filter((name) => !name.startsWith("fuzz/"));
    assert.deepEqual(found.toSorted(), expectedNames.toSorted());
    for (const { folder, name, request, response, expected } of ALL_CASES) {
      const there = packed.get(`${folder}/${name}`)!;
      assert.deepEqual(there.expected, JSON.parse(JSON.stringify(expected)), `${folder}/${name}`);
      if (isCompressed(response)) continue;
      assert.ok(Buffer.compare(there.request, request) === 0, `${folder}/${name}/request`);
      assert.ok(Buffer.compare(there.response, response) === 0, `${folder}/${name}/response`);
    }
  });

  it("have a sum for every computed cost, and no cost without a source", () => {
    for (const { name, expected } of packed.values()) {
      assert.match(expected.source.read_on ?? "2026-11-21", /^20\d\d-\d\d-\d\d$/, name);
      assert.notEqual(expected.source.document, "", name);
      for (const { cost } of expected.records) {
        if (cost.source !== "computed") continue;
        // Six decimal places, so that a rate per million is whole pico-USD per unit.
        const pico = cost.lines.map(({ quantity, usd_per_million }) => {
          const [whole = "", places = ""] = usd_per_million.split(".");
          return BigInt(quantity) * BigInt(whole + places.padEnd(6, "0"));
        });
        assert.equal(String(pico.reduce((sum, line) => sum + line, 0n)), cost.pico_usd, name);
      }
    }
  });
});
