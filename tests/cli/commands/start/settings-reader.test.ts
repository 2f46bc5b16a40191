import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createSettingsReader } from "../../../../cli/commands/start/settings-reader.ts";
import { readConfig } from "../../../../cli/home/read-config.ts";

describe("createSettingsReader()", () => {
  it("reads the file anew each time, and says why it can't be read", async () => {
    const home = mkdtempSync(join(tmpdir(), "meter-settings-"));
    try {
      const file = join(home, "config.toml");
      writeFileSync(file, "[bodies]\nretention_days = 30\n");
      const env = { HALTON_METER_CLOUD_URL: "https://meter.example.com" };
      const { config } = await readConfig(home, env);
      const read = createSettingsReader({ home, env, config });
      const find = async (key: string) => {
        const { groups } = await read();
        return groups.flatMap(({ settings }) => settings).find((each) => each.key === key);
      };
      assert.deepEqual(
        [(await find("bodies.retention_days"))?.value, (await find("bodies.retention_days"))?.next],
        ["30 days", null],
      );
      assert.equal((await find("cloud.base_url"))?.source, "environment");
      writeFileSync(file, '[bodies]\nretention_days = 7\n[cloud.upload]\npreset = "full"\n');
      assert.equal((await find("bodies.retention_days"))?.next, "7 days");
      const preset = await find("cloud.upload.preset");
      assert.deepEqual([preset?.value, preset?.source], ["full", "config.toml"]);
      writeFileSync(file, "[bodies\n");
      const { problem, configFile, storeBytes } = await read();
      assert.match(problem ?? "", /is not valid TOML\. Fix line 1/);
      assert.deepEqual([configFile, storeBytes], [file, 0]);
      const unread = await find("bodies.retention_days");
      assert.deepEqual([unread?.value, unread?.source], ["30 days", "unknown"]);
      assert.equal((await find("cloud.base_url"))?.source, "environment");
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});
