import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GENESIS_HASH } from "../../../../core/privacy/ledger/chain.ts";
import {
  compareHeads,
  type DatedHeads,
  headsInBackup,
  keepHeads,
  oldestHeads,
} from "../../../../core/privacy/ledger/compare-heads.ts";

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

const HOUR = 3_600_000;
const dated = (hours: number): DatedHeads => ({ at: hours * HOUR, heads: saved });

describe("keepHeads()", () => {
  it("keeps the first heads of each day, of the last 32 days", () => {
    let kept: readonly DatedHeads[] = [];
    for (let hour = 0; hour < 24 * 40; hour += 7) kept = keepHeads(kept, dated(hour));
    assert.equal(kept.length, 32);
    assert.equal(keepHeads(kept, { ...dated(0), at: (kept.at(-1)?.at ?? 0) + 23 * HOUR }), kept);
    const gaps = kept.slice(1).map(({ at }, before) => at - (kept[before]?.at ?? 0));
    assert.ok(gaps.every((gap) => gap >= 24 * HOUR));
  });
});

describe("headsInBackup()", () => {
  it("returns the latest heads from an hour before the backup, or none", () => {
    const kept = [dated(0), dated(24), dated(48)];
    assert.equal(headsInBackup(kept, 49 * HOUR), kept[2]);
    assert.equal(headsInBackup(kept, 49 * HOUR - 1), kept[1]);
    assert.equal(headsInBackup(kept, HOUR - 1), null);
  });
});

describe("oldestHeads()", () => {
  it("returns the first head of each chain that has rows, and the latest if no kept one has", () => {
    const costs = (seq: number) => ({ seq, hash: String(seq).repeat(64) });
    const keptOf = (seq: number) => ({ ...dated(0), heads: { ...saved, costs: costs(seq) } });
    const latest = { ...saved, costs: costs(9) };
    assert.deepEqual(oldestHeads([dated(0), keptOf(3), keptOf(5)], latest), { ...saved, costs: costs(3) });
    assert.deepEqual(oldestHeads([dated(0)], latest), latest);
    assert.deepEqual(oldestHeads([], latest), latest);
  });
});
