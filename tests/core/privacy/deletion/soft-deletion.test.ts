import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  decideAccountDeletion,
  type OrganisationMembership,
  PURGE_DELAY_MS,
  purgeDueAt,
  softDelete,
} from "../../../../core/privacy/deletion/soft-deletion.ts";

const now = Date.UTC(2026, 10, 21);
const active = { deletedAt: null };
const deleted = { deletedAt: now };

/** Source: docs/specification.md#deletion. */
describe("softDelete()", () => {
  it("active -> soft-deleted: deleted_at is stamped", () =>
    assert.deepEqual(softDelete(active, now), deleted));
  it("soft-deleted -> the same: the first time stays", () => {
    assert.deepEqual(softDelete(deleted, now + 5), deleted);
  });
});

describe("purgeDueAt()", () => {
  it("is 30 days later", () => {
    assert.equal(purgeDueAt(deleted), Date.UTC(2026, 11, 21));
    assert.equal(PURGE_DELAY_MS, 30 * 24 * 3_600_000);
  });
  it("is null if nothing is deleted", () => assert.equal(purgeDueAt(active), null));
});

describe("decideAccountDeletion()", () => {
  const membership = (
    organisationId: string,
    isOwner: boolean,
    otherOwners: number,
    otherMembers: number,
  ): OrganisationMembership => ({ organisationId, isOwner, otherOwners, otherMembers });
  const cases: readonly [why: string, memberships: OrganisationMembership[], expected: object][] = [
    ["no organisation", [], { ok: true, deletesOrganisations: [] }],
    ["a member only", [membership("a", false, 1, 5)], { ok: true, deletesOrganisations: [] }],
    ["one of two owners", [membership("a", true, 1, 1)], { ok: true, deletesOrganisations: [] }],
    [
      "an owner all alone: the organisation goes too",
      [membership("a", true, 0, 0)],
      { ok: true, deletesOrganisations: ["a"] },
    ],
    [
      "the sole owner with others",
      [membership("a", true, 0, 1)],
      { ok: false, reason: "sole_owner", organisations: ["a"] },
    ],
    [
      "one that blocks among several",
      [membership("a", true, 0, 0), membership("b", true, 0, 2), membership("c", false, 1, 1)],
      { ok: false, reason: "sole_owner", organisations: ["b"] },
    ],
  ];
  for (const [why, memberships, expected] of cases) {
    it(`decides on ${why}`, () => assert.deepEqual(decideAccountDeletion(memberships), expected));
  }
});
