import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { findLogFiles, readLogFacts } from "../../../adapters/agent-logs/find-log-files.ts";
import { logLocations } from "../../../core/metering/agent-logs/log-locations.ts";
import { inFolder } from "./in-folder.rig.ts";

const locationsOf = (home: string) => logLocations({ env: {}, home, platform: "linux" });

describe("findLogFiles()", () => {
  it("finds the files of each agent, and nothing else", async () => {
    await inFolder(async (folder) => {
      folder.write(".claude/projects/-w/s.jsonl", "{}\n");
      folder.write(".claude/projects/-w/s/subagents/agent-1.jsonl", "{}\n");
      folder.write(".claude/projects/-w/notes.txt", "");
      folder.write(".codex/sessions/2026/09/01/rollout-a.jsonl", "{}\n");
      folder.write(".local/share/opencode/opencode.db", "");
      const found = await findLogFiles(locationsOf(folder.path));
      assert.deepEqual(
        found.map(({ agent, relativePath }) => `${agent} ${relativePath}`),
        [
          "claude -w/s/subagents/agent-1.jsonl",
          "claude -w/s.jsonl",
          "codex 2026/09/01/rollout-a.jsonl",
          "opencode opencode.db",
        ],
      );
      assert.equal(found[1]?.path, join(folder.path, ".claude", "projects", "-w", "s.jsonl"));
      assert.equal(found[1]?.size, 3);
    });
  });

  it("follows a link to the folder itself, finds each file once, and follows no links inside", async () => {
    await inFolder(async (folder) => {
      const file = folder.write("settings/claude/projects/-w/s.jsonl", "{}\n");
      symlinkSync(join(folder.path, "settings", "claude"), join(folder.path, ".claude"));
      folder.write(".config/x", "");
      symlinkSync(join(folder.path, "settings", "claude"), join(folder.path, ".config", "claude"));
      symlinkSync(file, join(folder.path, "settings", "claude", "projects", "-w", "t.jsonl"));
      symlinkSync("..", join(folder.path, "settings", "claude", "projects", "-w", "loop"));
      const found = await findLogFiles(locationsOf(folder.path));
      assert.deepEqual(
        found.map(({ path }) => path),
        [file],
      );
    });
  });

  it("adds the -wal to the size of a database", async () => {
    await inFolder(async (folder) => {
      const path = folder.write("a.db", "12345");
      folder.write("a.db-wal", "123");
      assert.equal((await readLogFacts(path, true))?.size, 8);
      assert.equal((await readLogFacts(path, false))?.size, 5);
      assert.equal(await readLogFacts(join(folder.path, "missing"), true), null);
      assert.equal(await readLogFacts(folder.path, true), null);
    });
  });
});
