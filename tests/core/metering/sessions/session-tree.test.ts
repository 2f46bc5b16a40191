import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type AgentNode,
  buildSessionTree,
  type SessionRequest,
} from "../../../../core/metering/sessions/session-tree.ts";
import { NO_TOKENS } from "../../../../core/metering/usage/token-counts.ts";

function request(given: Partial<SessionRequest> & { readonly context?: number | null } = {}): SessionRequest {
  const { context = null, ...rest } = given;
  return {
    requestedAt: 0,
    model: "m",
    agentId: null,
    parentAgentId: null,
    agentKind: null,
    tokens: { ...NO_TOKENS, promptTokens: context },
    ...rest,
  };
}

const agent = (agentId: string, parentAgentId: string | null = null, agentKind: string | null = null) =>
  request({ agentId, parentAgentId, agentKind });

type Shape = readonly [id: string | null, calls: number, children: readonly Shape[]];
const shapeOf = ({ agentId, calls, children }: AgentNode<SessionRequest>): Shape => [
  agentId,
  calls.length,
  children.map(shapeOf),
];

describe("buildSessionTree()", () => {
  const trees: readonly [what: string, requests: readonly SessionRequest[], expected: Shape][] = [
    ["no requests", [], [null, 0, []]],
    ["the main agent alone", [request(), request()], [null, 2, []]],
    [
      "parallel agents in the order of their first calls",
      [request(), agent("b"), agent("a"), agent("b"), request()],
      [
        null,
        2,
        [
          ["b", 2, []],
          ["a", 1, []],
        ],
      ],
    ],
    [
      "agents below agents, even if the child called first",
      [agent("c", "b"), agent("b", "a"), agent("a")],
      [null, 0, [["a", 1, [["b", 1, [["c", 1, []]]]]]]],
    ],
    ["a parent that made no call", [agent("b", "gone")], [null, 0, [["b", 1, []]]]],
    ["an agent that is its own parent", [agent("a", "a")], [null, 0, [["a", 1, []]]]],
    [
      "parents in a circle",
      [agent("a", "b"), agent("b", "a"), agent("c", "a")],
      [
        null,
        0,
        [
          ["a", 1, []],
          ["b", 1, []],
          ["c", 1, []],
        ],
      ],
    ],
    [
      "a parent that only a later call states",
      [agent("b"), agent("a"), agent("b", "a")],
      [null, 0, [["a", 1, [["b", 2, []]]]]],
    ],
  ];
  for (const [what, requests, expected] of trees)
    it(`arranges ${what}`, () => assert.deepEqual(shapeOf(buildSessionTree(requests)), expected));

  it("names the kind that the first call states", () => {
    const [child] = buildSessionTree([
      agent("a"),
      agent("a", null, "review"),
      agent("a", null, "other"),
    ]).children;
    assert.equal(child?.kind, "review");
    assert.equal(buildSessionTree([request({ agentKind: "compact" })]).kind, null);
  });

  // Planted: a child whose parent is part of a cycle is attached nowhere.
  it("contains each request once, with any parents", () => {
    const id = fc.constantFrom("a", "b", "c", "d", "e");
    const requests = fc.array(fc.tuple(fc.option(id), fc.option(id)), { maxLength: 30 });
    fc.assert(
      fc.property(requests, (given) => {
        const made = given.map(([agentId, parentAgentId]) => request({ agentId, parentAgentId }));
        const found: SessionRequest[] = [];
        const visit = (node: AgentNode<SessionRequest>) => {
          found.push(...node.calls.map((call) => call.request));
          node.children.forEach(visit);
        };
        visit(buildSessionTree(made));
        assert.equal(found.length, made.length);
        assert.equal(new Set(found).size, made.length);
      }),
    );
  });

  it("shows a very long chain of agents without recursing through it", () => {
    const chain = Array.from({ length: 20_000 }, (_, at) => agent(`a${at}`, at === 0 ? null : `a${at - 1}`));
    assert.ok(buildSessionTree(chain).children.length > 19_000);
  });

  const contexts: readonly [
    what: string,
    calls: readonly (number | null | readonly [string, number])[],
    found: readonly number[],
  ][] = [
    ["a growing context", [10_000, 50_000, 90_000], []],
    ["a compaction", [10_000, 90_000, 20_000, 25_000], [2]],
    ["two compactions", [90_000, 20_000, 30_000, 95_000, 15_000, 16_000], [1, 4]],
    ["a helper's call with the same model", [90_000, 500, 91_000], []],
    ["helpers' calls with another model", [90_000, ["small", 500], ["small", 400], 91_000], []],
    ["a last call, after which it is not known", [90_000, 20_000], []],
    ["small contexts", [9_999, 100, 100], []],
    ["half of the context", [90_000, 45_000, 45_000], []],
    ["calls without counts", [90_000, null, 20_000, 21_000], [2]],
  ];
  for (const [what, given, expected] of contexts) {
    it(`finds the compactions in ${what}`, () => {
      const calls = given.map((each) =>
        typeof each === "object" && each !== null
          ? request({ model: each[0], context: each[1] })
          : request({ context: each }),
      );
      const tree = buildSessionTree(calls);
      const found = tree.calls.flatMap(({ followsCompaction }, index) => (followsCompaction ? [index] : []));
      assert.deepEqual(found, expected);
      assert.equal(tree.compactions, expected.length);
    });
  }

  it("states the largest context, including cached tokens, and none if no call states one", () => {
    const cached = request({
      tokens: { ...NO_TOKENS, promptTokens: 5, cacheReadTokens: 100, cacheWriteTokens: 20 },
    });
    assert.equal(
      buildSessionTree([request({ context: 90 }), cached, request({ context: null })]).peakContext,
      125,
    );
    assert.equal(buildSessionTree([request()]).peakContext, null);
  });
});
