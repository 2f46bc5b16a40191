import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadCases } from "./load-cases.ts";
import { ALL_CASES } from "./sources/all.ts";

const onDisk = new Map(loadCases().map((testCase) => [testCase.name, testCase]));

/** Compressors change between versions of a runtime: of what they made, the bytes on disk are what counts. */
const isCompressed = (response: Uint8Array) =>
  /^(content-encoding|sec-websocket-extensions):/im.test(
    new TextDecoder("latin1").decode(response.subarray(0, 2048)),
  );

describe("the sources of the suite", () => {
  it("give the very cases that lie on disk; run tools/make-conformance.ts where they do not", () => {
    const wanted = ALL_CASES.map(({ folder, name }) => `${folder}/${name}`);
    const found = [...onDisk.keys()].filter((name) => !name.startsWith("fuzz/"));
    assert.deepEqual(found.toSorted(), wanted.toSorted());
    for (const { folder, name, request, response, expected } of ALL_CASES) {
      const there = onDisk.get(`${folder}/${name}`)!;
      assert.deepEqual(there.expected, JSON.parse(JSON.stringify(expected)), `${folder}/${name}`);
      if (isCompressed(response)) continue;
      assert.ok(Buffer.compare(there.request, request) === 0, `${folder}/${name}/request.http`);
      assert.ok(Buffer.compare(there.response, response) === 0, `${folder}/${name}/response.http`);
    }
  });

  it("have a sum for every computed cost, and no cost without a source", () => {
    for (const { name, expected } of onDisk.values()) {
      assert.match(expected.source.read_on ?? "2026-11-21", /^20\d\d-\d\d-\d\d$/, name);
      assert.notEqual(expected.source.document, "", name);
      for (const { cost } of expected.records) {
        if (cost.source !== "computed") continue;
        // Six places, so that a rate for a million is whole pico-USD for one.
        const pico = cost.lines.map(({ quantity, usd_per_million }) => {
          const [whole = "", places = ""] = usd_per_million.split(".");
          return BigInt(quantity) * BigInt(whole + places.padEnd(6, "0"));
        });
        assert.equal(String(pico.reduce((sum, line) => sum + line, 0n)), cost.pico_usd, name);
      }
    }
  });
});
