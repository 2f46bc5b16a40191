import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type CallGroup, summariseProjects } from "../../../../core/metering/attribution/newest-calls.ts";

const group = (project: string | null, more: Partial<CallGroup>): CallGroup => ({
  ...{ project, branch: null, tier: null, session: null, requests: 1 },
  ...more,
});

describe("summariseProjects()", () => {
  it("counts calls by how their project was found, most first, and different sessions by branch", () => {
    const summary = summariseProjects([
      group("apollo", { branch: "main", tier: "git_root", session: "a", requests: 3 }),
      group("apollo", { branch: "main", tier: "git_root", session: "b", requests: 2 }),
      group("apollo", { branch: "main", tier: "header", session: "b", requests: 9 }),
      group("apollo", { branch: "fix", tier: null, session: null, requests: 5 }),
      group(null, { tier: "default_project" }),
    ]);
    assert.deepEqual(summary.get("apollo"), {
      requests: 19,
      tiers: [
        ["header", 9],
        [null, 5],
        ["git_root", 5],
      ],
      sessions: new Map([
        ["main", 2],
        ["fix", 0],
      ]),
    });
    assert.deepEqual(summary.get(null)?.tiers, [["default_project", 1]]);
    assert.equal(summariseProjects([]).size, 0);
  });

  it("sorts equal counts by name", () => {
    const tiers = (...names: (string | null)[]) =>
      summariseProjects(names.map((tier) => group("p", { tier })))
        .get("p")
        ?.tiers.map(([tier]) => tier);
    assert.deepEqual(tiers("header", "git_root", null), [null, "git_root", "header"]);
    assert.deepEqual(tiers(null, "git_root"), [null, "git_root"]);
  });
});
