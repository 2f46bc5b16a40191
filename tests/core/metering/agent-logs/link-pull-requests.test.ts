import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type LinkableCall,
  linkPullRequests,
} from "../../../../core/metering/agent-logs/link-pull-requests.ts";
import { claudeLog } from "../../../../core/metering/agent-logs/readers/claude-log.ts";
import { SAMPLE_FILE } from "./read-log.rig.ts";

/** Calls at 0, 10, 20, …, by their branches; `?` is unknown. */
const callsOn = (...branches: readonly string[]) =>
  branches.map(
    (branch, index): LinkableCall => ({
      requestId: `c${index}`,
      at: index * 10,
      branch: branch === "?" ? null : branch,
      remote: null,
      pullRequest: null,
    }),
  );

const link = (at: number, pullRequest: number) => ({ at, pullRequest });

/** Returns the pull request of each call, in order. */
const linked = (calls: readonly LinkableCall[], ...links: readonly ReturnType<typeof link>[]) => {
  const found = linkPullRequests(calls, links);
  return calls.map(({ requestId }) => found.get(requestId) ?? null);
};

describe("linkPullRequests()", () => {
  const cases: readonly [
    name: string,
    branches: readonly string[],
    links: readonly [number, number][],
    ...expected: (number | null)[],
  ][] = [
    [
      "gives all calls of the branch the pull request, also those before it",
      ["x", "x", "x"],
      [[15, 7]],
      7,
      7,
      7,
    ],
    ["leaves calls on other branches alone", ["main", "x", "y"], [[5, 7]], null, 7, null],
    ["takes the branch of the next call that has one", ["main", "?", "x"], [[5, 7]], null, 7, 7],
    ["takes the branch of the last call if none follows", ["main", "x"], [[15, 7]], null, 7],
    [
      "lets a later link count from its time on",
      ["x", "x", "x"],
      [
        [5, 7],
        [15, 8],
      ],
      7,
      7,
      8,
    ],
    [
      "keeps two branches apart",
      ["x", "x", "y", "y"],
      [
        [5, 7],
        [25, 8],
      ],
      7,
      7,
      8,
      8,
    ],
    ["counts for an unknown branch from the link on", ["?", "?", "?"], [[5, 7]], null, 7, 7],
    [
      "ignores that a link is repeated on another branch",
      ["x", "x", "y"],
      [
        [5, 7],
        [15, 7],
      ],
      7,
      7,
      null,
    ],
    ["finds nothing without links", ["x"], [], null],
  ];
  for (const [name, branches, links, ...expected] of cases) {
    it(name, () => {
      const given = links.map(([at, pullRequest]) => link(at, pullRequest));
      assert.deepEqual(linked(callsOn(...branches), ...given), expected);
    });
  }

  it("finds nothing for calls in another repository, and nothing without calls", () => {
    const [one, other] = callsOn("x", "x") as [LinkableCall, LinkableCall];
    const calls = [
      { ...one, remote: "github.com/a/b" },
      { ...other, remote: "github.com/c/d" },
    ];
    assert.deepEqual(linked(calls, link(5, 7)), [null, 7]);
    assert.deepEqual(linked([], link(5, 7)), []);
  });

  // Found by a fault: without the check of the call's own pull request, known ones are replaced.
  it("never replaces a known pull request, and finds nothing more the second time", () => {
    const aCall = fc.record({
      branch: fc.constantFrom("x", "y", null),
      remote: fc.constantFrom("a", "b", null),
      pullRequest: fc.constantFrom(null, null, 1),
    });
    const aLink = fc.record({ at: fc.integer({ min: 0, max: 60 }), pullRequest: fc.constantFrom(7, 8) });
    fc.assert(
      fc.property(fc.array(aCall, { maxLength: 6 }), fc.array(aLink, { maxLength: 4 }), (given, links) => {
        const calls = given.map((call, index) => ({ ...call, requestId: `c${index}`, at: index * 10 }));
        links.sort((first, second) => first.at - second.at);
        const found = linkPullRequests(calls, links);
        for (const call of calls) if (call.pullRequest !== null) assert.ok(!found.has(call.requestId));
        const after = calls.map((call) => ({
          ...call,
          pullRequest: call.pullRequest ?? found.get(call.requestId) ?? null,
        }));
        assert.equal(linkPullRequests(after, links).size, 0);
      }),
    );
  });
});

describe("claudeLog", () => {
  const read = (members: object) =>
    claudeLog.read(claudeLog.start(SAMPLE_FILE), { type: "pr-link", ...members }, 1).link;

  it("reads which pull request a session has", () => {
    const timestamp = "2026-08-01T10:02:00.000Z";
    const at = Date.parse(timestamp);
    assert.deepEqual(read({ sessionId: "s-1", prNumber: 7, timestamp }), {
      session: "s-1",
      at,
      pullRequest: 7,
    });
    assert.deepEqual(read({ prNumber: "7", timestamp }), { session: "file-session", at, pullRequest: 7 });
  });

  it("ignores a link without a number or a time", () => {
    const timestamp = "2026-08-01T10:02:00.000Z";
    for (const members of [
      { timestamp },
      { prNumber: 7 },
      { prNumber: -1, timestamp },
      { prNumber: {}, timestamp },
    ])
      assert.equal(read(members), undefined);
    const anonymous = claudeLog.start({ ...SAMPLE_FILE, session: null });
    assert.equal(claudeLog.read(anonymous, { type: "pr-link", prNumber: 7, timestamp }, 1).link, undefined);
  });
});
