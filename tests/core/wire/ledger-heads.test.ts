import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { ledgerHeadsQuerySchema, ledgerHeadsSchema } from "../../../core/wire/ledger-heads.ts";

const head = { seq: 0, hash: "0".repeat(64), asked_hash: null };
const isAnswer = (change: object) =>
  v.safeParse(ledgerHeadsSchema, {
    workspace_id: "ws",
    prompt_views: head,
    audit_events: head,
    costs: { ...head, ...change },
  }).success;

describe("ledgerHeadsQuerySchema", () => {
  it("reads the places that are given as whole numbers", () => {
    assert.deepEqual(v.parse(ledgerHeadsQuerySchema, { costs: "12" }), { costs: 12 });
    for (const place of ["", "-1", "1.5", "1e3", "1".repeat(16)])
      assert.equal(v.safeParse(ledgerHeadsQuerySchema, { prompt_views: place }).success, false, place);
  });
});

describe("ledgerHeadsSchema", () => {
  it("accepts hashes in lower-case hex only", () => {
    assert.equal(isAnswer({}), true);
    assert.equal(isAnswer({ seq: 3, asked_hash: "a".repeat(64) }), true);
    for (const change of [
      { hash: "A".repeat(64) },
      { hash: "a" },
      { asked_hash: "g".repeat(64) },
      { seq: -1 },
    ])
      assert.equal(isAnswer(change), false, JSON.stringify(change));
  });

  it("has no restore in the answer of an older cloud", () => {
    const heads = { workspace_id: "ws", prompt_views: head, audit_events: head, costs: head };
    assert.equal(v.parse(ledgerHeadsSchema, heads).restored, null);
  });
});
