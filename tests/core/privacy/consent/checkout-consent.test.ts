import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import {
  type ConsentFacts,
  decideConsent,
  truncateUserAgent,
  USER_AGENT_MAX_CHARACTERS,
  wordingHash,
} from "../../../../core/privacy/consent/checkout-consent.ts";
import { BILLING_PERIODS, type CheckoutConsent } from "../../../../core/wire/consent.ts";

const shown = wordingHash(["I agree.", "I ask for immediate performance."], sha256);
const ticked: CheckoutConsent = {
  plan: "team",
  period: "annual",
  wording_hash: shown,
  agreed_terms: true,
  agreed_immediate: true,
};
const facts: ConsentFacts = {
  userId: "u1",
  ip: "192.0.2.1",
  userAgent: "browser",
  now: Date.UTC(2026, 10, 21),
  knownWordings: new Set([shown, wordingHash(["older"], sha256)]),
};

describe("decideConsent()", () => {
  it("records all columns of the specification, from session and server", () => {
    assert.deepEqual(decideConsent(ticked, facts), {
      ok: true,
      record: {
        user_id: "u1",
        plan: "team",
        period: "annual",
        wording_hash: shown,
        ip: "192.0.2.1",
        user_agent: "browser",
        timestamp: "2026-11-21T00:00:00.000Z",
      },
    });
  });
  const cases: readonly [terms: boolean, immediate: boolean, known: boolean, reason: string | null][] = [
    [true, true, true, null],
    [false, true, true, "tick_missing"],
    [true, false, true, "tick_missing"],
    [false, false, true, "tick_missing"],
    [true, true, false, "wording_unknown"],
    [false, true, false, "tick_missing"],
  ];
  for (const [terms, immediate, known, reason] of cases) {
    it(`with ticks ${terms} and ${immediate} and a wording ${known ? "known" : "unknown"}: ${reason ?? "recorded"}`, () => {
      const consent = {
        ...ticked,
        agreed_terms: terms,
        agreed_immediate: immediate,
        wording_hash: known ? shown : "0".repeat(64),
      };
      const verdict = decideConsent(consent, facts);
      assert.equal(verdict.ok ? null : verdict.reason, reason);
    });
  }
  it("accepts a wording that was shown before it changed", () => {
    assert.ok(decideConsent({ ...ticked, wording_hash: wordingHash(["older"], sha256) }, facts).ok);
  });
  it("accepts two billing periods", () => assert.deepEqual(BILLING_PERIODS, ["monthly", "annual"]));
});

describe("truncateUserAgent()", () => {
  const long = "\u{1F600}".repeat(USER_AGENT_MAX_CHARACTERS);
  const cases: readonly [why: string, userAgent: string | null, stored: string | null][] = [
    ["keeps 512 characters of two units", long, long],
    ["cuts the 513th", `${long}x`, long],
    ["cuts on characters, not units", `a${long}`, `a${"\u{1F600}".repeat(511)}`],
    ["keeps an empty one", "", ""],
    ["keeps none as none", null, null],
  ];
  for (const [why, userAgent, stored] of cases) {
    it(why, () => assert.equal(truncateUserAgent(userAgent), stored));
  }
});

describe("wordingHash()", () => {
  it("is the SHA-256 of the strings' JSON", () => {
    // printf '["a","b"]' | sha256sum
    assert.equal(
      wordingHash(["a", "b"], sha256),
      "0473ef2dc0d324ab659d3580c1134e9d812035905c4781fdd6d529b0c6860e13",
    );
  });

  // Seen to fail with the strings joined by "\n", and with lone surrogates encoded as U+FFFD.
  it("differs for any two different wordings", () => {
    const text = fc.string({
      unit: fc.constantFrom('"', ",", "\n", "\ud83d", "\ufffd"),
      maxLength: 2,
    });
    const wording = fc.array(text, { maxLength: 2 });
    fc.assert(
      fc.property(wording, wording, (one, other) => {
        const same = one.length === other.length && one.every((string, at) => string === other[at]);
        assert.equal(wordingHash(one, sha256) === wordingHash(other, sha256), same);
      }),
      { numRuns: 2_000 },
    );
  });
});
