import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseUsageQuery } from "../../core/pricing/view/usage-query.ts";
import { comparisonCommand, reportCommand } from "../../pages/report-command.ts";
import { createSampleHome, runWords } from "../cli/run-command.rig.ts";
import { noon, sampleRecord } from "../daemon/store/sample-records.rig.ts";

const period = {
  label: "",
  from: new Date(noon - 3_600_000).toISOString(),
  to: new Date(noon + 3_600_000).toISOString(),
};

const commandOf = (query: string) =>
  reportCommand(parseUsageQuery(new URLSearchParams(query)).query, { period });

describe("reportCommand()", () => {
  it("has the groups, the period and the filters of a query", () => {
    for (const [query, command] of [
      ["", `meter report --by total --from ${period.from}`],
      ["by=model&then=pull_request&period=7d", `meter report --by model,pr --from ${period.from}`],
      [
        "by=client_version&period=month",
        `meter report --by client-version --from ${period.from} --to ${period.to}`,
      ],
      [
        "from=2026-11-01&to=2026-11-02&project=it's&branch=feature/a",
        `meter report --by total --from ${period.from} --to ${period.to} --project 'it'\\''s' --branch feature/a`,
      ],
      [
        "project=--json&session=-1",
        `meter report --by total --from ${period.from} --project=--json --session=-1`,
      ],
    ] as const)
      assert.equal(commandOf(query), command, query);
  });

  it("is null for what the command has no option for", () => {
    for (const query of [
      ...["by=status", "by=model&then=error", "client=claude", "project.not=a", "project=a&project=b"],
      "branch=",
    ])
      assert.equal(commandOf(query), null, query);
  });

  it("compares with another model", () => {
    const commandWith = (query: string) =>
      comparisonCommand(parseUsageQuery(new URLSearchParams(query)).query, { period }, "openai/gpt 5");
    assert.equal(
      commandWith("period=month&project=-x"),
      `meter report --as 'openai/gpt 5' --from ${period.from} --to ${period.to} --project=-x`,
    );
    for (const query of ["client=claude", "commit=c0ffee"]) assert.equal(commandWith(query), null, query);
  });

  it("prints the sums of the query", async () => {
    const sample = await createSampleHome((store) => {
      const within = [{ project: "a b" }, { project: "a b", model: "gpt-5-mini" }, { project: "c" }];
      store.records.insert(within.map((change) => sampleRecord({ requestedAt: noon, ...change })));
      store.records.insert([sampleRecord({ requestedAt: noon - 4_000_000, project: "a b" })]);
      store.records.insert([sampleRecord({ requestedAt: noon + 4_000_000, project: "a b" })]);
    });
    try {
      const command = commandOf("by=model&from=2026-11-01&project=a%20b") ?? "";
      const words = [...command.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);
      const { stdout } = await runWords(sample.home, [...words.slice(1), "--json"]);
      const { rows } = JSON.parse(stdout) as { rows: readonly { key: string; requests: number }[] };
      assert.deepEqual(rows.map(({ key, requests }) => [key, requests]).sort(), [
        ["claude-sonnet-4-5", 1],
        ["gpt-5-mini", 1],
      ]);
    } finally {
      sample.remove();
    }
  });
});
