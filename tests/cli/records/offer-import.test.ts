import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { importOffer } from "../../../cli/records/offer-import.ts";

describe("importOffer()", () => {
  it("names the agents that have logs, and is empty without any", () => {
    const home = mkdtempSync(join(tmpdir(), "meter-offer-"));
    const env = { HOME: home, USERPROFILE: home };
    try {
      assert.deepEqual(importOffer(env), []);
      for (const folder of [".claude/projects", ".config/claude/projects", ".codex/sessions"])
        mkdirSync(join(home, folder), { recursive: true });
      assert.deepEqual(importOffer(env), [
        "Logs of past usage were found: Claude Code, Codex. Import them: meter import",
      ]);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});
