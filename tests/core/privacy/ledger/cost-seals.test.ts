import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import { GENESIS_HASH } from "../../../../core/privacy/ledger/chain.ts";
import {
  type CostSealRow,
  checkCostSeal,
  checkLeaf,
  digestRequest,
  hashCostSeal,
  packLeaves,
  SEALED_COLUMNS,
  type SealedRequest,
  unpackLeaves,
} from "../../../../core/privacy/ledger/cost-seals.ts";
import { hashBytes } from "../../../../core/values/hash-text.ts";

const A = "01994b8e-7c00-7000-8000-00000000000a";
const B = "01994b8e-7c00-7000-8000-00000000000b";
const none = Object.fromEntries(SEALED_COLUMNS.map((column) => [column, null]));
const request = (id: string, fields: Partial<SealedRequest> = {}) =>
  ({ ...none, ...fields, request_id: id }) as SealedRequest;

const leaves = new Uint8Array(
  Buffer.concat(
    [A, B].flatMap((id) => [Buffer.from(id.replaceAll("-", ""), "hex"), digestRequest(request(id), sha256)]),
  ),
);
const unhashed = {
  workspace_id: "w1",
  seq: 1,
  prev_hash: GENESIS_HASH,
  kind: "stored" as const,
  sealed_at: "2026-11-21T12:00:00.000Z",
  leaves,
  content_hash: hashBytes(leaves, sha256),
  is_erased: false,
};
const seal: CostSealRow = { ...unhashed, hash: hashCostSeal(unhashed, sha256) };
const erased: CostSealRow = { ...seal, leaves: null, is_erased: true };

describe("digestRequest()", () => {
  it("covers every sealed column", () => {
    const plain = Buffer.from(digestRequest(request(A), sha256)).toString("hex");
    for (const column of SEALED_COLUMNS) {
      const changed = digestRequest({ ...request(A), [column]: "x" }, sha256);
      assert.notEqual(Buffer.from(changed).toString("hex"), plain, column);
    }
  });

  it("covers no other column", () => {
    const digest = digestRequest({ ...request(A), prompt_hash: "x" } as SealedRequest, sha256);
    assert.deepEqual(digest, digestRequest(request(A), sha256));
  });
});

describe("packLeaves()", () => {
  it("joins the bytes of each id and its digest", () =>
    assert.deepEqual(packLeaves([request(A), request(B)], sha256), leaves));
});

describe("unpackLeaves()", () => {
  it("returns the id and digest of each leaf, and ignores an incomplete one", () => {
    assert.deepEqual(
      unpackLeaves(new Uint8Array([...leaves, 1, 2, 3])),
      [A, B].map((id) => ({ request_id: id, digest: new Uint8Array(digestRequest(request(id), sha256)) })),
    );
  });
});

describe("checkCostSeal()", () => {
  for (const [what, row, expected] of [
    ["a seal as it was written", seal, "intact"],
    ["a seal whose digests the purge erased", erased, "erased"],
    ["another kind", { ...seal, kind: "filled" }, "changed"],
    ["another time", { ...seal, sealed_at: "2026-11-21T12:00:00.001Z" }, "changed"],
    ["changed digests", { ...seal, leaves: leaves.with(20, 0).with(21, 0) }, "changed"],
    ["lost digests", { ...seal, leaves: null }, "changed"],
    ["an erased seal with digests", { ...erased, leaves }, "changed"],
    ["an erased seal with another hash of them", { ...erased, content_hash: "0" }, "changed"],
  ] as const) {
    it(`finds ${what} ${expected}`, () => assert.equal(checkCostSeal(row, sha256), expected));
  }
});

describe("checkLeaf()", () => {
  const digest = digestRequest(request(A), sha256);
  const other = digestRequest(request(B), sha256);
  const leaf = { request_id: A, digest };
  for (const [what, kind, stored, expected] of [
    ["a request as it was stored", "stored", { digest, filledBy: null }, "intact"],
    ["a request that changed", "stored", { digest: other, filledBy: null }, "changed"],
    ["a deleted request", "stored", undefined, "missing"],
    ["a request that names a later seal", "stored", { digest: other, filledBy: 8 }, "filled_later"],
    ["a request that names an earlier seal", "stored", { digest, filledBy: 6 }, "changed"],
    ["a request as it was filled in", "filled", { digest, filledBy: 7 }, "intact"],
    ["a filled request that changed", "filled", { digest: other, filledBy: 7 }, "changed"],
    ["a fill-in that was undone", "filled", { digest, filledBy: null }, "changed"],
    ["a fill-in set back to an earlier one", "filled", { digest, filledBy: 6 }, "changed"],
  ] as const) {
    it(`finds ${what} ${expected}`, () => assert.equal(checkLeaf({ seq: 7, kind }, leaf, stored), expected));
  }
});
