import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatBytes } from "../../../cli/render/format-bytes.ts";

describe("formatBytes()", () => {
  const cases: [bytes: number, words: string][] = [
    [0, "0 bytes"],
    [1, "1 byte"],
    [1023, "1023 bytes"],
    [48_180, "47.1 KiB"],
    [1024 * 1024, "1.0 MiB"],
  ];
  for (const [bytes, words] of cases)
    it(`returns ${words}`, () => {
      assert.equal(formatBytes(bytes), words);
    });
});
