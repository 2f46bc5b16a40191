import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandomBytes, sha256, sha256Hex } from "../../../adapters/crypto/node-crypto.ts";
import { hashToken, mintToken, workspaceOfToken } from "../../../cloud/access/token.ts";

const WORKSPACE = "01994b8e-7c00-7abc-8def-0123456789ab";

describe("mintToken()", () => {
  it("creates a token from the workspace and 256 random bits, and only its hash is stored", () => {
    const randomBytes = createRandomBytes();
    const tokens = Array.from({ length: 50 }, () => mintToken("sync", WORKSPACE, randomBytes, sha256));
    assert.equal(new Set(tokens.map(({ token }) => token)).size, 50);
    for (const { token, hash, prefix } of tokens) {
      assert.match(token, /^mtr_sync_[\w-]{64}$/);
      assert.equal(workspaceOfToken(token), WORKSPACE);
      assert.deepEqual(new Uint8Array(hash), new Uint8Array(hashToken(token, sha256)));
      assert.equal(Buffer.from(hash).toString("hex"), sha256Hex(token));
      assert.ok(prefix.length < 20);
    }
  });

  it("uses random bytes only for the secret", () => {
    const asked: number[] = [];
    const count = (bytes: number) => {
      asked.push(bytes);
      return new Uint8Array(bytes).fill(255);
    };
    assert.ok(mintToken("admin", WORKSPACE, count, sha256).token.startsWith("mtr_admin_"));
    assert.deepEqual(asked, [32]);
  });
});

describe("workspaceOfToken()", () => {
  for (const text of [
    "",
    "mtr_sync_",
    `mtr_sync_${"a".repeat(63)}`,
    `mtr_sync_${"a".repeat(65)}`,
    `mtr_other_${"a".repeat(64)}`,
    `mtr_sync_${"!".repeat(64)}`,
  ]) {
    it(`returns null for ${JSON.stringify(text.slice(0, 16))}, ${text.length} characters`, () => {
      assert.equal(workspaceOfToken(text), null);
    });
  }
});
