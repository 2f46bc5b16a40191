import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createKeyFinder } from "../../../../core/metering/usage/key-finder.ts";
import { bytesOf } from "./answers.rig.ts";

const find = createKeyFinder(["error", "usage", "usageMetadata"]);

describe("createKeyFinder()", () => {
  const table: [text: string, found: number][] = [
    ["", 0],
    ['"usage"', 2],
    ['{"usage":{}}', 2],
    ['{"usage" : \n\t{}}', 2],
    ['{"usage":null}', 0],
    ['{"usage":\r\n null}', 0],
    ['{"error":false}', 0],
    ['{"usage":null,"usage":{}}', 2],
    ['{"type":"error"}', 1],
    ['{"error":{},"usageMetadata":{}}', 5],
    ['{"text":"the \\"usage\\": {}"}', 0],
    ['{"usages":1,"xusage":2}', 0],
    ['{"usageMetadat', 0],
  ];
  for (const [text, found] of table)
    it(`returns ${found} for ${JSON.stringify(text)}`, () => {
      assert.equal(find(bytesOf(text)), found);
    });

  it("agrees with a plain search", () => {
    // Planted: the shift of a byte that occurs in two keys taken from the longer one.
    const shard = fc.constantFrom('"', "usage", "error", "Metadata", ":", "1", " ", "x", "us", "er", "null");
    fc.assert(
      fc.property(fc.array(shard, { maxLength: 25 }), (shards) => {
        const text = shards.join("");
        const expected = ["error", "usage", "usageMetadata"].reduce(
          (mask, key, index) => (new RegExp(`"${key}"(?! *: *[nf])`).test(text) ? mask | (1 << index) : mask),
          0,
        );
        assert.equal(find(bytesOf(text)), expected);
      }),
      { numRuns: 2000 },
    );
  });
});
