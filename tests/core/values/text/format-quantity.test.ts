import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatQuantity } from "../../../../core/values/text/format-quantity.ts";

describe("formatQuantity()", () => {
  const rows: readonly [text: string, expected: string][] = [
    [formatQuantity(0, "record"), "0 records"],
    [formatQuantity(1, "record"), "1 record"],
    [formatQuantity(1n, "record"), "1 record"],
    [formatQuantity(2, "body", "bodies"), "2 bodies"],
    [formatQuantity(1, "request waits", "requests wait"), "1 request waits"],
    [formatQuantity(1_234_567n, "token"), "1,234,567 tokens"],
  ];
  for (const [text, expected] of rows) it(`returns ${expected}`, () => assert.equal(text, expected));
});
