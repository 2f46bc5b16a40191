import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openApi } from "../../../daemon/api/api.rig.ts";
import { noon, sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../run-command.rig.ts";

const AS = "anthropic/claude-haiku-4-5";
const records = [
  sampleRecord({ requestedAt: noon, project: "web", sessionId: "one", gitBranch: "topic", pullRequest: 12 }),
  sampleRecord({ requestedAt: noon + 1, project: "web", provider: "openai", model: "gpt-5" }),
  sampleRecord({
    requestedAt: noon + 2,
    project: "api",
    model: "none",
    costPicoUsd: null,
    costSource: "unpriced",
  }),
  sampleRecord({ requestedAt: noon - 3 * 86_400_000, project: "web" }),
];
const FROM = new Date(noon - 3_600_000).toISOString();
const TO = new Date(noon + 3_600_000).toISOString();
const PERIOD = ["--from", FROM, "--to", TO, "--utc"];

describe("meter report --as", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    sample = await createSampleHome((store) => store.records.insert(records));
  });
  after(() => sample?.remove());
  const run = (...words: string[]) =>
    runWords(sample.home, ["report", "--as", AS, ...words], { COLUMNS: "140" });

  it("states what the API and the page's files state", async () => {
    const rig = await openApi();
    try {
      rig.store.records.insert(records);
      for (const [options, filters] of [
        [[], ""],
        [["--project", "web"], "&project=web"],
        [
          ["--session", "one", "--branch", "topic", "--pr", "12"],
          "&session=one&branch=topic&pull_request=12",
        ],
        [["--model", "gpt-5", "--provider", "openai"], "&model=gpt-5&provider=openai"],
      ] as const) {
        const query = `as=${AS}&tz=UTC&from=${FROM}&to=${TO}${filters}`;
        const api = JSON.parse(await (await rig.ask(`/v1/usage/comparison?${query}`)).text());
        const { stdout, code } = await run(...PERIOD, ...options, "--json");
        assert.equal(code, 0);
        assert.deepEqual(JSON.parse(stdout), api, filters);
        assert.ok(api.models.length > 0, filters);
        const csv = await (await rig.ask(`/models?${query}&format=csv`)).text();
        assert.equal((await run(...PERIOD, ...options, "--csv")).stdout, csv, filters);
      }
    } finally {
      rig.close();
    }
  });

  it("shows each model, the sum of those that can be compared, and the limits of the estimate", async () => {
    const { stdout, code } = await run(...PERIOD);
    assert.equal(code, 0);
    assert.match(stdout, /^.*\(UTC\), had it run on anthropic\/claude-haiku-4-5 \(estimate\)$/m);
    assert.match(
      stdout,
      /^What cost \$\S+ at API prices would have cost \$\S+: \$\S+ (?:more|less)\. 1 model cannot be/m,
    );
    assert.match(stdout, /^model +provider +tokens +cost at API prices +estimate +difference$/m);
    assert.match(stdout, /^none +anthropic +[\d,]+ +unpriced +\$\S+ +–$/m);
    assert.match(stdout, /^gpt-5 +openai +[\d,]+ +\$\S+ +\$\S+ +[+-]\$\S+$/m);
    assert.match(stdout, /^compared +\$\S+ +\$\S+ +[+-]\$\S+$/m);
    assert.match(stdout, /^The same numbers of tokens, at this model's prices now\./m);
    assert.match((await run(...PERIOD, "--project", "none")).stdout, /\(estimate\)\nNo requests\.\n$/);
    assert.match((await run("--to", TO)).stdout, /^none +anthropic/m);
  });

  it("refuses what it can't compare", async () => {
    for (const [words, message] of [
      [
        ["--as", "gpt-5"],
        /Invalid value for --as: gpt-5\. Expected a model with a price, such as anthropic\//,
      ],
      [["--as", AS, "--by", "day"], /--by and --as can't be combined\./],
      [["--as", AS, "--commit", "c0ffee"], /--as and --commit can't be combined\./],
      [["--as", AS, "--json", "--csv"], /--json and --csv can't be combined\./],
    ] as const) {
      const { code, stdout, stderr } = await runWords(sample.home, ["report", ...words]);
      assert.equal(code, 2);
      assert.match(stdout + stderr, message);
    }
    const empty = createEmptyHome();
    try {
      assert.match(
        (await runWords(empty.home, ["report", "--as", AS])).stderr,
        /Nothing has been metered yet/,
      );
    } finally {
      empty.remove();
    }
  });
});
