import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatBytes } from "../../../../core/values/text/format-bytes.ts";

describe("formatBytes()", () => {
  const cases: [bytes: number, words: string][] = [
    [0, "0 bytes"],
    [1, "1 byte"],
    [1023, "1023 bytes"],
    [48_180, "47.1 KiB"],
    [1024 ** 2, "1.0 MiB"],
    [1024 ** 3 - 1024 ** 2, "1023.0 MiB"],
    [1.5 * 1024 ** 3, "1.5 GiB"],
    [2048 * 1024 ** 3, "2048.0 GiB"],
  ];
  for (const [bytes, words] of cases)
    it(`returns ${words}`, () => {
      assert.equal(formatBytes(bytes), words);
    });
});
