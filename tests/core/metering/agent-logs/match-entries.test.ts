import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type MatchableEntry,
  matchEntries,
  type WireCall,
} from "../../../../core/metering/agent-logs/match-entries.ts";
import { NO_TOKENS } from "../../../../core/metering/usage/token-counts.ts";

const tokens = { ...NO_TOKENS, promptTokens: 10, cacheReadTokens: 0, completionTokens: 5 };

const entry = (given: Partial<MatchableEntry> = {}): MatchableEntry => ({
  key: "e1",
  scope: "call",
  at: 100_000,
  model: "claude-sonnet-5",
  tokens,
  responseId: null,
  session: null,
  ...given,
});

const call = (given: Partial<WireCall> = {}): WireCall => ({
  requestId: "w1",
  completedAt: 100_000,
  model: "claude-sonnet-5",
  tokens,
  responseId: null,
  session: null,
  ...given,
});

const match = (
  entries: readonly MatchableEntry[],
  calls: readonly WireCall[],
  taken: readonly string[] = [],
) => [...matchEntries(entries, calls, new Set(taken))];

describe("matchEntries()", () => {
  it("finds a call by the id of its response, whatever else differs", () => {
    const found = match(
      [entry({ responseId: "r2" })],
      [
        call(),
        call({
          requestId: "w2",
          responseId: "r2",
          completedAt: 5,
          model: "other",
          tokens: NO_TOKENS,
          session: "s",
        }),
      ],
    );
    assert.deepEqual(found, [["e1", "w2"]]);
  });

  it("never matches responses of different ids", () => {
    assert.deepEqual(match([entry({ responseId: "r1" })], [call({ responseId: "r2" })]), []);
    assert.deepEqual(match([entry({ responseId: "r1" })], [call()]), [["e1", "w1"]]);
  });

  it("allows 10 s within a session, and 5 s without one", () => {
    const cases: [
      entrySession: string | null,
      callSession: string | null,
      apartMs: number,
      isFound: boolean,
    ][] = [
      ["s", "s", 10_000, true],
      ["s", "s", -10_000, true],
      ["s", "s", 10_001, false],
      ["s", null, 5_000, true],
      [null, "s", 5_001, false],
      [null, null, 5_000, true],
      ["s", "t", 0, false],
    ];
    for (const [ours, theirs, apart, isFound] of cases) {
      const found = match(
        [entry({ session: ours })],
        [call({ session: theirs, completedAt: 100_000 + apart })],
      );
      assert.equal(found.length, isFound ? 1 : 0, `${ours} ${theirs} ${apart}`);
    }
  });

  it("compares counts exactly, with output as a whole and unknown cache counts as none", () => {
    const split = { ...tokens, cacheReadTokens: null, completionTokens: 2, thinkingTokens: 3 };
    assert.equal(match([entry()], [call({ tokens: split })]).length, 1);
    for (const other of [
      { ...tokens, promptTokens: 11 },
      { ...tokens, cacheReadTokens: 1 },
      { ...tokens, cacheWriteTokens: 1 },
      { ...tokens, completionTokens: 6 },
    ])
      assert.deepEqual(match([entry()], [call({ tokens: other })]), []);
    assert.deepEqual(match([entry({ tokens: NO_TOKENS })], [call({ tokens: NO_TOKENS })]), []);
    const withoutInput = { ...tokens, promptTokens: null };
    assert.deepEqual(match([entry({ tokens: withoutInput })], [call({ tokens: withoutInput })]), []);
    const withoutOutput = { ...tokens, completionTokens: null };
    assert.deepEqual(match([entry({ tokens: withoutOutput })], [call({ tokens: withoutOutput })]), []);
  });

  it("takes models as the same if one name contains the other or is unknown", () => {
    const cases: [string, string, boolean][] = [
      ["anthropic/claude-sonnet-5", "claude-sonnet-5", true],
      ["claude-sonnet-5", "claude-sonnet-5-20260801", true],
      ["unknown", "claude-sonnet-5", true],
      ["claude-sonnet-5", "unknown", true],
      ["claude-opus-5", "claude-sonnet-5", false],
    ];
    for (const [ours, theirs, isFound] of cases)
      assert.equal(match([entry({ model: ours })], [call({ model: theirs })]).length, isFound ? 1 : 0, ours);
  });

  it("does not match sums, and not what was matched before", () => {
    assert.deepEqual(match([entry({ scope: "session" }), entry({ key: "e2", scope: "turn" })], [call()]), []);
    assert.deepEqual(match([entry()], [call()], ["w1"]), []);
  });

  it("takes the nearest of several calls, and each once", () => {
    const calls = [1_000, 200, 3_000].map((apart, index) =>
      call({ requestId: `w${index}`, completedAt: 100_000 + apart }),
    );
    assert.deepEqual(match([entry(), entry({ key: "e2" })], calls), [
      ["e1", "w1"],
      ["e2", "w0"],
    ]);
    const same = [entry({ responseId: "r" }), entry({ key: "e2", responseId: "r" })];
    assert.deepEqual(match(same, [call({ responseId: "r" })]), [["e1", "w1"]]);
  });

  // Seen to fail when calls found by the id of their response could be found again by their counts.
  it("finds no call twice and no entry twice", () => {
    const id = fc.constantFrom(null, "a", "b");
    const at = fc.integer({ min: 95_000, max: 105_000 });
    const ours = fc.array(fc.record({ at, responseId: id, session: id }), { maxLength: 8 });
    const theirs = fc.array(fc.record({ completedAt: at, responseId: id, session: id }), { maxLength: 8 });
    fc.assert(
      fc.property(ours, theirs, (entries, calls) => {
        const found = match(
          entries.map((given, index) => entry({ ...given, key: `e${index}` })),
          calls.map((given, index) => call({ ...given, requestId: `w${index}` })),
        );
        assert.equal(new Set(found.map(([key]) => key)).size, found.length);
        assert.equal(new Set(found.map(([, requestId]) => requestId)).size, found.length);
      }),
    );
  });
});
