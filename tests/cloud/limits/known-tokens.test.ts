import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createKnownTokens } from "../../../cloud/limits/known-tokens.ts";

describe("createKnownTokens()", () => {
  it("remembers the 20,000 most recently used tokens", () => {
    const tokens = createKnownTokens();
    tokens.add("first");
    tokens.add("second");
    for (let at = 0; at < 19_998; at += 1) tokens.add(`token-${at}`);
    tokens.add("first");
    tokens.add("another");
    assert.deepEqual(
      [tokens.has("first"), tokens.has("second"), tokens.has("unknown")],
      [true, false, false],
    );
  });
});
