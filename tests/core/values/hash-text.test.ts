import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { hashText } from "../../../core/values/hash-text.ts";

describe("hashText()", () => {
  /** FIPS 180-4's example, the empty text, and a text of several bytes a character. */
  const cases: readonly [text: string, hash: string][] = [
    ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
    ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["é", "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"],
  ];
  for (const [text, hash] of cases) {
    it(`hashes ${JSON.stringify(text)}`, () => assert.equal(hashText(text, sha256), hash));
  }
});
