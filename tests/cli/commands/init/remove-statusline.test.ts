import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readInstallRecord, writeInstallRecord } from "../../../../adapters/installer/install-record.ts";
import { insertMember } from "../../../../core/operations/install/json-member.ts";
import type { InstallEntry, InstallRecord } from "../../../../core/operations/install/step.ts";
import { createEmptyHome, runWords } from "../../run-command.rig.ts";

const member = { name: "statusLine", value: '{"type":"command","command":"meter statusline"}' };
const settings = '{\n  "model": "opus"\n}\n';

function recordWith(entries: InstallEntry[]): InstallRecord {
  const rest = { apps: false, trusted_files: [], daemon_environment: {} };
  return { format: 1, meter_version: "0", name: "meter", ...rest, entries };
}

describe("meter init --remove-statusline", () => {
  it("restores the settings of Claude Code, and leaves the rest installed", async () => {
    const { home, remove } = createEmptyHome();
    const path = join(home, "settings.json");
    const edit = insertMember(settings, member);
    assert.ok(edit.ok);
    writeFileSync(path, edit.text);
    const file = { kind: "file", path: join(home, "unit"), text: "x", mode: 0o600 } as const;
    const kept: InstallEntry = { step: file, before: { existed: false }, state: "done" };
    const before = { existed: true, inserted: edit.inserted };
    writeInstallRecord(
      home,
      recordWith([kept, { step: { kind: "member", path, ...member }, before, state: "done" }]),
    );
    const { code, stdout } = await runWords(home, ["init", "--remove-statusline"]);
    assert.deepEqual([code, stdout], [0, "The status line of Claude Code was removed.\n"]);
    assert.equal(readFileSync(path, "utf8"), settings);
    assert.deepEqual((await readInstallRecord(home))?.entries, [kept]);
    remove();
  });

  it("says so if none was installed", async () => {
    const { home, remove } = createEmptyHome();
    const { code, stderr } = await runWords(home, ["init", "--remove-statusline"]);
    assert.equal(code, 1);
    assert.match(stderr, /No status line was installed\./);
    remove();
  });
});
