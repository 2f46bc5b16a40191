import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseWire } from "../../../../core/wire/parse.ts";
import { savingsAnswerSchema } from "../../../../core/wire/savings.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../run-command.rig.ts";

const HOUR = 3_600_000;

describe("meter savings", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;

  before(async () => {
    // The command reads the system's clock.
    const now = Date.now();
    const tokens = { promptTokens: 1_000, cacheReadTokens: 0, cacheWriteTokens: 400_000 };
    const more = { cacheWrite1hTokens: 0, completionTokens: 10, thinkingTokens: null };
    const made = (hours: number) =>
      sampleRecord({
        requestedAt: now - hours * HOUR,
        ...{ project: "apollo", model: "claude-sonnet-4-5", tokens: { ...tokens, ...more } },
        costPicoUsd: 1_500_000_000_000n,
      });
    sample = await createSampleHome((store) => {
      store.insertBatch({ records: [made(1), made(2)], bodies: [], coverage: [] });
    });
  });
  after(() => sample.remove());

  it("shows what caches saved, and the findings", async () => {
    const { code, stdout } = await runWords(sample.home, ["savings", "--since", "7d"], { COLUMNS: "120" });
    assert.equal(code, 0);
    const lines = stdout.split("\n").map((line) => line.trimEnd());
    assert.equal(
      lines[1],
      "Caches saved -$0.6000: reads saved $0.0000, writes cost $0.6000 more than fresh input.",
    );
    assert.equal(lines[2], "0% of the input tokens came from caches.");
    assert.match(stdout, /^repeated prompt +apollo +claude-sonnet-4-5 +1 +\$1\.5000 +\$1\.5000$/m);
    assert.match(stdout, /^cache written unread +apollo +claude-sonnet-4-5 +2 +\$3\.0000 +\$0\.6000$/m);
  });

  it("prints the API's answer as JSON, with its filters", async () => {
    const { stdout } = await runWords(sample.home, ["savings", "--json", "--utc", "--project", "other"]);
    const answer: unknown = JSON.parse(stdout);
    const parsed = parseWire(savingsAnswerSchema, answer);
    assert.ok(parsed.ok);
    assert.deepEqual([parsed.value.query, parsed.value.requests], ["tz=UTC&project=other", 0]);
    assert.match((await runWords(sample.home, ["savings", "--model", "none"])).stdout, /\nNo requests\.\n$/);
  });

  it("covers the 30 days before --to, without a begin", async () => {
    const { stdout } = await runWords(sample.home, ["savings", "--utc", "--to", "2026-05-30"]);
    assert.equal(stdout, "2026-05-01 to 2026-05-30 (UTC)\nNo requests.\n");
  });

  it("refuses a period that is too long, and needs a database", async () => {
    const { code, stderr } = await runWords(sample.home, ["savings", "--since", "500d"]);
    assert.equal(code, 2);
    assert.match(stderr, /a period can be at most 400 days long/);
    const empty = createEmptyHome();
    try {
      assert.equal((await runWords(empty.home, ["savings"])).code, 4);
    } finally {
      empty.remove();
    }
  });
});
