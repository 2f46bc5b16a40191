import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { noon, sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../run-command.rig.ts";

describe("meter estimates", () => {
  it("sets estimate_missing, and changes nothing for another word", async () => {
    const { home, remove } = createEmptyHome("# mine\n");
    const file = () => readFileSync(join(home, "config.toml"), "utf8");
    try {
      for (const [word, value, said] of [
        ["on", true, /^Estimates of missing token counts are on\. /],
        ["off", false, /^Estimates of missing token counts are off\. /],
      ] as const) {
        const { code, stdout } = await runWords(home, ["estimates", word]);
        assert.equal(code, 0);
        assert.match(stdout, said);
        assert.match(file(), new RegExp(`^# mine\\n\\n?\\[usage\\]\\nestimate_missing = ${value}\\n$`));
      }
      assert.equal((await runWords(home, ["estimates", "yes"])).code, 2);
      assert.match(file(), /estimate_missing = false/);
    } finally {
      remove();
    }
  });

  it("is named by the report, next to the setting of the program", async () => {
    const tokens = { ...sampleRecord().tokens, promptTokens: null, completionTokens: null };
    const unstated = { tokens, tokensComplete: false, costPicoUsd: null, costSource: "unpriced" } as const;
    const sample = await createSampleHome((store) => {
      store.insertBatch({
        records: [
          sampleRecord({ requestedAt: noon, ...unstated, api: "openai.chat", client: "aider" }),
          sampleRecord({ requestedAt: noon }),
        ],
        bodies: [],
        coverage: [],
      });
    });
    try {
      const { stdout } = await runWords(sample.home, ["report"]);
      assert.match(stdout, /\n1 stream states no tokens, .+\n {2}aider \(1\): .+\n.+: meter estimates on\n/);
      const json = JSON.parse((await runWords(sample.home, ["report", "--json"])).stdout);
      assert.deepEqual(json.streams_without_usage, [{ client: "aider", requests: 1 }]);
    } finally {
      sample.remove();
    }
  });
});
