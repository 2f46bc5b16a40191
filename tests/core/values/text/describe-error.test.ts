import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { errorMessage, errorName } from "../../../../core/values/text/describe-error.ts";

describe("errorName()", () => {
  it("returns the class of an error", () => {
    assert.equal(errorName(new RangeError("too large")), "RangeError");
  });

  it("returns `unknown` for a thrown value that is not an error", () => {
    for (const thrown of ["text", 1, null, undefined, {}]) assert.equal(errorName(thrown), "unknown");
  });
});

describe("errorMessage()", () => {
  it("returns the message of an error", () => {
    assert.equal(errorMessage(new RangeError("too large")), "too large");
  });

  it("returns null for a SyntaxError, which quotes its input, and for a value that is not an error", () => {
    assert.equal(errorMessage(new SyntaxError("Unexpected token s in secret")), null);
    assert.equal(errorMessage("text"), null);
  });
});
