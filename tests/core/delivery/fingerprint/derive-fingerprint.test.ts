import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import {
  deriveFingerprint,
  FINGERPRINT_LENGTH,
  isFingerprint,
  type MachineFacts,
} from "../../../../core/delivery/fingerprint/derive-fingerprint.ts";
import { hashText } from "../../../../core/values/hash-text.ts";

const fallback = { hostname: "Laptop", mac: "AA:BB:CC:00:11:22" };
const ofId = (id: string) => hashText(id, sha256).slice(0, 32);
const ofFallback = ofId("laptopaabbcc001122");

describe("deriveFingerprint()", () => {
  const cases: readonly [why: string, facts: MachineFacts, expected: string | null][] = [
    ["the platform's id", { platformId: "4C4C4544-0042", ...fallback }, ofId("4c4c4544-0042")],
    [
      "it whatever its case and the blanks around it",
      { platformId: " 4c4c4544-0042\n", ...fallback },
      ofId("4c4c4544-0042"),
    ],
    ["host name and MAC without an id", { platformId: null, ...fallback }, ofFallback],
    ["host name and MAC for an empty id", { platformId: "  ", ...fallback }, ofFallback],
    ["host name and MAC for an id of zeros", { platformId: "00000000-0000-0000", ...fallback }, ofFallback],
    ["host name and MAC for an id of ones", { platformId: "FFFFFFFF-FFFF", ...fallback }, ofFallback],
    [
      "host name and MAC for a firmware's placeholder",
      { platformId: "To Be Filled By O.E.M.", ...fallback },
      ofFallback,
    ],
    [
      "the MAC in any spelling",
      { platformId: null, hostname: "LAPTOP ", mac: "aa-bb-cc-00-11-22" },
      ofFallback,
    ],
    ["none without a host name", { platformId: null, hostname: " ", mac: fallback.mac }, null],
    ["none without a MAC", { platformId: null, hostname: "laptop", mac: null }, null],
    ["none with a MAC of zeros", { platformId: null, hostname: "laptop", mac: "00:00:00:00:00:00" }, null],
    ["none with nothing", { platformId: null, hostname: null, mac: null }, null],
  ];
  for (const [why, facts, expected] of cases) {
    it(`returns ${why}`, () => assert.equal(deriveFingerprint(facts, sha256), expected));
  }
  it("returns null if hashing throws", () => {
    const broken = () => {
      throw new Error("no hashing here");
    };
    assert.equal(deriveFingerprint({ platformId: "x", ...fallback }, broken), null);
  });
  it("returns null for facts that an adapter must not return", () => {
    assert.equal(
      deriveFingerprint({ platformId: 5, hostname: {}, mac: [] } as unknown as MachineFacts, sha256),
      null,
    );
  });

  // Seen to fail without the cut to 32 digits, and with a firmware's placeholder accepted as an id.
  it("returns 32 hex digits or null, and the same for the same machine", () => {
    const fact = fc.option(
      fc.oneof(
        fc.string({ unit: fc.constantFrom("0", "f", "A", "-", " ", "é"), maxLength: 6 }),
        fc.constant("None"),
      ),
    );
    fc.assert(
      fc.property(fc.record({ platformId: fact, hostname: fact, mac: fact }), (facts) => {
        const fingerprint = deriveFingerprint(facts, sha256);
        assert.ok(fingerprint === null || isFingerprint(fingerprint));
        assert.equal(deriveFingerprint(facts, sha256), fingerprint);
        const id = facts.platformId ?? "";
        if (/^[0\W]*$|^[f\W]*$|^none$/i.test(id)) {
          assert.equal(fingerprint, deriveFingerprint({ ...facts, platformId: null }, sha256));
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("isFingerprint()", () => {
  for (const [text, is] of [
    ["0".repeat(FINGERPRINT_LENGTH), true],
    ["0".repeat(31), false],
    ["0".repeat(33), false],
    ["A".repeat(32), false],
    [`${"0".repeat(31)}\n`, false],
    ["", false],
  ] as const) {
    it(`returns ${is} for ${JSON.stringify(text)}`, () => assert.equal(isFingerprint(text), is));
  }
});
