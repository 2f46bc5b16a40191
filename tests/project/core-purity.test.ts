import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readSource, sourceFiles, withoutComments } from "./source-files.rig.ts";

/** What `core/` may not contain: the clock, randomness, concurrency, the outside. */
const forbidden: readonly [what: string, pattern: RegExp][] = [
  ["the clock", /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\b/],
  ["randomness", /\bMath\.random\b|\bcrypto\b/],
  ["async code", /\basync\b|\bawait\b|\bPromise\b/],
  ["the outside", /\bprocess\.|\bconsole\.|\bfetch\(|\bsetTimeout\b|\bsetInterval\b|\bglobalThis\b/],
];

/** A port describes the outside, so its methods may return promises. */
const isPort = (file: string) => file.startsWith("core/ports/");

describe("core/", () => {
  for (const [what, pattern] of forbidden) {
    it(`is free of ${what}`, () => {
      const found = sourceFiles("core")
        .filter((file) => !(what === "async code" && isPort(file)))
        .filter((file) => !file.endsWith(".data.ts") && pattern.test(withoutComments(readSource(file))));
      assert.deepEqual(found, []);
    });
  }
});
