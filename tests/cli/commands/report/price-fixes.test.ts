import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { saveSourcePull } from "../../../../daemon/cloud/pull-state.ts";
import { noon, sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../../run-command.rig.ts";

const unpriced = (change: Partial<ReturnType<typeof sampleRecord>>) =>
  sampleRecord({
    ...{ requestedAt: noon, costPicoUsd: null, costSource: "unpriced", ratesSource: null },
    ...{ requestedModel: null, serviceTier: null, usageExtras: null },
    ...change,
  });

const records = [
  unpriced({ provider: "codex", model: "gpt-99" }),
  unpriced({ provider: "codex", model: "gpt-99", requestedAt: noon + 1 }),
  unpriced({ provider: "acme", model: 'm"1' }),
];

describe("a report with models without a price", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    sample = await createSampleHome((store) => store.records.insert(records));
  });
  after(() => sample?.remove());

  const BLOCK =
    "State the price in config.toml, in USD per million tokens, then price the stored requests:\n" +
    '  [[pricing.operator]]\n  provider = "acme"\n  model = "m\\"1"\n  input = "…"\n  output = "…"\n' +
    "  meter recompute-costs";

  it("names each model, the list to pull and the lines to paste", async () => {
    const { stdout } = await runWords(sample.home, ["report"]);
    const last = [records[0]!.requestId, records[1]!.requestId].sort()[1];
    assert.ok(
      stdout.includes(
        "3 requests have no known price; their cost is not included.\n" +
          `  codex gpt-99: 2 requests. Why: meter explain ${last}\n` +
          `  acme m"1: 1 request. Why: meter explain ${records[2]!.requestId}\n` +
          "The price list litellm covers codex. Pull it and price the stored requests:\n" +
          "  meter pricing pull --source litellm\n" +
          `  meter recompute-costs\n${BLOCK}`,
      ),
      stdout,
    );
  });

  it("has the same fix in meter explain", async () => {
    const { stdout } = await runWords(sample.home, ["explain", records[2]!.requestId]);
    assert.ok(stdout.includes(`  ${BLOCK.replaceAll("\n", "\n  ")}\n`), stdout);
  });

  it("suggests only repricing if the rates in force have the price", async () => {
    const older = await createSampleHome((store) =>
      store.records.insert([unpriced({ provider: "openai", model: "gpt-4o" })]),
    );
    try {
      const { stdout } = await runWords(older.home, ["report"]);
      assert.match(
        stdout,
        /\nThe rates in force have the price\. Price the stored requests:\n {2}meter recompute-costs\n/,
      );
      assert.doesNotMatch(stdout, /pricing pull/);
    } finally {
      older.remove();
    }
  });

  it("does not suggest a list that was just pulled", async () => {
    const fresh = await createSampleHome((store) => {
      store.records.insert(records.slice(0, 1));
      for (const source of ["litellm", "models.dev"]) saveSourcePull(store.notes, source, Date.now());
    });
    try {
      const { stdout } = await runWords(fresh.home, ["report"]);
      assert.match(stdout, /\nState the price in config\.toml/);
    } finally {
      fresh.remove();
    }
  });
});
