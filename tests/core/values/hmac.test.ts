import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { hmacSha256 } from "../../../core/values/hmac.ts";

describe("hmacSha256()", () => {
  // Planted: the outer pad used as the inner one; the message hashed without the key.
  it("follows RFC 2104 for every key of up to a block", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.uint8Array({ maxLength: 200 }), (key, message) => {
        assert.equal(
          hmacSha256(key, message, sha256),
          createHmac("sha256", key).update(message).digest("hex"),
        );
      }),
    );
  });
  it("rejects a key longer than a block", () => {
    assert.throws(() => hmacSha256(new Uint8Array(65), new Uint8Array(), sha256), RangeError);
  });
});
