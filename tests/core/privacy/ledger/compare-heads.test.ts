import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GENESIS_HASH } from "../../../../core/privacy/ledger/chain.ts";
import { compareHeads } from "../../../../core/privacy/ledger/compare-heads.ts";

const at = (seq: number, letter: string, asked: string | null = null) => ({
  seq,
  hash: letter.repeat(64),
  asked_hash: asked === null ? null : asked.repeat(64),
});
const none = { seq: 0, hash: GENESIS_HASH };
const saved = { prompt_views: none, audit_events: { seq: 4, hash: "a".repeat(64) }, costs: none };
const state = (events: ReturnType<typeof at>) => ({
  prompt_views: at(9, "f"),
  audit_events: events,
  costs: { ...none, asked_hash: null },
});

describe("compareHeads()", () => {
  it("accepts chains that stayed the same or grew, and any rows of a chain that had none", () => {
    assert.equal(compareHeads(saved, state(at(4, "a", "a"))), null);
    assert.equal(compareHeads(saved, state(at(4, "a"))), null);
    assert.equal(compareHeads(saved, state(at(7, "b", "a"))), null);
  });

  it("finds a chain that ends before the saved head", () => {
    assert.deepEqual(compareHeads(saved, state(at(3, "a"))), {
      chain: "audit_events",
      seq: 4,
      fault: "tail_cut",
    });
  });

  it("finds another row, or none, in the place of the saved head", () => {
    const fault = { chain: "audit_events", seq: 4, fault: "history_rewritten" };
    assert.deepEqual(compareHeads(saved, state(at(4, "b", "b"))), fault);
    assert.deepEqual(compareHeads(saved, state(at(7, "b", "c"))), fault);
    assert.deepEqual(compareHeads(saved, state(at(7, "b"))), fault);
  });
});
