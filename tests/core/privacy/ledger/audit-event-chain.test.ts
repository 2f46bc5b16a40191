import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import {
  type AuditEventRow,
  canonicalDetails,
  checkAuditEvent,
  hashAuditEvent,
  hashDetails,
} from "../../../../core/privacy/ledger/audit-event-chain.ts";
import { GENESIS_HASH } from "../../../../core/privacy/ledger/chain.ts";
import {
  endVerification,
  startVerification,
  verifyRow,
} from "../../../../core/privacy/ledger/verify-ledger.ts";

const details = { name: "Wörk", role: null, count: 3, on: true };
const unhashed = {
  workspace_id: "w1",
  seq: 1,
  prev_hash: GENESIS_HASH,
  event_id: "e1",
  at: "2026-11-21T12:00:00.000Z",
  kind: "settings_changed",
  actor_user_id: null,
  retain_until: "2027-11-21T12:00:00.000Z",
  details,
  content_salt: "salt",
  content_hash: hashDetails(details, "salt", sha256),
  is_erased: false,
};
const row: AuditEventRow = { ...unhashed, hash: hashAuditEvent(unhashed, sha256) };
const erased: AuditEventRow = { ...row, details: {}, content_salt: null, is_erased: true };

describe("checkAuditEvent()", () => {
  it("finds an event intact, and erased after the purge", () => {
    assert.equal(checkAuditEvent(row, sha256), "intact");
    assert.equal(checkAuditEvent(erased, sha256), "erased");
  });

  it("returns the same hash for any order of names in the details", () => {
    const { on, ...others } = details;
    assert.equal(canonicalDetails({ on, ...others }), canonicalDetails(details));
    assert.equal(checkAuditEvent({ ...row, details: { on, ...others } }, sha256), "intact");
  });

  it("keeps its format, because stored events depend on it", () => {
    assert.deepEqual(
      [row.content_hash, row.hash],
      [
        // printf '["meter-audit-event-content-1","salt",[["count",3],["name","Wörk"],["on",true],["role",null]]]' | sha256sum
        "41b106a56e61d3c6722da4f9b53f668cbf9240feb75d40f4132fed6453e542b4",
        "498ec1f71fde5974614d3576ff7143c0f5390ea33217c3fc0b6f496ed3b81058",
      ],
    );
  });

  for (const [what, changed] of [
    ["another event", { ...row, event_id: "e2" }],
    ["another time", { ...row, at: "2026-11-21T12:00:00.001Z" }],
    ["another kind", { ...row, kind: "key_created" }],
    ["another person", { ...row, actor_user_id: "eve" }],
    ["another end of its retention", { ...row, retain_until: row.at }],
    ["a changed detail", { ...row, details: { ...details, count: 4 } }],
    ["a number that became a text", { ...row, details: { ...details, count: "3" } }],
    ["a removed detail", { ...row, details: { name: "Wörk" } }],
    ["another salt", { ...row, content_salt: "other" }],
    ["a lost salt", { ...row, content_salt: null }],
    ["another hash of its details", { ...row, content_hash: "c".repeat(64) }],
    ["blank details that nothing marks as erased", { ...row, details: {} }],
    ["details of an erased event", { ...erased, details: { name: "x" } }],
    ["the salt of an erased event", { ...erased, content_salt: "salt" }],
    ["another person of an erased event", { ...erased, actor_user_id: "eve" }],
  ] as const) {
    it(`finds ${what}`, () => assert.equal(checkAuditEvent(changed, sha256), "changed"));
  }
});

describe("verifyRow()", () => {
  it("keeps the first fault", () => {
    let state = startVerification("w1", null);
    state = verifyRow(state, row, "changed");
    state = verifyRow(state, row, "intact");
    assert.deepEqual(endVerification(state), { ok: false, fault: "row_changed", seq: 1 });
  });
});
